"""Reconstruction drawn: success next to what a blind guess gives, and to what the claim allows.

success.py   one audit, over the prior success
sweep.py     the audits of a sweep, along a swept number
"""

from .success import SuccessCeiling
from .sweep import SuccessSweep

__all__ = ["SuccessCeiling", "SuccessSweep"]
