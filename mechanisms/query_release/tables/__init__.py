"""Tables that a census publishes about a block of people, and how they are published.

domain.py      CensusDomain: the possible people; groups of people
noisy.py       NoisyTables: noisy counts, with differential privacy
statistics.py  counts, mean and median ages and shares of a group, and their rounding
swapped.py     SwappedTables: exact, or computed after people were swapped between blocks; no guarantee
table_set.py   Tables: what is published, and what is suppressed; the tables of a census
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
