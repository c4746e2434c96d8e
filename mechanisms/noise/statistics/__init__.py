"""Statistics of records: sums and counts, and statistics whose noise depends on more than a sensitivity.

mean.py                     a mean from a noisy sum and a noisy count
naive_bayes.py              a naive Bayes classifier from noisy counts
stability_histogram.py      a histogram over a domain that may be unknown: small counts are not released
median_sensitivity.py       sensitivity of the median of bounded values, on a dataset and near it
smooth_sensitivity.py       the median with noise scaled to its smooth sensitivity
propose_test_release.py     the median, released only if it is stable on all nearby datasets
triangles.py                triangles of a graph, with noise scaled to a private bound on the local sensitivity
restricted_sensitivity.py   edges of a graph: exact up to a maximum degree, of bounded sensitivity beyond
laplace_choice.py           the exact curve of a released choice, and a number whose noise depends on it
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
