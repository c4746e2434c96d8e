"""What is audited, and what it promises.

base.py          Mechanism, Neighbours, Relation: read this first
guarantees/      the theoretical accountant
noise/ selection/ local/ queries/ learning/ external/   mechanisms, a folder a kind
broken/          wrong on purpose, each with its true epsilon
catalogue.py     all of them by name
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
from .noise.gaussian import Gaussian
from .noise.geometric import Geometric
from .noise.laplace import Laplace
from .relation import Relation
from .repeated import Repeated
from .selection.exponential import Exponential

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
