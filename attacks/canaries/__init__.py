"""Canaries: records that are made, or chosen, to be found. They turn a dataset into a pair of neighbours.

base.py        Canary: read this first
examples.py    Natural, Mislabelled, Blank, ClipBKD: examples, for who sees the final model
gradients.py   Dirac, RandomDirection: gradient records, for who sees, or crafts, the steps
initial.py     worst_case_initial: parameters from which nothing but the canary is learned
catalogue.py   all of them by name
"""

from .base import Canary
from .examples import Blank, ClipBKD, Mislabelled, Natural
from .gradients import Dirac, RandomDirection, with_dead_features
from .initial import worst_case_initial

__all__ = [
    "Blank",
    "Canary",
    "ClipBKD",
    "Dirac",
    "Mislabelled",
    "Natural",
    "RandomDirection",
    "with_dead_features",
    "worst_case_initial",
]
