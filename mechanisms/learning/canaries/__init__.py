"""Canaries: records that are made, or chosen, to be found. They turn a dataset into a pair of neighbours.

base.py        Canary: read this first
examples.py    Natural, Mislabelled, Blank, ClipBKD: examples, for who sees the final model
gradients.py   Dirac, RandomDirection: gradient records, for who sees, or crafts, the steps
initial.py     worst_case_initial: parameters from which nothing but the canary is learned
grouped.py     GroupPrivacy: a mechanism whose pairs differ in several records, with the claim for a group
catalogue.py   all of them by name
"""

from mechanisms.learning.canaries.base import Canary
from mechanisms.learning.canaries.examples import Blank, ClipBKD, Mislabelled, Natural
from mechanisms.learning.canaries.gradients import Dirac, RandomDirection, with_dead_features
from mechanisms.learning.canaries.grouped import GroupPrivacy
from mechanisms.learning.canaries.initial import worst_case_initial
from mechanisms.learning.pairs import differing

__all__ = [
    "Blank",
    "Canary",
    "ClipBKD",
    "Dirac",
    "GroupPrivacy",
    "Mislabelled",
    "Natural",
    "RandomDirection",
    "differing",
    "with_dead_features",
    "worst_case_initial",
]
