"""Leaks that classifiers miss: the format of an output, repeated values, and the order of coordinates.

labels.py       Log odds of labels: frequent labels by their counts, rare labels pooled with labels of equal counts
repeats.py      Exact values that the pilot contains: a value that recurs on one side only reveals that side
rules.py        Rules that sort outputs into levels by their representation, not by their size
screen.py       Log odds that the level of an output adds to a score
text_forms.py   Forms of texts: a new text has the log odds of its form, as in trailing zeros, double spaces or
                exponents
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
