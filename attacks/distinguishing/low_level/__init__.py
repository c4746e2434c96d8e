"""Leaks that classifiers miss: the format of an output, repeated values, and the order of coordinates.

rules.py     from outputs to levels, such as "multiples of 2^-52" or "four decimals, the last is 5"
repeats.py   levels of exact values of the pilot: how often they occurred on each side
labels.py    log odds of texts and other events, rare ones pooled
screen.py    the log odds that a level adds to a score, and a test for them
"""

from .labels import LabelOdds as LabelOdds
from .repeats import Repeats as Repeats
from .rules import (
    Decimals as Decimals,
    Granularity as Granularity,
    LevelRule as LevelRule,
    RowStatistic as RowStatistic,
    rules_for as rules_for,
)
from .screen import (
    LevelOdds as LevelOdds,
    fit_level_odds as fit_level_odds,
    largest_log_ratio as largest_log_ratio,
    log_p_value as log_p_value,
)
