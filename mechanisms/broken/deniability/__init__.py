"""Plausible deniability that is wrong on purpose: one slip each, the claim that it makes.

learning.py        a generator that is learned with noise on most of its statistics, and none on the others
privacy_tests.py   plausible deniability taken for differential privacy
"""

from .learning import PairsWithoutNoise, RootsWithoutNoise
from .privacy_tests import DeterministicTest, NoPrivacyTest, NoReleaseSeen

__all__ = ["DeterministicTest", "NoPrivacyTest", "NoReleaseSeen", "PairsWithoutNoise", "RootsWithoutNoise"]
