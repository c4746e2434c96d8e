"""Published tables of a block of people, and how they are published.

catalogue.py    names of sets of tables
census.py       tables as a census publishes them about one block
domain.py       what a person can be, and groups of people
noisy.py        tables of noisy counts: differential privacy
rounding.py     published rounding: the number that is printed, and what it may have been made from
statistics.py   what a table says about a group: counts, mean and median ages, shares
swapped.py      tables that are exact, or computed after people were swapped between blocks: no guarantee
tables.py       a set of tables: what is published, and what is suppressed
"""

from .census import census_domain as census_domain, census_tables as census_tables
from .domain import CensusDomain as CensusDomain, Group as Group, group as group
from .noisy import NoisyTables as NoisyTables
from .rounding import Rounding as Rounding
from .statistics import (
    NOT_PUBLISHED as NOT_PUBLISHED,
    GroupCount as GroupCount,
    GroupShare as GroupShare,
    MeanAge as MeanAge,
    MedianAge as MedianAge,
    TableStatistic as TableStatistic,
)
from .swapped import SwappedTables as SwappedTables
from .tables import Tables as Tables, rows_of as rows_of
