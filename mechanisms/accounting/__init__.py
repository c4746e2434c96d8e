"""The theoretical accountant: what is promised. It knows no mechanism.

composition/          compose, group, subsample: several releases, several records, samples
conversion/           to_..., least_noise_multiplier: from one kind to another, from epsilon to noise
numerics/             what they share
amplification/       Messages of local mechanisms in random order: what is promised when nobody knows who sent which
dp_sgd/              Many noisy steps on batches of the records: what DP-SGD is accounted by
kinds/               Kinds
"""

from ..core.guarantee import Guarantee as Guarantee
from .amplification.clones import ClonesDP as ClonesDP
from .amplification.subsampling import subsample as subsample
from .composition.advanced import AdvancedComposition as AdvancedComposition
from .composition.bounded_range import BoundedRangeComposition as BoundedRangeComposition
from .composition.compose import common_relation as common_relation, compose as compose
from .composition.grouping import group as group
from .composition.laplace_vector import LaplaceVectorDP as LaplaceVectorDP
from .composition.optimal import OptimalComposition as OptimalComposition
from .composition.self_composition import self_composed as self_composed
from .conversion.belief import posterior_interval as posterior_interval
from .conversion.calibration import least_noise_multiplier as least_noise_multiplier
from .conversion.convert import (
    to_approximate as to_approximate,
    to_concentrated as to_concentrated,
    to_privacy_loss as to_privacy_loss,
    to_renyi as to_renyi,
)
from .dp_sgd.deterministic_batches import (
    deterministic_batches as deterministic_batches,
    shuffled_epsilon_at_least as shuffled_epsilon_at_least,
)
from .dp_sgd.fixed_size import fixed_size_gaussian as fixed_size_gaussian
from .dp_sgd.moments import MomentsDP as MomentsDP
from .dp_sgd.noisy_sgd import epsilon_curves as epsilon_curves, strong_composition as strong_composition
from .kinds.approximate import ApproximateDP as ApproximateDP
from .kinds.bounded_range import BoundedRange as BoundedRange
from .kinds.concentrated import ConcentratedDP as ConcentratedDP
from .kinds.exact import ExactDP as ExactDP
from .kinds.gaussian import GaussianDP as GaussianDP
from .kinds.laplace import LaplaceDP as LaplaceDP
from .kinds.privacy_loss import PrivacyLossDP as PrivacyLossDP
from .kinds.pure import PureDP as PureDP
from .kinds.renyi import RenyiDP as RenyiDP
