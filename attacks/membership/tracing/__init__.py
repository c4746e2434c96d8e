"""Tracing: was this person in the study whose means were published? Higher score = the person was in.

base.py         Linear and TracingStatistic: read this first
statistics.py   the inner product (the default), Homer, truncated product, likelihood ratios, and their catalogue
attack.py       Tracing: a statistic as an attack on a pair
trace.py        trace: from published means and people to p-values
p_values.py     p-values: normal, Chernoff, exact, empirical; corrections for many people
packed.py       PackedPeople: one bit per attribute, for a million attributes
theory.py       separation of the scores of members and non-members, in closed form
"""

from .attack import Tracing as Tracing
from .base import Linear as Linear, TracingStatistic as TracingStatistic
from .packed import PackedPeople as PackedPeople
from .statistics import (
    ExactLikelihoodRatio as ExactLikelihoodRatio,
    Homer as Homer,
    InnerProduct as InnerProduct,
    TracingLikelihoodRatio as TracingLikelihoodRatio,
    TruncatedProduct as TruncatedProduct,
)
from .theory import expected_z as expected_z, power as power
from .trace import Traced as Traced, trace as trace
