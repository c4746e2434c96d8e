"""Answers from one distribution that are wrong on purpose: one slip each, the claim that it makes.

dual_query.py    DualQuery that counts the draws of a round as one
exact_errors.py  online multiplicative weights that look at the exact error
selection.py     MWEM that does not pay for its choices
"""

from .dual_query import SamplesCountedOnce as SamplesCountedOnce
from .exact_errors import ExactErrors as ExactErrors
from .selection import UnpaidSelection as UnpaidSelection
