"""Figures: each a frozen dataclass that holds its numbers, and draws them when asked.

The only place that imports matplotlib.

accountants.py   accountants against each other: the epsilon that each of them proves of the same training
bound_claim.py   what was shown next to what is claimed: epsilon against the swept parameter
certificate.py   the certificate drawn: how often each method exceeds the truth, and how close to it the bounds come
draw.py          all figures of an experiment, and the overview of one audit
ladder.py        a ladder of named audits: what each of them shows of the epsilon that is claimed
lines.py         the numbers of bounds next to claims, and what a title and a caption say of them
membership.py    membership attacks: ROC curves on logarithmic axes, and the vulnerability of each record
profile.py       the privacy profile: delta against epsilon, shown and claimed
scores.py        histograms of the attack's scores on the two sides
style.py         style of all figures: colours, canvas, files
sweep_lines.py   a sweep as lines along a number, and one audit on a number line
tradeoff.py      the two errors of the attack next to the least errors that the claim allows
gain.py          attacks compared with their baselines: guesses without the release, and without the person
reconstruction.py   reconstructions: success rate, prior success and ceiling, of one audit or along a sweep
"""

from .bound_claim import BoundClaim as BoundClaim
from .draw import draw_all as draw_all, draw_result as draw_result
from .gain import GainOverBaselines as GainOverBaselines, SuccessByAttack as SuccessByAttack, draw_gain as draw_gain
from .ladder import LadderPlot as LadderPlot
from .profile import Profile as Profile
from .reconstruction import SuccessCeiling as SuccessCeiling, SuccessSweep as SuccessSweep
from .scores import ScoreHistogram as ScoreHistogram
from .tradeoff import Tradeoff as Tradeoff
