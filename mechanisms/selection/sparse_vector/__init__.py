"""Sparse vector technique: many queries against a noisy threshold, with a budget only for those above.

above_threshold.py      Sparse vector technique: many queries against one noisy threshold, with a budget only for those
                        above
answers.py              Answers of threshold queries as whole numbers, and their distinct patterns among many runs
broken.py               Intentionally broken sparse vector techniques
numerical.py            Sparse vector techniques that release a number for each query above the threshold
threshold_integral.py   Probabilities of answers against a noisy threshold, integrated over its noise
"""

from .above_threshold import AboveThreshold as AboveThreshold
from .numerical import NumericalSparseVector as NumericalSparseVector
