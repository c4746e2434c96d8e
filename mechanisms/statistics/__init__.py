"""Statistics of records whose noise depends on more than a sensitivity.

two_laplaces.py   the exact curve of a number with Laplace noise whose centre and scale may both differ
"""

from .two_laplaces import TwoLaplacesDP, two_laplaces

__all__ = ["TwoLaplacesDP", "two_laplaces"]
