"""Synthetic data: select marginals, measure them with noise, generate a table that fits the answers.

anonymity/                   Generalised tables: k-anonymity and l-diversity, and noisy counts in fixed cells
base.py                      Interfaces of the synthetic data package: read this module first
broken.py                    Intentionally broken synthetic data: records are copied
catalogue.py                 Names of the selections and of the generators. Adding one takes one file and one line in
                             this module
deniability/                 Synthetic records with plausible deniability: generated from a seed, released if many could
                             be the seed
generators/                  Fitting a distribution to measured marginals: post-processing of the answers
noisy_histogram.py           Synthetic data from a noisy histogram: each possible record is repeated as often as its
                             noisy count
select_measure_generate.py   Select, measure, generate: synthetic data as a mechanism
selection/                   The choice of the measured marginals, their noise, and the privacy cost of both
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
from .generators.objective import marginal_loss as marginal_loss
from .generators.relaxed_table import RelaxedTable as RelaxedTable
from .generators.tree_model import TreeModel as TreeModel
from .noisy_histogram import NoisyHistogramTable as NoisyHistogramTable
from .select_measure_generate import SelectMeasureGenerate as SelectMeasureGenerate
from .selection.aim import AIM as AIM
from .selection.fixed import FixedMarginals as FixedMarginals
from .selection.mst import MST as MST
