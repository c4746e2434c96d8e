"""Noisy SGD by strong composition: the accounting before the moments accountant, for comparison.

Each step is a Gaussian mechanism that is (e, d)-DP, amplified by subsampling to (log(1 + q (e^e - 1)), q d), and the
steps are composed by advanced composition. The bound is loose for three reasons: each curve is reduced to one point,
this point is amplified, and the points are composed in the worst case.

    our name             symbol
    noise_multiplier     sigma of Abadi et al.; sigma / (2 n L) of noisy projected SGD
    step_epsilon         epsilon_0 of one step, before its amplification
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core import AccountingError, Floats, Guarantee, open_unit, positive, whole
from ..amplification.subsampling import subsample
from ..composition.advanced import AdvancedComposition
from ..kinds.approximate import ApproximateDP
from ..kinds.gaussian import GaussianDP
from ..kinds.privacy_loss import PrivacyLossDP
from ..kinds.renyi import MomentsDP, RenyiDP, check_steps
from ..numerics.composed_losses import composed_losses

ACCOUNTANTS = ("strong composition", "moments accountant", "Renyi", "privacy loss")
"""The accountants of `epsilon_curves`, from the loosest to the tightest."""

LARGEST_STEP_EPSILON = 1.2564
"""Largest x with log(1 + q (e^x - 1)) <= 2 q x for every q: the root of e^x - 1 = 2 x."""


def strong_composition(
    noise_multiplier: float, *, sampling_probability: float, steps: int, delta: float, form: str = "kov"
) -> AdvancedComposition:
    """Return the guarantee of Poisson-sampled Gaussian noise by advanced composition, under add_remove.

    Half of `delta` is used for the steps, d = delta / (2 q T) each before amplification, and half for the slack. The
    epsilon of a step is the exact one of its Gaussian at d, so that no calibration formula adds slack.

    Args:
        noise_multiplier: standard deviation / sensitivity, > 0.
        sampling_probability: inclusion probability of each record in each step, in (0, 1].
        steps: number of compositions, >= 1.
        delta: the delta at which the result will be evaluated, by `.epsilon(delta)`; strictly between 0 and 1.
        form: form of the advanced composition, see `AdvancedComposition`; "kov" is the least, "drv10" the classical.

    Raises:
        ParameterError: a value out of range.

    References:
        Dwork, Rothblum, Vadhan (2010), Theorem III.3; Kairouz, Oh, Viswanath (2015), Theorem 3.5; Balle, Barthe,
        Gaboardi (2018), Theorem 8.

    Example:
        >>> claim = strong_composition(4.0, sampling_probability=0.01, steps=10_000, delta=1e-5)
        >>> round(claim.epsilon(1e-5), 2)
        14.34
    """
    step_delta = _delta_of_step(noise_multiplier, sampling_probability, steps, delta)
    epsilon = GaussianDP(1.0 / noise_multiplier).epsilon(step_delta)
    step = subsample(ApproximateDP(epsilon, step_delta), sampling_probability, sampling="poisson")
    assert isinstance(step, ApproximateDP)
    return AdvancedComposition((step.nominal_epsilon,) * steps, (step.nominal_delta,) * steps, form, step.relation)


def printed_strong_composition(
    noise_multiplier: float, *, sampling_probability: float, steps: int, delta: float
) -> float:
    """Return the epsilon published for strong composition next to the moments accountant; not a theorem.

    The epsilon of a step is sqrt(2 log(1.25 / d)) / noise multiplier, which is a theorem only below 1, and its
    amplification is q epsilon, where the theorem gives log(1 + q (e^epsilon - 1)): more than twice as much in the
    setting of the example. Arguments as for `strong_composition`.

    References:
        Abadi et al. (2016), Figure 2 and Section 3.2: 9.34 in the example, 24.22 for 40,000 steps.

    Example:
        >>> round(printed_strong_composition(4.0, sampling_probability=0.01, steps=10_000, delta=1e-5), 2)
        9.35
    """
    step_delta = _delta_of_step(noise_multiplier, sampling_probability, steps, delta)
    per_step = sampling_probability * math.sqrt(2.0 * math.log(1.25 / step_delta)) / noise_multiplier
    return math.sqrt(2.0 * steps * math.log(2.0 / delta)) * per_step + steps * per_step * math.expm1(per_step)


def epsilon_curves(
    noise_multiplier: float, *, sampling_probability: float, steps: Sequence[int], delta: float
) -> dict[str, Floats]:
    """Return epsilon of Poisson-sampled Gaussian noise after each number of steps, by each of `ACCOUNTANTS`.

    Args:
        noise_multiplier, sampling_probability, delta: as for `strong_composition`.
        steps: numbers of steps, each >= 1.

    Returns:
        For each accountant an array with one epsilon per entry of `steps`.

    Example:
        >>> curves = epsilon_curves(4.0, sampling_probability=0.01, steps=[10_000], delta=1e-5)
        >>> {name: round(float(values[0]), 3) for name, values in curves.items()}
        {'strong composition': 14.345, 'moments accountant': 1.259, 'Renyi': 1.035, 'privacy loss': 0.947}
    """
    q, epsilons = sampling_probability, []
    moments = MomentsDP.gaussian(noise_multiplier, sampling_probability=q)
    renyi = RenyiDP.gaussian(noise_multiplier, sampling_probability=q)
    loss = PrivacyLossDP.gaussian(noise_multiplier, sampling_probability=q)
    for count in steps:
        whole(1, steps=count)
        guarantees: tuple[Guarantee, ...] = (
            strong_composition(noise_multiplier, sampling_probability=q, steps=count, delta=delta),
            MomentsDP(moments.orders, _times(count, moments.divergences), moments.relation),
            RenyiDP(renyi.orders, _times(count, renyi.divergences), renyi.relation),
            PrivacyLossDP.from_pld(composed_losses([(loss.pld, count)]), relation=loss.relation),
        )
        epsilons.append([guarantee.epsilon(delta) for guarantee in guarantees])
    return dict(zip(ACCOUNTANTS, np.array(epsilons, dtype=np.float64).reshape(-1, len(ACCOUNTANTS)).T, strict=True))


def _times(count: int, divergences: Sequence[float]) -> tuple[float, ...]:
    return tuple(count * divergence for divergence in divergences)


def projected_sgd_standard_deviation(epsilon: float, delta: float, *, n_records: int, lipschitz: float = 1.0) -> float:
    """Return the noise that strong composition prescribes for n^2 steps of noisy projected SGD, one record per step.

    With T = n^2 steps,

        sigma^2 = (64 n^2 L^2 / epsilon^2) log(2 n / delta) log(2 / delta)

    on gradients multiplied by n, under replace_one. The formula omits the mean of the privacy loss, T/2 times the
    square of a step's epsilon: the proof for its noise gives epsilon + epsilon^2 / (4 log(2 / delta)), see
    `projected_sgd_epsilon`; 2 % more at epsilon 1. The noise is in fact 10 to 20 times larger than necessary up to
    `largest_formula_epsilon`; for larger epsilon the formula is not a theorem, and soon false.

    Args:
        epsilon: target, > 0.
        delta: strictly between 0 and 1.
        n_records: n, >= 1.
        lipschitz: L, the largest norm of a record's gradient, > 0.

    Returns:
        sigma, in units of n times a gradient.

    Raises:
        ParameterError: a value out of range.

    Example:
        >>> sigma = projected_sgd_standard_deviation(1.0, 1e-5, n_records=1000)
        >>> round(sigma, 2), round(projected_sgd_epsilon(sigma, 1e-5, n_records=1000), 4)
        (122194.54, 1.0205)
    """
    positive(epsilon=epsilon, lipschitz=lipschitz)
    open_unit(delta=delta)
    whole(1, n_records=n_records)
    logarithms = math.log(2.0 * n_records / delta) * math.log(2.0 / delta)
    return 8.0 * n_records * lipschitz * math.sqrt(logarithms) / epsilon


def projected_sgd_epsilon(
    standard_deviation: float, delta: float, *, n_records: int, lipschitz: float = 1.0, steps: int | None = None
) -> float:
    """Return the epsilon of noisy projected SGD by strong composition, one record per step, under replace_one.

    A step has sensitivity 2 n L and is (x, d)-DP with x = (2 n L / sigma) sqrt(2 log(1 / d)) and d = n delta / (2 T);
    sampled at rate 1 / n it is (2 x / n, d / n)-DP; T steps give

        (2 x / n) sqrt(2 T log(2 / delta)) + (T / 2) (2 x / n)^2.

    Args:
        standard_deviation: sigma, in units of n times a gradient, > 0.
        delta: strictly between 0 and 1.
        n_records: n, >= 1.
        lipschitz: L, the largest norm of a record's gradient, > 0.
        steps: T, >= 1; None for n^2.

    Raises:
        ParameterError: a value out of range.
        AccountingError: x is above 1.2564, where the amplified epsilon may exceed 2 q x.

    References:
        Bassily, Smith, Thakurta (2014), Theorem 2.1; Bun, Steinke (2016), Lemma 3.5.
    """
    positive(standard_deviation=standard_deviation, lipschitz=lipschitz)
    open_unit(delta=delta)
    whole(1, n_records=n_records)
    count = n_records**2 if steps is None else steps
    whole(1, steps=count)
    step_epsilon, step_delta = projected_sgd_step(
        standard_deviation, delta, n_records=n_records, lipschitz=lipschitz, steps=count
    )
    if step_epsilon > LARGEST_STEP_EPSILON:
        raise AccountingError(
            f"a step is ({step_epsilon:.4g}, {step_delta:.3g})-DP before sampling, and the bound 2 q x on the epsilon "
            f"after sampling holds up to x = {LARGEST_STEP_EPSILON}. Use more noise, or fixed_size_gaussian(...)."
        )
    per_step = 2.0 * step_epsilon / n_records
    return per_step * math.sqrt(2.0 * count * math.log(2.0 / delta)) + 0.5 * count * per_step * per_step


def projected_sgd_step(
    standard_deviation: float, delta: float, *, n_records: int, lipschitz: float, steps: int
) -> tuple[float, float]:
    """Return (x, d) of one step of noisy projected SGD before sampling; arguments as for `projected_sgd_epsilon`."""
    step_delta = min(0.5, 0.5 * n_records * delta / steps)
    return 2.0 * n_records * lipschitz / standard_deviation * math.sqrt(-2.0 * math.log(step_delta)), step_delta


def largest_formula_epsilon(delta: float) -> float:
    """Return the largest epsilon for which the formula of `projected_sgd_standard_deviation` is a theorem.

    With its noise, and n^2 steps, x is epsilon / sqrt(8 log(2 / delta)) for every n; and x must not exceed 1.2564.

    Example:
        >>> round(largest_formula_epsilon(1e-5), 2)
        12.42
    """
    open_unit(delta=delta)
    return LARGEST_STEP_EPSILON * math.sqrt(8.0 * math.log(2.0 / delta))


def _delta_of_step(noise_multiplier: float, sampling_probability: float, steps: int, delta: float) -> float:
    check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
    open_unit(delta=delta)
    return min(0.5, 0.5 * delta / (sampling_probability * steps))
