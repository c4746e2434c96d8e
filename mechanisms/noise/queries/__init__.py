"""Functions of the records, each with its sensitivity under every neighbouring relation.

answers.py     Checks of the query, or vector of answers, that mechanisms add noise to or select by
base.py        The interface of a query: a function of the records, with its sensitivity
catalogue.py   Catalogue names of the queries. A new query is one file and one line in this table
counts.py      Counting queries: records with a property, in each of several bins, or on either side of a candidate
               median
domain.py      Domain of a record: the possible values of each attribute, coded as whole numbers
marginals.py   Marginals: counts of the records with each combination of the values of a few attributes
sums.py        Sums and means of values clipped to a public interval, which makes the sensitivity finite
workload.py    Workloads: linear queries over the cells of a domain, as the rows of a matrix
"""

from .base import Query as Query
from .counts import Count as Count, Histogram as Histogram, MedianUtility as MedianUtility, PrefixCounts as PrefixCounts
from .domain import Domain as Domain, check_memory as check_memory
from .marginals import Marginals as Marginals
from .sums import Mean as Mean, Sum as Sum
from .workload import Workload as Workload
