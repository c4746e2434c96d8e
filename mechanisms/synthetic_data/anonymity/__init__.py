"""Generalised tables: k-anonymity and l-diversity, and noisy counts in fixed cells.

generalization.py  k-anonymous groups (Mondrian), fixed bands, and fixed cells with noisy counts
grouped_table.py   GroupedTable: people in groups with the same generalised quasi-identifiers
"""

from .generalization import (
    GeneralizedCells as GeneralizedCells,
    global_recoding as global_recoding,
    mondrian as mondrian,
)
from .grouped_table import GroupedTable as GroupedTable
