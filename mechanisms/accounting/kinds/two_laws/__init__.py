"""Exact curves of one number with noise whose centre and scale may both differ between the sides.

base.py       TwoLawsDP         what they share: two centres, two scales, and the worse of two directions
cauchy.py     TwoCauchysDP      Cauchy noise
gaussian.py   TwoGaussiansDP    Gaussian noise
laplace.py    TwoLaplacesDP     Laplace noise; two_laplaces: its simplest form
"""

from .base import TwoLawsDP
from .cauchy import TwoCauchysDP
from .gaussian import TwoGaussiansDP
from .laplace import TwoLaplacesDP, two_laplaces

__all__ = ["TwoCauchysDP", "TwoGaussiansDP", "TwoLaplacesDP", "TwoLawsDP", "two_laplaces"]
