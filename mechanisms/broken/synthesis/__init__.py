"""Wrong on purpose: synthetic data that give their records away, one slip each.

annealing.py     AnnealingNotBooked: AIM that books what a round was planned to cost
compression.py   MergedByExactCounts: MST that merges values by their exact counts
resampled.py     Resampled: the model is the records themselves
tree.py          BestTree: MST whose tree is the best one

A choice whose scores move further than they should: `dpassay.mechanisms.broken.selection.score`.
"""

from .annealing import AnnealingNotBooked
from .compression import MergedByExactCounts
from .resampled import Resampled
from .tree import BestTree

__all__ = ["AnnealingNotBooked", "BestTree", "MergedByExactCounts", "Resampled"]
