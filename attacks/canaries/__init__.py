"""Canaries: records that are made, or chosen, to be detected. They turn a dataset into a pair of neighbours.

base.py        Canary: read this first
catalogue.py   all canaries by name
examples.py    Natural, Mislabelled, Blank, ClipBKD: examples, for adversaries who see the final model
gradients.py   Dirac, RandomDirection: gradient records, for adversaries who see the steps or insert gradients
initial.py     worst_case_initial: parameters at which only the canary has a gradient
"""

from .base import Canary as Canary
from .examples import Blank as Blank, ClipBKD as ClipBKD, Mislabelled as Mislabelled, Natural as Natural
from .gradients import Dirac as Dirac, RandomDirection as RandomDirection, with_dead_features as with_dead_features
from .initial import worst_case_initial as worst_case_initial
