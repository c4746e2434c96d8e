"""Synthetic data: select marginals, measure them with noise, generate a table that fits the answers.

anonymity/                  k-anonymous tables, and noisy counts in generalised cells
deniability/                synthetic records with plausible deniability
generators/                 fitting a distribution to measured marginals: post-processing
selection/                  the choice of the measured marginals, and its privacy cost: FixedMarginals, MST, AIM
base.py                     the interfaces: measured marginals, selections, generators, fitted distributions
catalogue.py                names of the selections and of the generators
noisy_histogram.py          NoisyHistogramTable: as many copies of each record as its noisy count
select_measure_generate.py  SelectMeasureGenerate: the three steps as a mechanism
"""

from .base import (
    CodedTable as CodedTable,
    FittedDistribution as FittedDistribution,
    Generator as Generator,
    GroupedDistribution as GroupedDistribution,
    MarginalSelection as MarginalSelection,
    NoisyMarginal as NoisyMarginal,
)
from .generators.direct import DirectGenerator as DirectGenerator
from .generators.generator_network import GeneratorNetwork as GeneratorNetwork
from .generators.graphical_model import GraphicalModel as GraphicalModel
from .generators.local_consistency import GradualUpdate as GradualUpdate, LocalConsistency as LocalConsistency
from .generators.objective import misfit as misfit
from .generators.relaxed_table import RelaxedTable as RelaxedTable
from .generators.tree_model import TreeModel as TreeModel
from .noisy_histogram import NoisyHistogramTable as NoisyHistogramTable
from .select_measure_generate import SelectMeasureGenerate as SelectMeasureGenerate
from .selection.aim import AIM as AIM
from .selection.fixed import FixedMarginals as FixedMarginals
from .selection.mst import MST as MST
