"""Functions of the records, each with its sensitivity under every neighbouring relation.

answers.py     what mechanisms that add noise to answers, or choose by them, share: a query or a vector, checked
base.py        the interface of a query: a function of the records, with its sensitivity
catalogue.py   names of the queries
counts.py      counting queries: how many records have a property
median.py      utilities for choosing a median with the exponential mechanism
sums.py        sums and means of values that are clipped to a public interval, without which no sensitivity is finite
"""

from .base import Query
from .counts import Count, Histogram, PrefixCounts
from .median import MedianUtility
from .sums import Mean, Sum

__all__ = ["Count", "Histogram", "Mean", "MedianUtility", "PrefixCounts", "Query", "Sum"]
