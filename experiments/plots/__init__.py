"""Figures: each a frozen dataclass that holds its numbers, and draws them when asked.

The only place that imports matplotlib.
"""

from experiments.plots.bound_claim import BoundClaim
from experiments.plots.draw import draw_all, draw_result
from experiments.plots.ladder import Ladder
from experiments.plots.profile import Profile
from experiments.plots.scores import ScoreHistogram
from experiments.plots.tradeoff import Tradeoff

__all__ = ["BoundClaim", "Ladder", "Profile", "ScoreHistogram", "Tradeoff", "draw_all", "draw_result"]
