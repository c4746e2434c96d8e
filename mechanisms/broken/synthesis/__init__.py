"""Wrong on purpose: generators of synthetic data that give their records away.

resampled.py   Resampled: the model is the records themselves
"""

from .resampled import Resampled

__all__ = ["Resampled"]
