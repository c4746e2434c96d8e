"""Studies: published statistics of a group of people, each with 0 or 1 in many columns.

column_means.py   the means of all columns: exact, rounded, or with noise
populations.py    public frequencies of the columns, people with independent or correlated columns, and random studies
"""

from .column_means import ColumnMeans as ColumnMeans
from .populations import (
    ConstantFrequencies as ConstantFrequencies,
    Genomes as Genomes,
    Population as Population,
    Study as Study,
    Tardos as Tardos,
    Uniform as Uniform,
)
