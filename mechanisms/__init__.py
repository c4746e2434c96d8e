"""What is audited, and what it promises.

catalogue.py     all of them by name
broken/          intentionally broken mechanisms, each with its true epsilon

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
noise/               Noise on answers: query x noise
core/                Interfaces and checks that all mechanisms share; base.py is read first
"""

from .accounting import (
    ApproximateDP as ApproximateDP,
    ConcentratedDP as ConcentratedDP,
    ExactDP as ExactDP,
    GaussianDP as GaussianDP,
    Guarantee as Guarantee,
    LaplaceDP as LaplaceDP,
    PrivacyLossDP as PrivacyLossDP,
    PureDP as PureDP,
    RenyiDP as RenyiDP,
    compose as compose,
    group as group,
)
from .adapters.functions.function import FunctionMechanism as FunctionMechanism
from .combinators.repeated import Repeated as Repeated
from .core.base import Mechanism as Mechanism, Neighbours as Neighbours, Outputs as Outputs
from .core.relation import Relation as Relation
from .learning.base import TrainingData as TrainingData
from .learning.dp_sgd.mechanism import DPSGD as DPSGD
from .local.randomized_response import (
    KAryRandomizedResponse as KAryRandomizedResponse,
    RandomizedResponse as RandomizedResponse,
)
from .noise.gaussian import Gaussian as Gaussian
from .noise.geometric import Geometric as Geometric
from .noise.laplace import Laplace as Laplace
from .selection.exponential import Exponential as Exponential
from .selection.sparse_vector.above_threshold import AboveThreshold as AboveThreshold
from .selection.sparse_vector.numerical import NumericalSparseVector as NumericalSparseVector
