"""Sparse vector technique: many queries against a noisy threshold, with a budget only for those above.

above_threshold.py     SparseVector, the base class, and AboveThreshold: read this first
numerical.py           variants that release a number for each query above
answers.py             answers as whole numbers, and the distinct patterns among many runs
threshold_integral.py  probabilities of answers, integrated over the noise of the threshold
"""

from .above_threshold import AboveThreshold as AboveThreshold
from .numerical import NumericalSparseVector as NumericalSparseVector
