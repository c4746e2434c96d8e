"""One-parameter families of guarantees: the claim, and the same guarantee with more or less noise.

    GaussianDP          mu                            everything except the parameter stays as claimed
    LaplaceDP, PureDP   epsilon
    ApproximateDP       epsilon, delta as claimed
    ConcentratedDP      rho
    BoundedRange        eta
    RenyiDP             a common factor of all divergences
    PrivacyLossDP       noise, sampling probability and steps as claimed

A family is ordered: a larger parameter is less private, and its trade-off curve lies nowhere above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from ...mechanisms.accounting import (
    ApproximateDP,
    BoundedRange,
    ConcentratedDP,
    GaussianDP,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
)
from ...mechanisms.accounting.kinds.privacy_loss import NoisySteps
from ...mechanisms.core import AccountingError, Guarantee, ParameterError, bisect, geometric

_EXACT, _COARSE = 1e-9, 1e-3
_INTERVAL = 1e-3  # grid interval of privacy losses, times max(1, ratio^2): 4 digits of epsilon
_KNOWN: WeakValueDictionary[NoisySteps, PrivacyLossDP] = WeakValueDictionary()  # claims computed so far: slow
_MAX_EPSILON = 700.0
_MAX_FINE_RATIO = 1.05  # times the claimed ratio: up to this value, members are computed as finely as the claim
_MAX_STEPS_RATIO = 4.0  # times the claimed ratio: with less noise than this, privacy losses take too long to compute


@dataclass(frozen=True)
class CurveFamily:
    """An ordered family of guarantees with one parameter.

    Args:
        title: display name, such as "GaussianDP for some mu".
        parameter: name of the parameter.
        claimed: value of the parameter in the claim, > 0.
        member: function from a value of the parameter, > 0, to the guarantee.
        search: function like `member`, but faster and with curves nowhere above those of `member`; used by searches.
            Refuting its result refutes the member. Equal to `member` if that is fast enough.
        precision: relative precision of a search.
        largest: value at which a search ends; a bound that reaches this value is valid but may not be the largest.
    """

    title: str
    parameter: str
    claimed: float
    member: Callable[[float], Guarantee]
    search: Callable[[float], Guarantee]
    precision: float = _EXACT
    largest: float = _MAX_EPSILON


def family_of(claim: Guarantee) -> CurveFamily:
    """Return the family that `claim` belongs to.

    Raises:
        AccountingError: the claim belongs to no family.

    Example:
        >>> family = family_of(GaussianDP(2.0))
        >>> family.title, family.claimed, family.member(1.0)
        ('GaussianDP for some mu', 2.0, GaussianDP(mu=1.0))
    """
    make = _FAMILIES.get(type(claim))
    if make is None:
        known = ", ".join(kind.__name__ for kind in _FAMILIES)
        raise AccountingError(
            f"{claim} belongs to no family of curves with one parameter. Take bound='simultaneous-band', which "
            f"compares any claim as a whole, or state the claim as one of {known}."
        )
    return make(claim)


def _by_parameter(kind: Callable[[float], Guarantee], parameter: str, field: str) -> Callable[[Any], CurveFamily]:
    """Return the function from a claim of this kind, with one number, to its family."""
    title = f"{kind.__name__} for some {parameter}"
    return lambda claim: CurveFamily(title, parameter, getattr(claim, field), kind, kind)


def _approximate(claim: ApproximateDP) -> CurveFamily:
    delta = claim.nominal_delta

    def member(epsilon: float) -> Guarantee:
        return ApproximateDP(epsilon, delta)

    title = f"ApproximateDP for some epsilon and delta = {delta!r}"
    return CurveFamily(title, "epsilon", claim.nominal_epsilon, member, member)


def _renyi(claim: RenyiDP) -> CurveFamily:
    def member(factor: float) -> Guarantee:
        return RenyiDP(claim.orders, tuple(factor * divergence for divergence in claim.divergences))

    return CurveFamily(f"the divergences of {claim!r} times some factor", "factor", 1.0, member, member)


def _privacy_loss(claim: PrivacyLossDP) -> CurveFamily:
    steps = claim.recipe
    if steps is None:
        raise AccountingError(
            f"{claim} was made from a privacy-loss distribution, so its family is unknown. Make it with "
            "PrivacyLossDP.gaussian(...) or PrivacyLossDP.laplace(...), or take bound='simultaneous-band'."
        )
    parameter = "1 / noise_multiplier" if steps.noise == "gaussian" else "epsilon"
    fixed = f"sampling_probability = {steps.sampling_probability!r}, steps = {steps.steps}"

    _KNOWN[steps] = claim

    def search(ratio: float) -> Guarantee:
        interval = max(steps.interval, _INTERVAL * max(1.0, ratio * ratio))
        return _computed(replace(steps, ratio=ratio, interval=interval))

    def member(ratio: float) -> Guarantee:
        if ratio > _MAX_FINE_RATIO * steps.ratio:
            return search(ratio)
        known = _KNOWN.get(steps) if ratio == steps.ratio else None
        return known or _computed(replace(steps, ratio=ratio))

    title = f"PrivacyLossDP of {steps.noise} noise for some {parameter}, {fixed}"
    return CurveFamily(
        title, parameter, steps.ratio, member, search, precision=_COARSE, largest=_MAX_STEPS_RATIO * steps.ratio
    )


@lru_cache(maxsize=64)
def _computed(steps: NoisySteps) -> PrivacyLossDP:
    return steps.guarantee()


_FAMILIES: dict[type[Guarantee], Callable[..., CurveFamily]] = {
    GaussianDP: _by_parameter(GaussianDP, "mu", "mu"),
    LaplaceDP: _by_parameter(LaplaceDP, "epsilon", "nominal_epsilon"),
    PureDP: _by_parameter(PureDP, "epsilon", "nominal_epsilon"),
    ApproximateDP: _approximate,
    ConcentratedDP: _by_parameter(ConcentratedDP, "rho", "rho"),
    BoundedRange: _by_parameter(BoundedRange, "eta", "eta"),
    RenyiDP: _renyi,
    PrivacyLossDP: _privacy_loss,
}


def least_member(family: CurveFamily, not_refuted: Callable[[Guarantee], bool], *, start: float) -> float:
    """Return the largest parameter, to the precision of the family, up to which every member is refuted.

    Args:
        family: an ordered family.
        not_refuted: returns True if a member is not refuted; once true, true for all larger parameters.
        start: first value of the search, > 0.

    Returns:
        A refuted value, the lower end of the last bracket of a bisection on the logarithm; 0 if no member is refuted.
    """
    low, high, step = 0.0, math.inf, 1.3
    at = min(max(start, 1e-6), family.largest)
    while low == 0.0 or high == math.inf:
        if not_refuted(family.search(at)):
            high = at
            if at <= 1e-6:
                return 0.0
            at = max(at / step, 1e-6)
        else:
            low = at
            if at >= family.largest:
                return at
            at = min(at * step, family.largest)
        step = min(step * step, 1e3)

    def close(low: float, high: float) -> bool:
        return high <= low * (1.0 + family.precision)

    return bisect(lambda value: not_refuted(family.search(value)), low, high, middle=geometric, close=close)[0]


def member_below(family: CurveFamily, epsilon: float, delta: float) -> Guarantee | None:
    """Return the largest member, to the precision of the family, with an epsilon of at most `epsilon` at delta.

    Returns None if every member has a larger epsilon.
    """
    if family.member(family.claimed).epsilon(delta) == epsilon:
        return family.member(family.claimed)
    theta = least_member(family, lambda member: float(member.epsilon(delta)) > epsilon, start=family.claimed)
    return family.member(theta) if theta > 0.0 else None


def checked_family(family: object) -> None:
    """Raise `ParameterError` unless the argument is a family or None."""
    if family is not None and not isinstance(family, CurveFamily):
        raise ParameterError(
            f"curve_family must be a CurveFamily, such as family_of(claim), or None for the family of the claim, but "
            f"is {family!r}.",
            argument="curve_family",
        )


def family_for(claim: Guarantee, requested: CurveFamily | None) -> CurveFamily:
    """Return the family that `claim` may be tested in, of which it must be a member.

    Raises:
        ParameterError: `requested` is another family, under which a bound may exceed the epsilon of a true claim.
        AccountingError: the claim belongs to no family.
    """
    checked_family(requested)
    if requested is not None and requested.member(requested.claimed) == claim:
        return requested
    own = family_of(claim)
    if requested is not None and requested.title != own.title:
        raise ParameterError(
            f"curve_family is {requested.title!r}, but the claim {claim} belongs to {own.title!r}: under another "
            "family, a true claim could be reported as a violation. Leave out curve_family, or claim a member of it.",
            argument="curve_family",
        )
    return own


def epsilon_of(family: CurveFamily, parameter: float, delta: float) -> float:
    """Return the epsilon of a member at delta, or of a smaller member if the accountant cannot compute a finite one.

    The epsilon of the parameter 0 is 0. Privacy-loss distributions are rounded to the pessimistic side, and so is
    their epsilon: by less than 0.1 % where they are computed as finely as the claim, by up to about 1 % for larger
    parameters. The refuted curve is then the rounded one, which lies below the member's: the two errors cancel to
    first order.

    Raises:
        ParameterError: epsilon is infinite at this delta for every parameter.
    """
    if parameter == 0.0:
        return 0.0
    epsilon = float(family.member(parameter).epsilon(delta))
    while math.isinf(epsilon) and parameter > family.claimed:
        parameter = max(family.claimed, 0.9 * parameter)
        epsilon = float(family.member(parameter).epsilon(delta))
    if math.isinf(epsilon):
        raise ParameterError(
            f"delta = {delta:g} is too small: no member of {family.title} has a finite epsilon there. Try delta=1e-5.",
            argument="delta",
        )
    return epsilon
