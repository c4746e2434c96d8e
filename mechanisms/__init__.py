"""Mechanisms, and the guarantees that they claim. Read `core/base.py` first.

accounting/    Accounting: guarantees, and the theorems that turn guarantees into others. It knows no concrete mechanism
adapters/      External mechanisms: Python functions, commands, estimators, and the releases of other libraries
catalogue.py   Names of the mechanisms. A new one is one file and one line here; `dpassay list mechanisms` shows them
combinators/   Mechanisms that are made of others, with the guarantee that a theorem gives
core/          Interfaces and checks that all mechanisms share; base.py is read first
learning/      Learning: private trainers, and models to attack
literature/    Systems of the literature: one room a family, with its claims, laws, attacks and broken twins
local/         Local mechanisms: each user sends a random message, and no curator is trusted
noise/         Noise on answers: query x noise
selection/     Selection: mechanisms that choose among finitely many candidates
tiers.py       Trust tiers: how far the claim of a mechanism can be trusted before it is audited
"""

from typing import TYPE_CHECKING

from .core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .accounting import (
        ApproximateDP as ApproximateDP,
        ConcentratedDP as ConcentratedDP,
        ExactDP as ExactDP,
        GaussianDP as GaussianDP,
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
    from .core.guarantee import Guarantee as Guarantee
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
else:
    __getattr__, __dir__ = lazy_names(__name__)
