"""Mechanisms that choose among finitely many candidates.

base.py               what they share: utilities, their sensitivity, a factor of two
laws.py               which score is the largest after noise: exact probabilities
exponential.py        the exponential mechanism: choose one of finitely many candidates, good ones more often
noisy_max.py          report noisy max: add noise to every utility, and tell which is largest
permute_and_flip.py   visit the candidates in random order, and take the first whose coin says so
peeling.py            the k best candidates in order: k rounds, or Gumbel noise once
one_shot.py           the k best candidates at a total (epsilon, delta)
"""

from .exponential import Exponential
from .noisy_max import ReportNoisyMax
from .one_shot import GumbelTopKCounts, LaplaceTopK
from .peeling import GumbelTopK, PeelingTopK
from .permute_and_flip import PermuteAndFlip

__all__ = [
    "Exponential",
    "GumbelTopK",
    "GumbelTopKCounts",
    "LaplaceTopK",
    "PeelingTopK",
    "PermuteAndFlip",
    "ReportNoisyMax",
]
