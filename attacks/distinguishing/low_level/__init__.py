"""What classifiers miss: how an output is written, whether it came before, and how its coordinates stand to each other.

rules.py     from outputs to levels, such as "multiples of 2^-52", "four decimals, the last is 5"
repeats.py   the same of exact values that the pilot saw, and how often on which side
labels.py    log odds of texts and other events, rare ones together with those that are as rare
screen.py    the log odds of a level beyond what a score already says, and whether there are any
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
