"""Sparse vector technique: many queries against a noisy threshold, paid for by the few that are above it.

base.py                what every sparse vector technique shares: read this first
above_threshold.py     which queries are above a threshold
numerical.py           which queries are above a threshold, and how large they are
released_values.py     what those share that release a number where a query is above
answers.py             answers as whole numbers, and the distinct patterns among many runs
threshold_integral.py  probabilities of answers, integrated over the noise of the threshold
"""

from .above_threshold import AboveThreshold as AboveThreshold
from .numerical import NumericalSparseVector as NumericalSparseVector
