"""Tables that a census publishes about a block of people, and how they are published.

domain.py       People in census tables: their possible attributes and ages, and groups of people
noisy.py        Tables of noisy counts: differentially private, with integer noise
statistics.py   Statistics of a group of people in a table: number, mean or median age, share of a larger group; and
                rounding
swapped.py      Tables that are exact, or computed after people of different blocks were swapped: no guarantee in either
                case
table_set.py    A set of tables: the statistics that are published about every block, and the suppressed cells
"""

from .domain import CensusDomain as CensusDomain, Group as Group, group as group
from .noisy import NoisyTables as NoisyTables
from .statistics import (
    NOT_PUBLISHED as NOT_PUBLISHED,
    GroupCount as GroupCount,
    GroupShare as GroupShare,
    MeanAge as MeanAge,
    MedianAge as MedianAge,
    Rounding as Rounding,
    TableStatistic as TableStatistic,
)
from .swapped import SwappedTables as SwappedTables
from .table_set import (
    TableSet as TableSet,
    census_domain as census_domain,
    census_tables as census_tables,
    rows_of as rows_of,
)
