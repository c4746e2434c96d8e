"""Synthetic records with plausible deniability: generated from a seed, released if many could be the seed.

broken.py                  Intentionally broken plausible deniability: taken for differential privacy, or learned
                           without noise
laplace_statistics.py      Statistics of a table, each with Laplace noise and a small epsilon, accounted for by advanced
                           composition
learning.py                A generator learned from two parts of a table; the rest of the table are its seeds
network.py                 A Bayesian network over coded attributes: each attribute has a distribution given its parents
parameters.py              Private parameter learning: noisy counts for the tables of a Bayesian network
plausible_deniability.py   Plausible deniability of one synthetic record: its definition, its test, and the guarantee of
                           the noisy test
release.py                 Release of a synthetic record generated from a seed record, if enough other records could
                           have produced it
seeds.py                   Generators that draw a synthetic record from a seed record, with the probability of each
                           output
structure.py               Private structure learning: the parents of each attribute, from noisy entropies

The terms of Bindschaedler, Shokri and Gunter (2017), and the names here:

    seed d, synthetic record y       `SeedGenerator.draw`; both are numbers of cells
    omega, attributes re-sampled     `SeedBasedSynthesis.resampled`
    k', plausible seeds              the number of records in the bucket of the seed
    eps_H, eps_p, one entropy/table  `epsilon_each` of `NoisyEntropies` and `NoisyFamilyCounts`
    D_T, D_P, D_S                    the parts of `learn_generator`, for structure, parameters and seeds
"""

from .learning import LearnedGenerator as LearnedGenerator, learn_generator as learn_generator
from .network import BayesianNetwork as BayesianNetwork, markov_chain as markov_chain
from .parameters import NoisyFamilyCounts as NoisyFamilyCounts
from .plausible_deniability import (
    DeniabilityDP as DeniabilityDP,
    likelihood_buckets as likelihood_buckets,
    n_plausible_seeds as n_plausible_seeds,
    plausibly_deniable as plausibly_deniable,
)
from .release import NOT_RELEASED as NOT_RELEASED, DeniableRelease as DeniableRelease
from .seeds import SeedBasedSynthesis as SeedBasedSynthesis, SeedGenerator as SeedGenerator
from .structure import (
    NoisyEntropies as NoisyEntropies,
    entropy_sensitivity as entropy_sensitivity,
    learn_structure as learn_structure,
)
