"""Plausible deniability that is wrong on purpose: one slip each, the claim that it makes.

learning.py        a generator that is learned with noise on most of its statistics, and none on the others
privacy_tests.py   plausible deniability taken for differential privacy
"""

from .learning import PairsWithoutNoise as PairsWithoutNoise, RootsWithoutNoise as RootsWithoutNoise
from .privacy_tests import (
    DeterministicTest as DeterministicTest,
    NoPrivacyTest as NoPrivacyTest,
    NoReleaseSeen as NoReleaseSeen,
)
