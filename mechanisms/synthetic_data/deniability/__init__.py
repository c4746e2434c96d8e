"""Synthetic records with plausible deniability: generated from a seed, released if many could be the seed.

laplace_statistics.py    statistics with Laplace noise, accounted for by advanced composition
learning.py              LearnedGenerator: a network learned from parts of a table; the rest are seeds
network.py               BayesianNetwork over coded attributes
parameters.py            NoisyCounts: private parameter learning
plausible_deniability.py definition, buckets, and DeniabilityDP, the guarantee of the noisy test
release.py               DeniableRelease: the mechanism
seeds.py                 generators of a record from a seed record, with the probability of each output
structure.py             NoisyEntropies: private structure learning

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
from .seeds import (
    SeedBasedSynthesis as SeedBasedSynthesis,
    SeedGenerator as SeedGenerator,
    TabulatedSeedGenerator as TabulatedSeedGenerator,
)
from .structure import (
    NoisyEntropies as NoisyEntropies,
    entropy_sensitivity as entropy_sensitivity,
    learn_structure as learn_structure,
)
