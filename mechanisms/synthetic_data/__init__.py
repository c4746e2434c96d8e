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

from .base import (
    Generator as Generator,
    Grouped as Grouped,
    MarginalSelection as MarginalSelection,
    Measured as Measured,
    Synthesised as Synthesised,
    Table as Table,
)
from .generators.direct import DirectGenerator as DirectGenerator
from .generators.graphical import GraphicalModel as GraphicalModel
from .generators.local.consistency import GradualUpdate as GradualUpdate, LocalConsistency as LocalConsistency
from .generators.mixtures.network import GeneratorNetwork as GeneratorNetwork
from .generators.mixtures.relaxed import RelaxedTable as RelaxedTable
from .generators.problem import misfit as misfit
from .generators.tree_model import TreeModel as TreeModel
from .noisy_histogram import NoisyHistogramTable as NoisyHistogramTable
from .pipeline import SelectMeasureGenerate as SelectMeasureGenerate
from .selection.aim import AIM as AIM
from .selection.fixed import FixedMarginals as FixedMarginals
from .selection.mst import MST as MST
