"""Wrong on purpose: synthetic data that give their records away, one slip each.

annealing.py     AnnealingNotBooked: AIM that books what a round was planned to cost
compression.py   MergedByExactCounts: MST that merges values by their exact counts
resampled.py     Resampled: the model is the records themselves
tree.py          BestTree: MST whose tree is the best one

A choice whose scores move further than they should: `dpassay.mechanisms.broken.selection.score`.
"""

from .annealing import AnnealingNotBooked as AnnealingNotBooked
from .compression import MergedByExactCounts as MergedByExactCounts
from .resampled import Resampled as Resampled
from .tree import BestTree as BestTree
