"""Answers to many queries, wrong on purpose.

matrix_sensitivity.py    noise for the sensitivity of what is asked, on what is measured
"""

from .matrix_sensitivity import GaussianNoiseForWorkload, LaplaceNoiseForWorkload

__all__ = ["GaussianNoiseForWorkload", "LaplaceNoiseForWorkload"]
