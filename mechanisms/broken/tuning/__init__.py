"""Tuning that is wrong on purpose.

best_of_k.py   wrong on purpose: the best of K runs, paid as one
"""

from .best_of_k import BestOfK as BestOfK
