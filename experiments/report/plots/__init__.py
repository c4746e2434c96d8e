"""Figures: each a frozen dataclass that holds its numbers, and draws them when asked.

The only place that imports matplotlib.

accountants.py   accountants against each other: the epsilon that each of them proves of the same training
bound_claim.py   what was shown next to what is claimed: epsilon against the swept parameter
certificate.py   the certificate drawn: how often each method exceeds the truth, and how close to it the bounds come
draw.py          all figures of an experiment, and the overview of one audit
ladder.py        a ladder of named audits: what each of them shows of the epsilon that is claimed
lines.py         the numbers of bounds next to claims, and what a title and a caption say of them
membership.py    membership attacks: ROC curves on logarithmic axes, and the vulnerability of each record
number_line.py   one audit on one line: how far the lower bound reaches, and where the claim stands
profile.py       the privacy profile: delta against epsilon, shown and claimed
scores.py        histograms of the attack's scores on the two sides
style/           how every figure looks: canvas, colours, files
sweep_lines.py   a sweep drawn: lines along a number
tradeoff.py      the two errors of the attack next to the least errors that the claim allows
disclosure.py        Several attacks on synthetic tables, each compared with its baselines
gain.py              Comparison of an attack with its baselines: guesses without the release, and without the person
reconstruction_success.py One reconstruction: success rate against prior success, and the ceiling by the claim
reconstruction_sweep.py Reconstructions of a sweep: success rate, ceiling and prior success along a swept number
"""

from .bound_claim import BoundClaim as BoundClaim
from .draw import draw_all as draw_all, draw_result as draw_result
from .ladder import LadderPlot as LadderPlot
from .profile import Profile as Profile
from .reconstruction_success import SuccessCeiling as SuccessCeiling
from .reconstruction_sweep import SuccessSweep as SuccessSweep
from .scores import ScoreHistogram as ScoreHistogram
from .tradeoff import Tradeoff as Tradeoff
