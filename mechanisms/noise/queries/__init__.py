"""Functions of the records, each with its sensitivity under every neighbouring relation.

base.py        interface of a query: a function of the records, with its sensitivity
answers.py     checks of the query, or vector of answers, that mechanisms add noise to or select by
catalogue.py   names of the queries
counts.py      how many records have a property, lie in each bin, or support each candidate median
sums.py        sums and means of values that are clipped to a public interval
domain.py      possible values of each attribute of a record, coded as whole numbers
marginals.py   how many records have each combination of the values of a few attributes
workload.py    linear queries over the cells of a domain, as the rows of a matrix
"""

from .base import Query as Query
from .counts import (
    Count as Count,
    Histogram as Histogram,
    MedianUtility as MedianUtility,
    PrefixCounts as PrefixCounts,
)
from .domain import Domain as Domain, check_memory as check_memory
from .marginals import Marginals as Marginals
from .sums import Mean as Mean, Sum as Sum
from .workload import Workload as Workload
