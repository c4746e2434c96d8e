"""What is audited, and what it promises.

catalogue.py     all of them by name
broken/          wrong on purpose, each with its true epsilon

One answer, or a few

selection/       one of finitely many candidates
local/           each user sends a random answer, and no curator is trusted

Many answers, and data made of them


Learning

learning/        private trainers, and models to attack

Made of others, or by others


What they share
accounting/          The theoretical accountant: what is promised. It knows no mechanism
adapters/            Other people's mechanisms: Python functions, scikit-learn classifiers, and objects named on the co
combinators/         Mechanisms that are made of others, with the guarantee that a theorem gives
query_release/       Answers to many queries at once
synthetic_data/      Synthetic data: select marginals, measure them with noise, generate a table that explains the answ
noise/               Noise
"""

from .accounting import (
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
from .adapters.functions.function import FunctionMechanism
from .combinators.repeated import Repeated
from .core.base import Mechanism, Neighbours, Outputs
from .core.relation import Relation
from .learning.base import TrainingData
from .learning.dp_sgd.mechanism import DPSGD
from .local.k_ary import KAryRandomizedResponse
from .local.randomized_response import RandomizedResponse
from .noise.additive.gaussian import Gaussian
from .noise.additive.laplace import Laplace
from .noise.discrete.geometric import Geometric
from .selection.exponential import Exponential
from .selection.sparse_vector.above_threshold import AboveThreshold
from .selection.sparse_vector.numerical import NumericalSparseVector

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
