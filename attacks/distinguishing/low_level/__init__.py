"""What classifiers miss: how an output is written, whether it came before, and how its coordinates stand to each other.

rules.py     from outputs to levels, such as "multiples of 2^-52", "four decimals, the last is 5"
repeats.py   the same of exact values that the pilot saw, and how often on which side
labels.py    log odds of texts and other events, rare ones together with those that are as rare
screen.py    the log odds of a level beyond what a score already says, and whether there are any
"""

from .labels import LabelOdds
from .repeats import Repeats
from .rules import Decimals, Granularity, LevelRule, RowStatistic, rules_for
from .screen import Beyond, learn_beyond, log_p_value, promise

__all__ = [
    "Beyond",
    "Decimals",
    "Granularity",
    "LabelOdds",
    "LevelRule",
    "Repeats",
    "RowStatistic",
    "learn_beyond",
    "log_p_value",
    "promise",
    "rules_for",
]
