"""Tracing: was this person in the study whose means were published? Higher score = the person was in.

base.py               Linear and Statistic: read this first
attack.py             Tracing        a statistic as an attack on a pair
catalogue.py          all statistics by name
inner_product.py      InnerProduct   the normalised inner product, with a known null: the default
likelihood_ratio.py   TracingLikelihoodRatio, ExactLikelihoodRatio   for exact means, and for known noise
differences.py        Homer, TruncatedProduct   distances, and Dwork et al.'s product with cut differences
multiple.py           many people at once: Holm, Benjamini-Hochberg
nulls.py              p-values: normal, certified, exact, or by people of reference
packed.py             PackedPeople   a bit an attribute, for a million of them
theory.py             how far the scores of members lie from those of strangers, in closed form
trace.py              trace          from published means and people to p-values
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
