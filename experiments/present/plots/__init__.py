"""Figures: each a frozen dataclass with its numbers, and a method that draws them.

The only place that imports matplotlib.

bound_claim.py      Lower bounds and claims: epsilon against the swept parameter
breakdown.py        Where the epsilon of each claim goes: stacked bars of the bound and of what each step loses
certificate.py      Figures of the certificate: miss rates of each method, and tightness of the bounds
draw.py             Figures of an experiment, and the overview of one audit
gain.py             Attacks compared with their baselines: guesses without the release, and without the person
history.py          Evidence of a history of builds against a claim
labels.py           Numbers and phrases of figures, in the signs of a printed page
ladder.py           Ladder of named audits: the lower bound of each one and its claimed epsilon
lines.py            Numbers of the plots of bounds and claims, with their titles and captions
membership.py       Membership attacks: ROC curves on logarithmic axes, and the vulnerability of each record
profile.py          Privacy profile: delta against epsilon, lower bound and claim
reconstruction.py   Reconstructions: success rate, prior success, and the ceiling by the claim, of one audit or along a
                    sweep
scores.py           Histograms of the attack scores on the two sides
style.py            Style of all figures: colours, canvas and files, without changes to the global state of matplotlib
sweep_lines.py      Plots of sweeps and single audits: lines along a swept number, or bars on a number line
tradeoff.py         Trade-off curve: the error rates of the attack and the smallest error rates that the claim allows
"""

from .bound_claim import BoundClaim as BoundClaim
from .breakdown import BreakdownPlot as BreakdownPlot
from .draw import draw_all as draw_all, draw_result as draw_result, figure_of as figure_of
from .gain import GainOverBaselines as GainOverBaselines, SuccessByAttack as SuccessByAttack, draw_gain as draw_gain
from .ladder import LadderPlot as LadderPlot
from .profile import Profile as Profile
from .reconstruction import SuccessCeiling as SuccessCeiling, SuccessSweep as SuccessSweep
from .scores import ScoreHistogram as ScoreHistogram
from .style import Plot as Plot, panels as panels
from .tradeoff import Tradeoff as Tradeoff
