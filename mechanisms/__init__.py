"""What is audited, and what it promises.

base.py          Mechanism, Neighbours, Relation: read this first
anonymity/       tables that are anonymous by a definition of their own, and not differentially private
guarantees/      the theoretical accountant
noise/ selection/ local/ shuffle/ queries/ learning/ external/   mechanisms, a folder a kind
broken/          wrong on purpose, each with its true epsilon
catalogue.py     all of them by name
counts/          counts of many subsets of a column of bits: what reconstruction attacks read
deniability/     synthetic records that are released if many records could have given them
composed/        mechanisms that are made of others: post-processed, subsampled, in parallel
ensembles/       teachers that vote: models of disjoint parts of the data
errors.py        every error that the library raises on purpose
external/        other people's mechanisms: Python functions, scikit-learn classifiers
fingerprint.py   what a run is known by: a description that changes with the behaviour of what runs, and its digest
label.py         what a thing is called in front of people
learning/        learning: private trainers, and models to attack
local/           local randomisers: each user sends a random answer, and no curator is trusted
printable.py     text of strangers, cleaned for the medium that it is shown on
queries/         functions of the records, each with its sensitivity under every neighbouring relation
record_edits.py  one entry of a column taken out, replaced or blanked
records.py       datasets as collections of records: pairs built from one dataset
release/         answers to many queries at once
registry.py      a catalogue: public names, and where the classes behind them live
relation.py      how two neighbouring datasets may differ
release/         answers to many queries at once
repeated.py      a mechanism that is run several times on the same dataset, and whose outputs are all seen
shuffle/         the shuffle model: users randomise their own messages, and somebody takes the names off
selection/       mechanisms that choose one of finitely many candidates
statistics/      statistics of records whose noise depends on more than a sensitivity
tables/          published tables of a block of people: exact, swapped or noisy
sparse_vector/   sparse vector technique: many queries against a noisy threshold
studies/         what is published about a group of people: the means of many columns
synthesis/       synthetic data: select marginals, measure them with noise, generate a table
tables/          published tables of people: exact, swapped, or noisy
text/            language models of n-grams, private and not
tuning/          choosing the best of several private runs, as when hyper-parameters are tuned
validation.py    shared checks of arguments
"""

from .base import Mechanism, Neighbours, Outputs
from .external.function import FunctionMechanism
from .guarantees import (
    ApproximateDP,
    ConcentratedDP,
    ExactDP,
    GaussianDP,
    Guarantee,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
    compose,
    group,
)
from .learning import DPSGD, TrainingData
from .local.k_ary import KAryRandomizedResponse
from .local.randomized_response import RandomizedResponse
from .noise.discrete.geometric import Geometric
from .noise.gaussian import Gaussian
from .noise.laplace import Laplace
from .relation import Relation
from .repeated import Repeated
from .selection.exponential import Exponential
from .sparse_vector.above_threshold import AboveThreshold
from .sparse_vector.numerical import NumericalSparseVector

__all__ = [
    "DPSGD",
    "AboveThreshold",
    "ApproximateDP",
    "ConcentratedDP",
    "ExactDP",
    "Exponential",
    "FunctionMechanism",
    "Gaussian",
    "GaussianDP",
    "Geometric",
    "Guarantee",
    "KAryRandomizedResponse",
    "Laplace",
    "LaplaceDP",
    "Mechanism",
    "Neighbours",
    "NumericalSparseVector",
    "Outputs",
    "PrivacyLossDP",
    "PureDP",
    "RandomizedResponse",
    "Relation",
    "RenyiDP",
    "Repeated",
    "TrainingData",
    "compose",
    "group",
]
