"""Figures: each a frozen dataclass with its numbers, and a method that draws them.

The only place that imports matplotlib.

accountants.py      accountants compared: the epsilon that each one proves for the same training
bound_claim.py      lower bounds and claims: epsilon against the swept parameter
certificate.py      figures of the certificate: miss rates of each method, and tightness of the bounds
draw.py             all figures of an experiment, and the overview of one audit
gain.py             attacks compared with their baselines: guesses without the release, and without the person
ladder.py           ladder of named audits: the lower bound of each one and its claimed epsilon
lines.py            numbers of the plots of bounds and claims, with their titles and captions
membership.py       membership attacks: ROC curves on logarithmic axes, and the vulnerability of each record
profile.py          privacy profile: delta against epsilon, lower bound and claim
reconstruction.py   reconstructions: success rate, prior success and ceiling, of one audit or along a sweep
scores.py           histograms of the attack scores on the two sides
style.py            style of all figures: colours, canvas, files
sweep_lines.py      a sweep as lines along a number, and one audit on a number line
tradeoff.py         trade-off curve: error rates of the attack, and the smallest ones that the claim allows
"""

from .bound_claim import BoundClaim as BoundClaim
from .draw import draw_all as draw_all, draw_result as draw_result
from .gain import GainOverBaselines as GainOverBaselines, SuccessByAttack as SuccessByAttack, draw_gain as draw_gain
from .ladder import LadderPlot as LadderPlot
from .profile import Profile as Profile
from .reconstruction import SuccessCeiling as SuccessCeiling, SuccessSweep as SuccessSweep
from .scores import ScoreHistogram as ScoreHistogram
from .tradeoff import Tradeoff as Tradeoff
