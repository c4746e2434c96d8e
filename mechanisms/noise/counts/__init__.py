"""Counts of many subsets of one column of bits, the target of reconstruction attacks.

subset_counts.py   subset counts with Laplace, geometric or Gaussian noise
bounded.py         subset counts with bounded noise, rounding or suppression: not private
answerer.py        a stateful query interface: fresh or sticky noise, suppression, a budget
"""

from .answerer import Answerer as Answerer
from .bounded import BoundedNoiseSubsetCounts as BoundedNoiseSubsetCounts, RoundedSubsetCounts as RoundedSubsetCounts
from .subset_counts import (
    GaussianSubsetCounts as GaussianSubsetCounts,
    GeometricSubsetCounts as GeometricSubsetCounts,
    LaplaceSubsetCounts as LaplaceSubsetCounts,
    SubsetCounts as SubsetCounts,
    random_subsets as random_subsets,
)
