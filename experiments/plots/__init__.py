"""Figures: each a frozen dataclass that holds its numbers, and draws them when asked.

The only place that imports matplotlib.

accountants.py   accountants against each other: the epsilon that each of them proves of the same training
bound_claim.py   what was shown next to what is claimed: epsilon against the swept parameter
certificate.py   the certificate drawn: how often each method exceeds the truth, and how close to it the bounds come
draw.py          all figures of an experiment, and the overview of one audit
inference/       attacks on the data of people, beside what is guessed anyway
ladder.py        a ladder of named audits: what each of them shows of the epsilon that is claimed
lines.py         the numbers of bounds next to claims, and what a title and a caption say of them
membership.py    membership attacks: ROC curves on logarithmic axes, and the vulnerability of each record
number_line.py   one audit on one line: how far the lower bound reaches, and where the claim stands
profile.py       the privacy profile: delta against epsilon, shown and claimed
reconstruction/  success next to what a blind guess gives, and to what the claim allows
scores.py        histograms of the attack's scores on the two sides
style/           how every figure looks: canvas, colours, files
sweep_lines.py   a sweep drawn: lines along a number
tradeoff.py      the two errors of the attack next to the least errors that the claim allows
"""

from .bound_claim import BoundClaim
from .draw import draw_all, draw_result
from .ladder import Ladder
from .profile import Profile
from .reconstruction import SuccessCeiling, SuccessSweep
from .scores import ScoreHistogram
from .tradeoff import Tradeoff

__all__ = [
    "BoundClaim",
    "Ladder",
    "Profile",
    "ScoreHistogram",
    "SuccessCeiling",
    "SuccessSweep",
    "Tradeoff",
    "draw_all",
    "draw_result",
]
