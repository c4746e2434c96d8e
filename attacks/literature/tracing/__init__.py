"""Tracing: was this person in the study whose means were published? Higher score = the person was in.

attack.py       Tracing as an attack on a pair, so that an audit converts it to an epsilon
base.py         Interfaces of tracing statistics: read this first
p_values.py     p-values: the probability that a non-member scores as high
packed.py       Rows of people packed at one bit per attribute
statistics.py   Statistics of tracing: the normalised inner product, differences, and likelihood ratios
theory.py       Separation of members and non-members, in closed form
trace.py        Tracing: p-values for whether people are in a study, from its published means
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
from .trace import TracingResult as TracingResult, trace as trace
