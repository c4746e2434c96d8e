"""What is audited, and what it promises.

base.py          Mechanism, Neighbours, Relation: read this first
guarantees/      the theoretical accountant
noise/ selection/ local/ queries/ learning/ external/   mechanisms, a folder a kind
broken/          wrong on purpose, each with its true epsilon
catalogue.py     all of them by name
"""

from mechanisms.base import Mechanism, Neighbours, Outputs, Relation
from mechanisms.external.function import FunctionMechanism
from mechanisms.guarantees import (
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
from mechanisms.learning import DPSGD, TrainingData
from mechanisms.local.k_ary import KAryRandomizedResponse
from mechanisms.local.randomized_response import RandomizedResponse
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.geometric import Geometric
from mechanisms.noise.laplace import Laplace
from mechanisms.repeated import Repeated
from mechanisms.selection.exponential import Exponential

__all__ = [
    "DPSGD",
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
