"""Studies: published statistics of a group of people, each with 0 or 1 in many columns.

column_means.py   Means of all columns of a study, exact or with noise
populations.py    Populations, with the public frequency of a 1 in each column, and studies of people drawn from them
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
