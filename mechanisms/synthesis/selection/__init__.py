"""Which marginals are measured, with what noise, and what that costs.

fixed.py    a list that is given: one round
"""

from .fixed import FixedMarginals

__all__ = ["FixedMarginals"]
