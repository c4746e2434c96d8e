"""Synthetic data: select marginals, measure them with noise, generate a table that explains the answers.

base.py         the interfaces: what is measured, who selects, who generates, what comes out
catalogue.py    names of the selections and of the generators
generators/     fitting a distribution to measured marginals: post-processing
noisy_histogram.py   NoisyHistogramTable: as many copies of each record as a noisy count says
pipeline.py     the three together, as a mechanism
selection/      which marginals are measured, and what that costs
anonymity/           Tables that are anonymous by a definition of their own, and the same with differential privacy
deniability/         Synthetic records with plausible deniability: made of real ones, and released if many could have g
"""

from .base import Generator, Grouped, MarginalSelection, Measured, Synthesised, Table
from .generators.direct import DirectGenerator
from .generators.graphical import GraphicalModel
from .generators.local.consistency import GradualUpdate, LocalConsistency
from .generators.mixtures.network import GeneratorNetwork
from .generators.mixtures.relaxed import RelaxedTable
from .generators.problem import misfit
from .generators.tree_model import TreeModel
from .noisy_histogram import NoisyHistogramTable
from .pipeline import SelectMeasureGenerate
from .selection.aim import AIM
from .selection.fixed import FixedMarginals
from .selection.mst import MST

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
    "MarginalSelection",
    "Measured",
    "NoisyHistogramTable",
    "RelaxedTable",
    "SelectMeasureGenerate",
    "Synthesised",
    "Table",
    "TreeModel",
    "misfit",
]
