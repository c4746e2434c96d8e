"""Accounting: guarantees, and the theorems that turn guarantees into others. It knows no concrete mechanism.

Imports run one way: numerics < kinds < conversion < composition < amplification < dp_sgd.

amplification/   Amplification by shuffling the messages of local mechanisms, and by sampling the records
broken.py        Mixins of the intentionally broken mechanisms: read this first
claims.py        Base classes of mechanisms whose claim, exact curve and output law follow from their parameters
composition/     Composition of several releases on the same data, and group privacy
conversion/      Conversion between kinds of guarantees, calibration of noise, and a Bayesian interpretation
dp_sgd/          Accounting of many noisy steps on batches of the records
kinds/           Kinds of guarantees, one class each
numerics/        Numerics that the kinds of guarantees share
"""

from typing import TYPE_CHECKING

from ..core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ..core import Guarantee as Guarantee
    from .amplification.clones import ClonesDP as ClonesDP
    from .amplification.subsampling import subsample as subsample
    from .claims import FiniteMechanism as FiniteMechanism, PureMechanism as PureMechanism
    from .composition.advanced import AdvancedComposition as AdvancedComposition
    from .composition.compose import (
        TightestComposition as TightestComposition,
        common_relation as common_relation,
        compose as compose,
        self_composed as self_composed,
    )
    from .composition.grouping import group as group
    from .composition.laplace_vector import LaplaceVectorDP as LaplaceVectorDP
    from .composition.optimal import (
        BoundedRangeComposition as BoundedRangeComposition,
        OptimalComposition as OptimalComposition,
    )
    from .conversion.belief import posterior_interval as posterior_interval
    from .conversion.calibration import least_noise_multiplier as least_noise_multiplier
    from .conversion.convert import (
        to_approximate as to_approximate,
        to_concentrated as to_concentrated,
        to_privacy_loss as to_privacy_loss,
        to_renyi as to_renyi,
    )
    from .dp_sgd.correlated_noise import (
        AnyOrder as AnyOrder,
        FixedOrder as FixedOrder,
        MinSeparation as MinSeparation,
        amplified_banded as amplified_banded,
        correlated_gaussian as correlated_gaussian,
    )
    from .dp_sgd.deterministic_batches import (
        deterministic_batches as deterministic_batches,
        shuffled_epsilon_at_least as shuffled_epsilon_at_least,
    )
    from .dp_sgd.fixed_size import fixed_size_gaussian as fixed_size_gaussian, fixed_size_losses as fixed_size_losses
    from .dp_sgd.noisy_sgd import epsilon_curves as epsilon_curves, strong_composition as strong_composition
    from .dp_sgd.random_allocation import random_allocation as random_allocation
    from .dp_sgd.sampled_group import sampled_group_gaussian as sampled_group_gaussian
    from .dp_sgd.truncated_poisson import truncated_poisson as truncated_poisson
    from .kinds.approximate import ApproximateDP as ApproximateDP, PureDP as PureDP
    from .kinds.bounded_range import BoundedRange as BoundedRange
    from .kinds.concentrated import ConcentratedDP as ConcentratedDP
    from .kinds.exact import ExactDP as ExactDP
    from .kinds.gaussian import GaussianDP as GaussianDP
    from .kinds.laplace import LaplaceDP as LaplaceDP
    from .kinds.privacy_loss import PrivacyLossDP as PrivacyLossDP
    from .kinds.renyi import MomentsDP as MomentsDP, RenyiDP as RenyiDP
else:
    __getattr__, __dir__ = lazy_names(__name__)
