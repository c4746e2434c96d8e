"""Functions of the records, each with its sensitivity under every neighbouring relation."""

from .base import Query
from .counts import Count, Histogram
from .median import MedianUtility
from .sums import Mean, Sum

__all__ = ["Count", "Histogram", "Mean", "MedianUtility", "Query", "Sum"]
