"""Calibration of the noise of DP-SGD and other noisy gradient methods to a target (epsilon, delta)."""

from __future__ import annotations

from ...accounting.conversion.calibration import least_noise_multiplier
from ...core.errors import AccountingError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from .steps import chosen_accounting, scheme_named, steps_guarantee


def calibrate_noise(
    *,
    epsilon: float,
    delta: float,
    sampling: str,
    steps: int,
    sampling_probability: float = 1.0,
    batches_per_epoch: int | None = None,
    relation: str | Relation = Relation.ADD_REMOVE,
    accounting: str | None = None,
    tolerance: float = 1e-4,
) -> float:
    """Return the smallest noise multiplier for which `steps_guarantee` is (epsilon, delta)-DP, rounded up.

    Args:
        epsilon: the target, > 0.
        delta: strictly between 0 and 1.
        tolerance: relative, > 0: by how much the result may exceed the smallest multiplier.
        sampling, steps, sampling_probability, batches_per_epoch, relation, accounting: as for `steps_guarantee`.

    Returns:
        Standard deviation of the noise on the sum / clipping norm.

    Raises:
        ParameterError, AccountingError: as for `steps_guarantee`, or no amount of noise is enough.

    Guarantees:
        * `steps_guarantee(returned, ...).epsilon(delta) <= epsilon`.

    Example:
        >>> setting = {"sampling": "full-batch", "steps": 100}
        >>> noise = calibrate_noise(epsilon=1.0, delta=1e-5, **setting)
        >>> round(noise, 3), steps_guarantee(noise, **setting).epsilon(1e-5) <= 1.0
        (37.307, True)
    """

    def guarantee_of(noise_multiplier: float, accounting: str | None = accounting) -> Guarantee:
        return steps_guarantee(
            noise_multiplier,
            sampling=sampling,
            steps=steps,
            sampling_probability=sampling_probability,
            batches_per_epoch=batches_per_epoch,
            relation=relation,
            accounting=accounting,
        )

    start = 1.0
    exact = chosen_accounting(sampling, accounting) == "privacy-loss"
    if exact and "renyi" in scheme_named(sampling).accountants:
        try:
            start = 0.95 * least_noise_multiplier(
                lambda noise: guarantee_of(noise, "renyi"), epsilon=epsilon, delta=delta, tolerance=0.01
            )
        except AccountingError:
            start = 1.0
    return least_noise_multiplier(guarantee_of, epsilon=epsilon, delta=delta, tolerance=tolerance, start=start)
