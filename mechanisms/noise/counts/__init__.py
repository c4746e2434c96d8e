"""Counts of many subsets of one column of bits: what reconstruction attacks read.

base.py       what mechanisms that answer subset counts share: the column, the public queries
noisy.py      Laplace, Gaussian and geometric noise: private
bounded.py    bounded noise, rounding and suppression: not private, and they say so
answerer.py   a query interface that keeps its state: fresh or sticky noise, suppression, a budget
"""

from .answerer import Answerer
from .base import SubsetCounts, random_subsets
from .bounded import BoundedNoiseSubsetCounts, RoundedSubsetCounts
from .noisy import GaussianSubsetCounts, GeometricSubsetCounts, LaplaceSubsetCounts

__all__ = [
    "Answerer",
    "BoundedNoiseSubsetCounts",
    "GaussianSubsetCounts",
    "GeometricSubsetCounts",
    "LaplaceSubsetCounts",
    "RoundedSubsetCounts",
    "SubsetCounts",
    "random_subsets",
]
