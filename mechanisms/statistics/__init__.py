"""Statistics of records whose noise depends on more than a sensitivity.

They stand apart from noise/, where an answer gets noise for its global sensitivity, and from release/, where many
answers are given at once: here one statistic is released with noise that follows the data.

stability_histogram.py      a histogram over a domain that need not be known: small counts are left out
smooth_sensitivity.py       the median with noise that goes with its smooth sensitivity
propose_test_release.py     the median, released if it would be as stable on all datasets nearby, and refused otherwise
triangles.py                triangles of a graph, with noise for a private bound on the local sensitivity
restricted_sensitivity.py   edges of a graph: exact where the degree is bounded, and insensitive on all graphs
median_sensitivity.py       how far the median of bounded values can move
laplace_choice.py           the exact curve of a random choice that is seen, and a number with noise that goes with it
two_cauchys.py              the exact curve of a number with Cauchy noise whose centre and scale may both differ
two_laplaces.py             the exact curve of a number with Laplace noise whose centre and scale may both differ
"""

from .laplace_choice import LaplaceChoiceDP
from .median_sensitivity import BoundedMedian
from .propose_test_release import ProposeTestRelease
from .restricted_sensitivity import RestrictedEdgeCount
from .smooth_sensitivity import SmoothSensitivityMedian
from .stability_histogram import StabilityHistogram
from .triangles import TriangleCount
from .two_cauchys import TwoCauchysDP
from .two_laplaces import TwoLaplacesDP, two_laplaces

__all__ = [
    "BoundedMedian",
    "LaplaceChoiceDP",
    "ProposeTestRelease",
    "RestrictedEdgeCount",
    "SmoothSensitivityMedian",
    "StabilityHistogram",
    "TriangleCount",
    "TwoCauchysDP",
    "TwoLaplacesDP",
    "two_laplaces",
]
