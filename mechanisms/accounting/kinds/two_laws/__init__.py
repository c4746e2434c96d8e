"""Exact curves of one number with noise whose centre and scale may both differ between the sides.

base.py       TwoLawsDP         what they share: two centres, two scales, and the worse of two directions
cauchy.py     TwoCauchysDP      Cauchy noise
gaussian.py   TwoGaussiansDP    Gaussian noise
laplace.py    TwoLaplacesDP     Laplace noise; two_laplaces: its simplest form
"""

from .base import TwoLawsDP as TwoLawsDP
from .cauchy import TwoCauchysDP as TwoCauchysDP
from .gaussian import TwoGaussiansDP as TwoGaussiansDP
from .laplace import TwoLaplacesDP as TwoLaplacesDP, two_laplaces as two_laplaces
