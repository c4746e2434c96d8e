"""Statistics that are wrong on purpose: sums, means, histograms and moments as they have been in libraries.

base.py           what they share: read this first
bounds.py         bounds and domains that are taken from the data, or not taken into account
clipping.py       values that are clipped in a copy, or by a clip that lets some through
divisors.py       a mean whose divisor is the number of records
exact_counts.py   a mean with a noisy count that is used in one place, in none, or without care for its sign
local_sensitivity.py   noise that goes with the local sensitivity, and a threshold that is met and not exceeded
machine_sums.py   sums that move further in the arithmetic of the machine than on paper
wishart.py        a second-moment matrix with noise that is positive semi-definite
"""

from .bounds import (
    BoundsFromData as BoundsFromData,
    DomainFromData as DomainFromData,
    UpperBoundIgnored as UpperBoundIgnored,
)
from .clipping import ClippedCopyUnused as ClippedCopyUnused, NaNSurvivesClipping as NaNSurvivesClipping
from .divisors import DivisorOfData as DivisorOfData
from .exact_counts import MeanWithExactCounts as MeanWithExactCounts
from .local_sensitivity import (
    HistogramAtThreshold as HistogramAtThreshold,
    LocalSensitivityMedian as LocalSensitivityMedian,
)
from .machine_sums import SinglePrecisionSum as SinglePrecisionSum, WrappedSum as WrappedSum
from .wishart import WishartNoise as WishartNoise
