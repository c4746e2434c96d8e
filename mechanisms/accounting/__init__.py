"""The theoretical accountant: what is promised. It knows no mechanism.

composition/          compose, group, subsample: several releases, several records, samples
conversion/           to_..., least_noise_multiplier: from one kind to another, from epsilon to noise
numerics/             what they share
amplification/       Messages of local mechanisms in random order: what is promised when nobody knows who sent which
dp_sgd/              Many noisy steps on batches of the records: what DP-SGD is accounted by
kinds/               Kinds
"""

from ..core.guarantee import Guarantee
from .amplification.clones import ClonesDP
from .amplification.subsampling import subsample
from .composition.advanced import AdvancedComposition
from .composition.bounded_range import BoundedRangeComposition
from .composition.compose import common_relation, compose
from .composition.grouping import group
from .composition.laplace_vector import LaplaceVectorDP
from .composition.optimal import OptimalComposition
from .conversion.belief import posterior_interval
from .conversion.calibration import least_noise_multiplier
from .conversion.convert import to_approximate, to_concentrated, to_privacy_loss, to_renyi
from .dp_sgd.deterministic_batches import deterministic_batches, shuffled_epsilon_at_least
from .dp_sgd.fixed_size import fixed_size_gaussian
from .dp_sgd.moments import MomentsDP
from .dp_sgd.noisy_sgd import epsilon_curves, strong_composition
from .kinds.approximate import ApproximateDP
from .kinds.bounded_range import BoundedRange
from .kinds.concentrated import ConcentratedDP
from .kinds.exact import ExactDP
from .kinds.gaussian import GaussianDP
from .kinds.laplace import LaplaceDP
from .kinds.privacy_loss import PrivacyLossDP
from .kinds.pure import PureDP
from .kinds.renyi import RenyiDP

__all__ = [
    "AdvancedComposition",
    "ApproximateDP",
    "BoundedRange",
    "BoundedRangeComposition",
    "ClonesDP",
    "ConcentratedDP",
    "ExactDP",
    "GaussianDP",
    "Guarantee",
    "LaplaceDP",
    "LaplaceVectorDP",
    "MomentsDP",
    "OptimalComposition",
    "PrivacyLossDP",
    "PureDP",
    "RenyiDP",
    "common_relation",
    "compose",
    "deterministic_batches",
    "epsilon_curves",
    "fixed_size_gaussian",
    "group",
    "least_noise_multiplier",
    "posterior_interval",
    "shuffled_epsilon_at_least",
    "strong_composition",
    "subsample",
    "to_approximate",
    "to_concentrated",
    "to_privacy_loss",
    "to_renyi",
]
