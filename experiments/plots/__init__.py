"""Figures: each a frozen dataclass that holds its numbers, and draws them when asked.

The only place that imports matplotlib.
"""

from .bound_claim import BoundClaim
from .draw import draw_all, draw_result
from .ladder import Ladder
from .profile import Profile
from .scores import ScoreHistogram
from .tradeoff import Tradeoff

__all__ = ["BoundClaim", "Ladder", "Profile", "ScoreHistogram", "Tradeoff", "draw_all", "draw_result"]
