"""Synthetic data: select marginals, measure them with noise, generate a table that explains the answers.

base.py         the interfaces: what is measured, who selects, who generates, what comes out
catalogue.py    names of the selections and of the generators
generators/     fitting a distribution to measured marginals: post-processing
noisy_histogram.py   NoisyHistogramTable: as many copies of each record as a noisy count says
pipeline.py     the three together, as a mechanism
selection/      which marginals are measured, and what that costs
"""

from .base import Generator, Grouped, Measured, Selection, Synthesised, Table
from .generators import (
    DirectGenerator,
    GeneratorNetwork,
    GradualUpdate,
    GraphicalModel,
    LocalConsistency,
    RelaxedTable,
    TreeModel,
    misfit,
)
from .noisy_histogram import NoisyHistogramTable
from .pipeline import SelectMeasureGenerate
from .selection import AIM, MST, FixedMarginals

__all__ = [
    "AIM",
    "MST",
    "DirectGenerator",
    "FixedMarginals",
    "Generator",
    "GeneratorNetwork",
    "GradualUpdate",
    "GraphicalModel",
    "Grouped",
    "LocalConsistency",
    "Measured",
    "NoisyHistogramTable",
    "RelaxedTable",
    "SelectMeasureGenerate",
    "Selection",
    "Synthesised",
    "Table",
    "TreeModel",
    "misfit",
]
