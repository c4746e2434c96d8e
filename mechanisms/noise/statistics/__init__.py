"""Statistics of records whose noise depends on more than a sensitivity.

They stand apart from noise/, where an answer gets noise for its global sensitivity, and from release/, where many
answers are given at once: here one statistic is released with noise that follows the data.

stability_histogram.py      a histogram over a domain that need not be known: small counts are left out
smooth_sensitivity.py       the median with noise that goes with its smooth sensitivity
propose_test_release.py     the median, released if it would be as stable on all datasets nearby, and refused otherwise
triangles.py                triangles of a graph, with noise for a private bound on the local sensitivity
restricted_sensitivity.py   edges of a graph: exact where the degree is bounded, and insensitive on all graphs
mean.py                     a mean whose sum and count both have noise
naive_bayes.py              a naive Bayes classifier from noisy counts
median_sensitivity.py       how far the median of bounded values can move
laplace_choice.py           the exact curve of a random choice that is seen, and a number with noise that goes with it
"""

from .laplace_choice import LaplaceChoiceDP as LaplaceChoiceDP
from .mean import SumAndCount as SumAndCount
from .median_sensitivity import BoundedMedian as BoundedMedian
from .naive_bayes import NaiveBayesCounts as NaiveBayesCounts
from .propose_test_release import ProposeTestRelease as ProposeTestRelease
from .restricted_sensitivity import RestrictedEdgeCount as RestrictedEdgeCount
from .smooth_sensitivity import SmoothSensitivityMedian as SmoothSensitivityMedian
from .stability_histogram import StabilityHistogram as StabilityHistogram
from .triangles import TriangleCount as TriangleCount
