"""Private language models that are wrong on purpose: each claims an epsilon that it does not keep.

unbounded.py    wrong on purpose: counts of n-grams to which a text contributes more than the noise is for
"""

from .unbounded import ContributionNotBounded as ContributionNotBounded
