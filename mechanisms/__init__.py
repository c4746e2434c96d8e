"""What is audited, and what it promises.

base.py          Mechanism, Neighbours, Relation: read this first
catalogue.py     all of them by name
guarantees/      the theoretical accountant
broken/          wrong on purpose, each with its true epsilon

One answer, or a few

noise/           an answer plus noise
queries/         what is asked: functions of the records, each with its sensitivity under every neighbouring relation
selection/       one of finitely many candidates
sparse_vector/   many queries against a noisy threshold
statistics/      statistics of records whose noise depends on more than a sensitivity
local/           each user sends a random answer, and no curator is trusted
shuffle/         users randomise their own messages, and somebody takes the names off

Many answers, and data made of them

counts/          counts of many subsets of a column of bits: what reconstruction attacks read
release/         answers to many queries at once: the matrix mechanism, multiplicative weights
studies/         what is published about a group of people: the means of many columns
tables/          published tables of people: exact, swapped, or noisy
synthesis/       synthetic data: select marginals, measure them with noise, generate a table
deniability/     synthetic records that are released if many records could have given them
anonymity/       tables that are anonymous by a definition of their own, and not differentially private

Learning

learning/        private trainers, and models to attack
ensembles/       teachers that vote: models of disjoint parts of the data (PATE)
text/            language models of n-grams, private and not
tuning/          the best of several private runs, as when hyper-parameters are tuned

Made of others, or by others

composed/        post-processed, subsampled, in parallel
external/        other people's mechanisms: Python functions, scikit-learn classifiers
repeated.py      a mechanism that is run several times on the same dataset, and whose outputs are all seen

What they share

errors.py        every error that the library raises on purpose
fingerprint.py   what a run is known by: a description that changes with the behaviour of what runs, and its digest
label.py         what a thing is called in front of people
memory.py        available memory, and an error where something does not fit
printable.py     text of strangers, cleaned for the medium that it is shown on
record_edits.py  one entry of a column taken out, replaced or blanked
records.py       datasets as collections of records: pairs built from one dataset
registry.py      a catalogue: public names, and where the classes behind them live
relation.py      how two neighbouring datasets may differ
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
