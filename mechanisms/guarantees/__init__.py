"""The theoretical accountant: what is promised. It knows no mechanism.

base.py               Guarantee: epsilon(delta), delta(epsilon), tradeoff(fpr); read this first
profile.py            what the kinds share: checks, shapes, and two views from the third
pure.py               PureDP               no output is e^epsilon times likelier on one side
approximate.py        ApproximateDP        the same, up to delta
laplace.py            LaplaceDP            the exact curve of Laplace noise on one number
laplace_vector.py     LaplaceVectorDP      the curve of Laplace noise on several numbers that all move
gaussian.py           GaussianDP           the exact curve of Gaussian noise
concentrated.py       ConcentratedDP       rho-zCDP
renyi.py              RenyiDP              Renyi divergences at finitely many orders
bounded_range.py      BoundedRange         all log ratios lie in an interval of a known length
exact.py              ExactDP              everything, from two finite output distributions
privacy_loss.py       PrivacyLossDP        privacy-loss distributions, by dp-accounting
composition/          compose, group, subsample: several releases, several records, samples
shuffling/            ClonesDP: messages of local mechanisms in random order
two_laws/             exact curves of noise whose centre and scale differ between the sides
steps/                Gaussian noise on batches, many times: what DP-SGD is accounted by
conversion/           to_..., least_noise_multiplier: from one kind to another, from epsilon to noise
numerics/             what they share
"""

from .approximate import ApproximateDP
from .base import Guarantee
from .bounded_range import BoundedRange
from .composition.advanced import AdvancedComposition
from .composition.bounded_range import BoundedRangeComposition
from .composition.compose import common_relation, compose
from .composition.grouping import group
from .composition.optimal import OptimalComposition
from .composition.subsampling import subsample
from .concentrated import ConcentratedDP
from .conversion.belief import posterior_interval
from .conversion.calibration import least_noise_multiplier
from .conversion.convert import to_approximate, to_concentrated, to_privacy_loss, to_renyi
from .exact import ExactDP
from .gaussian import GaussianDP
from .laplace import LaplaceDP
from .laplace_vector import LaplaceVectorDP
from .privacy_loss import PrivacyLossDP
from .pure import PureDP
from .renyi import RenyiDP
from .shuffling.clones import ClonesDP
from .steps.deterministic_batches import deterministic_batches, shuffled_epsilon_at_least
from .steps.fixed_size import fixed_size_gaussian
from .steps.moments import MomentsDP
from .steps.noisy_sgd import epsilon_curves, strong_composition

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
