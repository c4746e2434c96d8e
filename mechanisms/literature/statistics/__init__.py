"""Statistics of records: sums and counts, and statistics whose noise depends on more than a sensitivity.

broken/                     Intentionally broken statistics: clipping, means, medians, second moments, histograms and
                            machine arithmetic
laplace_choice.py           Exact curve of a released random choice, then a number with Laplace noise whose scale
                            depends on the choice
mean.py                     A mean from a noisy sum and a noisy count
median_sensitivity.py       Sensitivity of the median of bounded values: on neighbours of a dataset, and within k
                            replacements of it
naive_bayes.py              A naive Bayes classifier from noisy counts
propose_test_release.py     The median with little noise, released only if a private test finds it stable on all nearby
                            datasets
restricted_sensitivity.py   Number of edges of a graph whose vertices are people: exact up to a maximum degree, of
                            bounded sensitivity beyond
smooth_sensitivity.py       The median with noise scaled to its smooth sensitivity
stability_histogram.py      A histogram over a domain that may be unknown: small counts are not released
triangles.py                Number of triangles of a graph, with noise scaled to a private bound on the local
                            sensitivity
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
