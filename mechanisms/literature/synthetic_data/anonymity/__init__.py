"""Generalised tables: k-anonymity and l-diversity, and noisy counts in fixed cells.

generalization.py   Generalisation of quasi-identifiers: k-anonymous groups, fixed bands, and noisy counts in fixed
                    bands
grouped_table.py    A table without names, published in groups of people with the same generalised quasi-identifiers
"""

from .generalization import (
    GeneralizedCells as GeneralizedCells,
    global_recoding as global_recoding,
    mondrian as mondrian,
)
from .grouped_table import GroupedTable as GroupedTable
