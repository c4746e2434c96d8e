"""Published tables of a block of people.

domain.py       what a person can be, and groups of people
rounding.py     published rounding: the number that is printed, and what it may have been made from
statistics.py   what a table says about a group: counts, mean and median ages, shares
tables.py       a set of tables: what is published, and what is suppressed
"""

from .domain import Domain, Group, group
from .rounding import Rounding
from .statistics import NOT_PUBLISHED, GroupCount, GroupShare, MeanAge, MedianAge, Statistic
from .tables import Tables, rows_of

__all__ = [
    "NOT_PUBLISHED",
    "Domain",
    "Group",
    "GroupCount",
    "GroupShare",
    "MeanAge",
    "MedianAge",
    "Rounding",
    "Statistic",
    "Tables",
    "group",
    "rows_of",
]
