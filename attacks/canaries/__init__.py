"""Canaries: records that are made, or chosen, to be found. They turn a dataset into a pair of neighbours.

base.py        Canary: read this first
examples.py    Natural, Mislabelled, Blank, ClipBKD: examples, for who sees the final model
gradients.py   Dirac, RandomDirection: gradient records, for who sees, or crafts, the steps
initial.py     worst_case_initial: parameters from which nothing but the canary is learned
catalogue.py   all of them by name
"""

from .base import Canary as Canary
from .examples import Blank as Blank, ClipBKD as ClipBKD, Mislabelled as Mislabelled, Natural as Natural
from .gradients import Dirac as Dirac, RandomDirection as RandomDirection, with_dead_features as with_dead_features
from .initial import worst_case_initial as worst_case_initial
