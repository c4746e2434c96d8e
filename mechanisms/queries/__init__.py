"""Functions of the records, each with its sensitivity under every neighbouring relation."""

from mechanisms.queries.base import Query
from mechanisms.queries.counts import Count, Histogram
from mechanisms.queries.median import MedianUtility
from mechanisms.queries.sums import Mean, Sum

__all__ = ["Count", "Histogram", "Mean", "MedianUtility", "Query", "Sum"]
