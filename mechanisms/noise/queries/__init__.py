"""Functions of the records, each with its sensitivity under every neighbouring relation.

answers.py     what mechanisms that add noise to answers, or choose by them, share: a query or a vector, checked
base.py        the interface of a query: a function of the records, with its sensitivity
catalogue.py   names of the queries
counts.py      counting queries: how many records have a property
domain.py      what a record can be: a value of each attribute, coded as a whole number
marginals.py   how many records have each combination of the values of a few attributes
median.py      utilities for choosing a median with the exponential mechanism
sums.py        sums and means of values that are clipped to a public interval, without which no sensitivity is finite
workload.py    any linear queries over the cells of a domain, as the rows of a matrix
"""

from .base import Query as Query
from .counts import Count as Count, Histogram as Histogram, PrefixCounts as PrefixCounts
from .domain import Domain as Domain, check_memory as check_memory
from .marginals import Marginals as Marginals
from .median import MedianUtility as MedianUtility
from .sums import Mean as Mean, Sum as Sum
from .workload import Workload as Workload
