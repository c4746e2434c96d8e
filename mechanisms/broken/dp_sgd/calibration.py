"""Intentionally broken calibration: searches for the noise multiplier that return too little noise, or too much.

The correct search is `dpassay.mechanisms.accounting.conversion.calibration.least_noise_multiplier`.
"""

from __future__ import annotations

from collections.abc import Callable

from ...core.guarantee import Guarantee
from ...learning.accounting import calibrate_noise


def midpoint_noise_multiplier(
    guarantee_of: Callable[[float], Guarantee],
    *,
    epsilon: float,
    delta: float,
    low: float = 0.0,
    high: float = 10.0,
    tolerance: float = 0.01,
) -> float:
    """Return the middle of the last bracket of a bisection for the noise multiplier: broken.

    Bug: the lower end is known to be too little noise, and the upper end to be enough, but the middle can be either.
    For epsilon 5 at delta = 1e-5, with 100 steps at rate 0.05 and Renyi accounting, it returns 0.9033, which is
    epsilon 5.043. The tolerance is on the noise multiplier, in which epsilon can be steep: the smaller the noise, the
    larger the error. Correct: return the upper end.

    Args:
        guarantee_of: function from a noise multiplier to a guarantee; epsilon decreases in the noise multiplier.
        epsilon, delta: target.
        low, high: the first bracket; `high` is enough noise.
        tolerance: length of the bracket at which the search stops.

    References:
        meta-pytorch/opacus, issue 346 and pull request 348.

    Example:
        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> multiplier = midpoint_noise_multiplier(lambda noise: GaussianDP(1 / noise), epsilon=20.0, delta=1e-5)
        >>> round(GaussianDP(1 / multiplier).epsilon(1e-5), 2)
        20.18
    """
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        if guarantee_of(middle).epsilon(delta) <= epsilon:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def noise_counting_micro_steps(
    *,
    epsilon: float,
    delta: float,
    n_records: int,
    batch_size: int,
    micro_batches: int,
    epochs: int,
    accounting: str | None = None,
) -> float:
    """Return the noise multiplier for Poisson sampling with micro-steps counted as steps: broken.

    Bug: the number of steps is epochs * (n_records // micro-batch size), and should be
    epochs * (n_records // batch_size). Noise is added once per batch, so that this is too much noise, growing with the
    number of micro-batches of gradient accumulation; it must not depend on that number.

    Args:
        epsilon, delta: target.
        n_records, batch_size, epochs: options of the training; the rate is batch_size / n_records.
        micro_batches: number of parts in which a batch is processed; 1 is correct.
        accounting: as for `calibrate_noise`.

    References:
        google-deepmind/jax_privacy, issues 234, 267 and 288: 14,732 records, batch 1,024, 3 epochs, epsilon 4, delta
        2e-5 needs 0.90, and gave 7.69 with micro-batches of 4 records.

    Example:
        >>> setting = {"epsilon": 4.0, "delta": 2e-5, "n_records": 14_732, "batch_size": 1024, "epochs": 3}
        >>> [round(noise_counting_micro_steps(**setting, micro_batches=m, accounting="renyi"), 2) for m in (1, 256)]
        [0.97, 8.25]
    """
    return calibrate_noise(
        epsilon=epsilon,
        delta=delta,
        sampling="poisson",
        steps=epochs * (n_records * micro_batches // batch_size),
        sampling_probability=batch_size / n_records,
        accounting=accounting,
    )
