"""Synthetic records with plausible deniability: made of real ones, and released if many could have given them.

definition.py   what plausible deniability asks of one synthetic record, and the buckets by which it is tested
learning.py     a generator learned from parts of a table, and seeds from another part
network.py      a Bayesian network over coded attributes
parameters.py   private parameter learning: noisy counts behind the tables of a network
release.py      a synthetic record is made of a record, and released if enough other records could have given it
seeds.py        generators that make a synthetic record of a seed record, with the probability of each
structure.py    private structure learning: which attributes are the parents of which, from noisy entropies
theorem.py      what a randomised privacy test promises

The words of Bindschaedler, Shokri and Gunter (2017), and the names here:

    seed d, synthetic record y       `SeedGenerator.draw`; both are numbers of cells
    omega, attributes re-sampled     `SeedBasedSynthesis.resampled`
    k', records in the bucket        the crowd of an output
    eps_H, eps_p, one entropy/table  `epsilon_each` of `NoisyEntropies` and `NoisyCounts`
    D_T, D_P, D_S                    the parts of `learn_generator`, for structure, parameters and seeds
laplace_statistics.py Statistics of a table, each with Laplace noise and a small epsilon, accounted for by advanced com
"""

from .definition import buckets as buckets, largest_crowd as largest_crowd, plausibly_deniable as plausibly_deniable
from .learning import LearnedGenerator as LearnedGenerator, learn_generator as learn_generator
from .network import BayesianNetwork as BayesianNetwork, chain as chain
from .parameters import NoisyCounts as NoisyCounts
from .release import NOT_RELEASED as NOT_RELEASED, DeniableRelease as DeniableRelease
from .seeds import (
    SeedBasedSynthesis as SeedBasedSynthesis,
    SeedGenerator as SeedGenerator,
    TableGenerator as TableGenerator,
)
from .structure import (
    NoisyEntropies as NoisyEntropies,
    entropy_sensitivity as entropy_sensitivity,
    learn_structure as learn_structure,
)
from .theorem import DeniabilityDP as DeniabilityDP
