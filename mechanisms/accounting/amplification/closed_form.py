"""Amplification by shuffling: closed-form bounds and their two asymptotic regimes."""

from __future__ import annotations

import math

from ...core import AccountingError, one_of, open_unit, positive, whole

FORMS = ("theorem", "simplified", "released")


def shuffled_epsilon(local_epsilon: float, n_users: int, delta: float, *, form: str = "theorem") -> float:
    """Return epsilon at delta for n users whose epsilon_0-private messages are shuffled.

    With a = e^epsilon_0 ln(4/delta) / n and u = 8 sqrt(a) + 8 e^epsilon_0 / n:

        theorem      ln(1 + u (e^epsilon_0 - 1) / (e^epsilon_0 + 1))               Theorem 3.1
        simplified   ln(1 + 16 sqrt(a) (e^epsilon_0 - 1) / (e^epsilon_0 + 1))      larger, and simpler
        released     ln(1 + u (1 - e^-epsilon_0) / (1 + e^-epsilon_0 / (1 + u)))   formula of the authors' program

    All three hold under the assumptions of `ClonesDP`, whose epsilon is several times smaller.

    Args:
        local_epsilon: epsilon_0 > 0.
        n_users: n >= 1.
        delta: strictly between 0 and 1.
        form: "theorem", "simplified" or "released".

    Raises:
        ParameterError: a value out of range.
        AccountingError: epsilon_0 is above `largest_local_epsilon`, so that no theorem gives an amplification.

    References:
        Feldman, McMillan, Talwar (2021), "Hiding among the clones", Theorem 3.1, and the program that they released.

    Example:
        >>> [round(shuffled_epsilon(4.0, 100_000, 1e-6, form=form), 5) for form in FORMS]
        [0.53463, 0.87764, 0.5378]
    """
    positive(local_epsilon=local_epsilon)
    one_of(FORMS, form=form)
    largest = largest_local_epsilon(n_users, delta, form=form)
    if local_epsilon > largest:
        raise AccountingError(
            f"local_epsilon is {local_epsilon:g}, but for n_users = {n_users} and delta = {delta:g} the formula holds "
            f"up to ln(n / (16 ln({_inside(form):g} / delta))) = {largest:.4g}. Take more users, a smaller local "
            "epsilon, or ClonesDP, which holds everywhere.",
            argument="local_epsilon",
        )
    root = math.sqrt(math.exp(local_epsilon) * math.log(4.0 / delta) / n_users)
    u = 8.0 * root + 8.0 * math.exp(local_epsilon) / n_users
    if form == "released":
        return math.log1p(-u * math.expm1(-local_epsilon) / (1.0 + math.exp(-local_epsilon) / (1.0 + u)))
    return math.log1p(math.tanh(0.5 * local_epsilon) * (u if form == "theorem" else 16.0 * root))


def largest_local_epsilon(n_users: int, delta: float, *, form: str = "theorem") -> float:
    """Return ln(n / (16 ln(2/delta))), up to which the formulas hold; the released program has ln(4/delta) instead.

    Negative with fewer than 16 ln(2/delta) users, so that the formulas hold for no local epsilon.

    Example:
        >>> round(largest_local_epsilon(10_000, 1e-6), 3)
        3.763
    """
    whole(1, n_users=n_users)
    open_unit(delta=delta)
    one_of(FORMS, form=form)
    return math.log(n_users / (16.0 * math.log(_inside(form) / delta)))


def _inside(form: str) -> float:
    return 4.0 if form == "released" else 2.0


def small_epsilon_regime(local_epsilon: float, n_users: int, delta: float) -> float:
    """Return 8 epsilon_0 sqrt(ln(4/delta) / n), the limit of "simplified" for epsilon_0 far below 1.

    Shuffling gains a factor of sqrt(n). An approximation for comparisons, not a guarantee.

    Example:
        >>> round(small_epsilon_regime(0.5, 10_000, 1e-6), 5), round(shuffled_epsilon(0.5, 10_000, 1e-6), 5)
        (0.15596, 0.09387)
    """
    _checked(local_epsilon, n_users, delta)
    return 8.0 * local_epsilon * math.sqrt(math.log(4.0 / delta) / n_users)


def large_epsilon_regime(local_epsilon: float, n_users: int, delta: float) -> float:
    """Return 16 e^(epsilon_0 / 2) sqrt(ln(4/delta) / n), the limit of "simplified" for large epsilon_0 and many users.

    An approximation for comparisons, not a guarantee.

    Example:
        >>> round(large_epsilon_regime(4.0, 10**9, 1e-6), 5), round(shuffled_epsilon(4.0, 10**9, 1e-6), 5)
        (0.01458, 0.007)
    """
    _checked(local_epsilon, n_users, delta)
    return 16.0 * math.exp(0.5 * local_epsilon) * math.sqrt(math.log(4.0 / delta) / n_users)


def _checked(local_epsilon: float, n_users: int, delta: float) -> None:
    positive(local_epsilon=local_epsilon)
    whole(1, n_users=n_users)
    open_unit(delta=delta)
