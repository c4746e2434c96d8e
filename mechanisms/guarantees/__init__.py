"""The theoretical accountant: what is promised. It knows no mechanism.

base.py               Guarantee: epsilon(delta), delta(epsilon), tradeoff(fpr); read this first
profile.py            what the kinds share: checks, shapes, and two views from the third
pure.py               PureDP               no output is e^epsilon times likelier on one side
approximate.py        ApproximateDP        the same, up to delta
laplace.py            LaplaceDP            the exact curve of Laplace noise on one number
gaussian.py           GaussianDP           the exact curve of Gaussian noise
concentrated.py       ConcentratedDP       rho-zCDP
renyi.py              RenyiDP              Renyi divergences at finitely many orders
exact.py              ExactDP              everything, from two finite output distributions
privacy_loss.py       PrivacyLossDP        privacy-loss distributions, by dp-accounting
composition.py        compose              several releases on the same data
advanced.py           AdvancedComposition  what compose(..., accounting="advanced") returns
optimal.py            OptimalComposition   what compose(..., accounting="optimal") returns
grouping.py           group                several records differ
subsampling.py        subsample            a secret random sample of the records
moments.py            MomentsDP            Renyi divergences, converted as the moments accountant does
fixed_size.py         fixed_size_gaussian  Gaussian noise on samples of fixed size
deterministic_batches.py                   Gaussian noise on shuffled and cyclic batches
noisy_sgd.py          strong_composition   noisy SGD before the moments accountant, and curves to compare
calibration.py        least_noise_multiplier   from a wanted epsilon to noise, for any accountant
conversion.py         to_...               from one kind to another
renyi_conversion.py, losses.py, polygon.py, search.py   numerics
"""

from .advanced import AdvancedComposition
from .approximate import ApproximateDP
from .base import Guarantee
from .calibration import least_noise_multiplier
from .composition import common_relation, compose
from .concentrated import ConcentratedDP
from .conversion import to_approximate, to_concentrated, to_privacy_loss, to_renyi
from .deterministic_batches import deterministic_batches, shuffled_epsilon_at_least
from .exact import ExactDP
from .fixed_size import fixed_size_gaussian
from .gaussian import GaussianDP
from .grouping import group
from .laplace import LaplaceDP
from .moments import MomentsDP
from .noisy_sgd import epsilon_curves, strong_composition
from .optimal import OptimalComposition
from .privacy_loss import PrivacyLossDP
from .pure import PureDP
from .renyi import RenyiDP
from .subsampling import subsample

__all__ = [
    "AdvancedComposition",
    "ApproximateDP",
    "ConcentratedDP",
    "ExactDP",
    "GaussianDP",
    "Guarantee",
    "LaplaceDP",
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
    "shuffled_epsilon_at_least",
    "strong_composition",
    "subsample",
    "to_approximate",
    "to_concentrated",
    "to_privacy_loss",
    "to_renyi",
]
