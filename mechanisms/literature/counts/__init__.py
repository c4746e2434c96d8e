"""Counts of many subsets of one column of bits, the target of reconstruction attacks.

answerer.py        A stateful query interface, the target of adaptive attacks
bounded.py         Subset counts without calibrated noise: bounded noise, rounding, suppression
broken.py          Intentionally broken counts: histograms, subset counts and n-gram counts
subset_counts.py   Answers to public subset counts on a secret column of bits, with Laplace, geometric or Gaussian noise
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
