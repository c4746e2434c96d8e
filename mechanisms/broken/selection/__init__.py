"""Private selection that is wrong on purpose: one slip each, the claim that it makes.

max_value.py   report noisy max that returns the largest sum itself, not its position
score.py       the exponential mechanism on a difference of errors, whose sensitivity is halved
"""

from .max_value import ExponentialMaxValue as ExponentialMaxValue, LaplaceMaxValue as LaplaceMaxValue
from .score import HalvedScoreSensitivity as HalvedScoreSensitivity
