"""Counts of many subsets of one column of bits: what reconstruction attacks read.

base.py       what mechanisms that answer subset counts share: the column, the public queries
noisy.py      Laplace, Gaussian and geometric noise: private
bounded.py    bounded noise, rounding and suppression: not private, and they say so
answerer.py   a query interface that keeps its state: fresh or sticky noise, suppression, a budget
"""

from .answerer import Answerer as Answerer
from .base import SubsetCounts as SubsetCounts, random_subsets as random_subsets
from .bounded import BoundedNoiseSubsetCounts as BoundedNoiseSubsetCounts, RoundedSubsetCounts as RoundedSubsetCounts
from .noisy import (
    GaussianSubsetCounts as GaussianSubsetCounts,
    GeometricSubsetCounts as GeometricSubsetCounts,
    LaplaceSubsetCounts as LaplaceSubsetCounts,
)
