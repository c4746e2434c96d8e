"""White-box attacks: the norm of the gradient, and the inner product of the gradient with the steps of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanisms.core import Floats, positive, unit_interval
from ...mechanisms.learning.base import SupportsGradients, TrainingData
from ...mechanisms.learning.models.base import Model
from ...mechanisms.learning.models.trained import TrainedModels
from .base import MembershipAttack
from .shadows import Shadows

MAX_BATCH_ENTRIES = 8_000_000
"""Numbers in one batch of gradients."""


@dataclass(frozen=True)
class GradientAttack(MembershipAttack):
    """Base class of attacks whose score is the signal of the same name, from gradients.

    Args:
        calibrated: whether to subtract the mean over models without the record.
    """

    calibrated: bool = False

    @property
    def minimum_references(self) -> int:
        return 1 if self.calibrated else 0

    def scores_of(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.name)
        return values - shadows.others(values).mean if self.calibrated else values.copy()


@dataclass(frozen=True)
class GradientNorm(GradientAttack):
    """Minus the norm of the gradient of the loss at the record: training makes it small for members.

    Args:
        calibrated: whether to subtract the mean over models without the record.

    Raises:
        AttackError: models that give no gradients, such as those of scikit-learn.

    References:
        Nasr, Shokri and Houmansadr (2019), "Comprehensive privacy analysis of deep learning", IEEE S&P.
    """

    name: ClassVar[str] = "gradient-norm"


@dataclass(frozen=True)
class GradientInnerProduct(GradientAttack):
    """Decrease of the record's loss along the training steps, to first order.

        sum_t <theta_t - theta_(t+1), gradient of loss(theta_t; x)>

    The adversary sees every iterate: train the shadows with `DPSGD(view="trajectory")`.

    Args:
        calibrated: whether to subtract the mean over models without the record.

    Raises:
        AttackError: shadows that were trained without trajectories.

    References:
        Nasr et al. (2023), "Tight auditing of differentially private machine learning", USENIX Security, section 4,
        for one step; here summed over the steps.
    """

    name: ClassVar[str] = "gradient-inner-product"


def inner_products(trajectories: Floats, model: Model, records: TrainingData) -> Floats:
    """Return sum_t <theta_t - theta_(t+1), gradient of the loss of x at theta_t>.

    Args:
        trajectories: `(n_models, n_steps + 1, n_parameters)` iterates.
        model: architecture of the models.
        records: the examples x.

    Returns:
        Inner products, `(n_models, n_records)`.
    """
    n_models, _, n_parameters = trajectories.shape
    y = records.y.astype(np.int64)
    total = np.zeros((n_models, len(records)))
    length = max(1, MAX_BATCH_ENTRIES // (n_models * n_parameters))
    for step in range(trajectories.shape[1] - 1):
        models: SupportsGradients = TrainedModels(model, np.ascontiguousarray(trajectories[:, step]))
        steps = trajectories[:, step] - trajectories[:, step + 1]
        for start in range(0, len(records), length):
            rows = slice(start, start + length)
            total[:, rows] += np.einsum("rnp,rp->rn", models.gradients(records.X[rows], y[rows]), steps)
    return total


def canary_log_ratio(
    observations: Floats, *, noise_multiplier: float, sampling_probability: float = 1.0, strategy: Floats | None = None
) -> Floats:
    """Return the log likelihood ratio of a gradient canary in a direction that no other gradient has, from all steps.

        sum_t log(1 - q + q exp((2 s_t - 1) / (2 sigma^2)))

    Args:
        observations: `(..., n_steps, n_canaries)` inner products s_t of each noisy sum with the canary, over clip_norm
            squared: noise of standard deviation `noise_multiplier` around 1 if the canary was sampled, else 0.
        noise_multiplier: sigma.
        sampling_probability: q of Poisson sampling; 1 for full batches.
        strategy: C, `(n_steps, n_steps)`, for noise C^-1 Z that is correlated between steps; None for independent
            noise. It is used for q = 1 only: otherwise the score is valid, but not the likelihood ratio.

    Returns:
        Log likelihood ratios, `(..., n_canaries)`.

    Example:
        >>> canary_log_ratio(np.array([[1.0], [0.0]]), noise_multiplier=1.0).round(3)
        array([0.])
    """
    positive(noise_multiplier=noise_multiplier)
    unit_interval(sampling_probability=sampling_probability)
    values = np.asarray(observations, dtype=np.float64)
    shifts: Floats | float = 1.0
    if strategy is not None and sampling_probability == 1.0:
        values, shifts = strategy @ values, strategy.sum(axis=1)[:, None]
    exponent = (2.0 * values - shifts) * shifts / (2.0 * noise_multiplier**2)
    with np.errstate(divide="ignore"):
        missed = np.log1p(-sampling_probability)
        return np.asarray(np.logaddexp(missed, np.log(sampling_probability) + exponent).sum(axis=-2))
