"""Tables that are anonymous by a definition of their own, and the same with differential privacy.

table.py       a table without names, published in groups of people who look alike
mondrian.py    k-anonymous tables, by cutting the data at medians and by bands that are fixed beforehand
cells.py       the same tables with differential privacy: noisy counts in cells that are fixed beforehand
"""

from .cells import GeneralizedCells as GeneralizedCells
from .mondrian import banded as banded, mondrian as mondrian
from .table import GroupedTable as GroupedTable
