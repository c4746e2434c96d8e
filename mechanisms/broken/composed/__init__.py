"""Composition and amplification that are wrong on purpose: a theorem is used where one of its conditions does not hold.

fixed_sample.py   amplification by a sample that is not random
parallel.py       parallel composition without one of its conditions
"""

from .fixed_sample import FixedSample
from .parallel import BrokenParallel

__all__ = ["BrokenParallel", "FixedSample"]
