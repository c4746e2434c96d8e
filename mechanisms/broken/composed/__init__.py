"""Composition and amplification that are wrong on purpose: a theorem is used where one of its conditions does not hold.

fixed_sample.py        amplification by a sample that is not random
parallel.py            parallel composition without one of its conditions
uncomposed_counts.py   many counts, each of which has the whole budget
"""

from .fixed_sample import FixedSample as FixedSample
from .parallel import BrokenParallel as BrokenParallel
from .uncomposed_counts import UncomposedSubsetCounts as UncomposedSubsetCounts
