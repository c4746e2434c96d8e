"""Studies: what is published about a group of people, each with 0 or 1 in many columns.

column_means.py   ColumnMeans   the means of all columns: exact, rounded, or with noise
genomes.py        Genomes       people whose columns are correlated, in blocks
populations.py    public frequencies of columns: all alike, spread, or those of fingerprinting codes
study.py          Study         a group of which all but one are drawn anew in every run
"""

from .column_means import ColumnMeans as ColumnMeans
from .genomes import Genomes as Genomes
from .populations import (
    ConstantFrequencies as ConstantFrequencies,
    Population as Population,
    Tardos as Tardos,
    Uniform as Uniform,
)
from .study import Study as Study
