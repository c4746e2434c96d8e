"""Tables that are anonymous by a definition of their own, and not differentially private: what linkage attacks read.

table.py       a table without names, published in groups of people who look alike
mondrian.py    k-anonymous tables, by cutting the data at medians and by bands that are fixed beforehand
"""

from .mondrian import banded, mondrian
from .table import GroupedTable

__all__ = ["GroupedTable", "banded", "mondrian"]
