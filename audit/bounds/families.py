"""One-parameter families of guarantees: the claim, and what it would be with more or less noise.

    GaussianDP          mu                            the rest of what was fixed stays as it was claimed
    LaplaceDP, PureDP   epsilon
    ApproximateDP       epsilon, delta as claimed
    ConcentratedDP      rho
    BoundedRange        eta
    RenyiDP             a factor on every divergence
    PrivacyLossDP       noise, sampling probability and steps as claimed

A family is ordered: a larger parameter is less private, and its trade-off curve lies nowhere above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from weakref import WeakValueDictionary

from ...mechanisms.errors import AccountingError, ParameterError
from ...mechanisms.guarantees import (
    ApproximateDP,
    BoundedRange,
    ConcentratedDP,
    GaussianDP,
    LaplaceDP,
    PrivacyLossDP,
    PureDP,
    RenyiDP,
)
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.guarantees.privacy_loss import NoisySteps

_EXACT, _COARSE = 1e-9, 1e-3
_INTERVAL = 1e-3  # of privacy losses, times ratio^2 where that is > 1: a few thousand losses, 4 digits of epsilon
_KNOWN: WeakValueDictionary[NoisySteps, PrivacyLossDP] = WeakValueDictionary()  # claims, which took long to compute
_LARGEST = 700.0
_FINE_REACH = 1.05  # times the claimed ratio: so far, members are computed as finely as the claim
_STEPS_REACH = 4.0  # times the claimed ratio: with still less noise, privacy losses take too long to compute


@dataclass(frozen=True)
class CurveFamily:
    """Guarantees that differ in one number.

    Args:
        title: for people, such as "GaussianDP for some mu".
        parameter: name of the number.
        claimed: its value in the claim, > 0.
        member: the guarantee at a value of it, > 0.
        search: the same, quicker, and with a curve nowhere above: what a search passes through. To refute it is to
            refute the member. Equal to `member` where that is quick enough.
        precision: relative, to which a search is worth while.
        largest: value at which a search ends; a bound that reaches it is valid, and could be larger.
    """

    title: str
    parameter: str
    claimed: float
    member: Callable[[float], Guarantee]
    search: Callable[[float], Guarantee]
    precision: float = _EXACT
    largest: float = _LARGEST


def family_of(claim: Guarantee) -> CurveFamily:
    """The family that `claim` belongs to.

    Raises:
        AccountingError: the claim belongs to none.

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


def _simple(kind: type[Guarantee], parameter: str, claimed: float, member: Callable[[float], Guarantee]) -> CurveFamily:
    title = f"{kind.__name__} for some {parameter}"
    return CurveFamily(title, parameter, claimed, member, member)


def _gaussian(claim: GaussianDP) -> CurveFamily:
    return _simple(GaussianDP, "mu", claim.mu, GaussianDP)


def _laplace(claim: LaplaceDP) -> CurveFamily:
    return _simple(LaplaceDP, "epsilon", claim.nominal_epsilon, LaplaceDP)


def _pure(claim: PureDP) -> CurveFamily:
    return _simple(PureDP, "epsilon", claim.nominal_epsilon, PureDP)


def _approximate(claim: ApproximateDP) -> CurveFamily:
    delta = claim.nominal_delta

    def member(epsilon: float) -> Guarantee:
        return ApproximateDP(epsilon, delta)

    family = _simple(ApproximateDP, "epsilon", claim.nominal_epsilon, member)
    return replace(family, title=f"{family.title} and delta = {delta!r}")


def _concentrated(claim: ConcentratedDP) -> CurveFamily:
    return _simple(ConcentratedDP, "rho", claim.rho, ConcentratedDP)


def _bounded_range(claim: BoundedRange) -> CurveFamily:
    return _simple(BoundedRange, "eta", claim.eta, BoundedRange)


def _renyi(claim: RenyiDP) -> CurveFamily:
    def member(factor: float) -> Guarantee:
        return RenyiDP(claim.orders, tuple(factor * divergence for divergence in claim.divergences))

    family = _simple(RenyiDP, "factor", 1.0, member)
    return replace(family, title=f"the divergences of {claim!r} times some factor")


def _privacy_loss(claim: PrivacyLossDP) -> CurveFamily:
    steps = claim.recipe
    if steps is None:
        raise AccountingError(
            f"{claim} was made from a privacy-loss distribution, and nothing is known of its family. Make it with "
            "PrivacyLossDP.gaussian(...) or PrivacyLossDP.laplace(...), or take bound='simultaneous-band'."
        )
    parameter = "1 / noise_multiplier" if steps.noise == "gaussian" else "epsilon"
    fixed = f"sampling_probability = {steps.sampling_probability!r}, steps = {steps.steps}"

    _KNOWN[steps] = claim

    def search(ratio: float) -> Guarantee:
        interval = max(steps.interval, _INTERVAL * max(1.0, ratio * ratio))
        return _computed(replace(steps, ratio=ratio, interval=interval))

    def member(ratio: float) -> Guarantee:
        if ratio > _FINE_REACH * steps.ratio:
            return search(ratio)
        known = _KNOWN.get(steps) if ratio == steps.ratio else None
        return known or _computed(replace(steps, ratio=ratio))

    title = f"PrivacyLossDP of {steps.noise} noise for some {parameter}, {fixed}"
    return CurveFamily(
        title, parameter, steps.ratio, member, search, precision=_COARSE, largest=_STEPS_REACH * steps.ratio
    )


@lru_cache(maxsize=64)
def _computed(steps: NoisySteps) -> PrivacyLossDP:
    return steps.guarantee()


_FAMILIES: dict[type[Guarantee], Callable[..., CurveFamily]] = {
    GaussianDP: _gaussian,
    LaplaceDP: _laplace,
    PureDP: _pure,
    ApproximateDP: _approximate,
    ConcentratedDP: _concentrated,
    BoundedRange: _bounded_range,
    RenyiDP: _renyi,
    PrivacyLossDP: _privacy_loss,
}


def least_member(family: CurveFamily, spared: Callable[[Guarantee], bool], *, start: float) -> float:
    """Largest parameter, to the precision of the family, up to which every member is refuted; 0 where none is.

    Args:
        family: ordered.
        spared: whether a member is not refuted; once true, true for all larger parameters.
        start: where to begin, > 0.

    Returns:
        A value that is refuted: the safe end of the last bracket, found by doubling and bisection of the logarithm.
    """
    low, high, step = 0.0, math.inf, 1.3
    at = min(max(start, 1e-6), family.largest)
    while low == 0.0 or high == math.inf:
        if spared(family.search(at)):
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
    while high > low * (1.0 + family.precision):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spared(family.search(middle)) else (middle, high)
    return low


def member_below(family: CurveFamily, epsilon: float, delta: float) -> Guarantee | None:
    """The last member, to the precision of the family, whose epsilon at delta is at most `epsilon`; None if none is."""
    if family.member(family.claimed).epsilon(delta) == epsilon:
        return family.member(family.claimed)
    theta = least_member(family, lambda member: float(member.epsilon(delta)) > epsilon, start=family.claimed)
    return family.member(theta) if theta > 0.0 else None


def checked_family(given: object) -> None:
    """Raises `ParameterError` for what is neither a family nor None."""
    if given is not None and not isinstance(given, CurveFamily):
        raise ParameterError(
            f"curve_family must be a CurveFamily, as family_of(claim) gives it, or None for that of the claim, but is "
            f"{given!r}.",
            argument="curve_family",
        )


def family_for(claim: Guarantee, given: CurveFamily | None) -> CurveFamily:
    """The family in which `claim` may be judged: its own, in which it is a member.

    Raises:
        ParameterError: another one was given. A true claim may well lie below the epsilon that a family gives to which
            it does not belong.
        AccountingError: the claim belongs to none.
    """
    checked_family(given)
    if given is not None and given.member(given.claimed) == claim:
        return given
    own = family_of(claim)
    if given is not None and given.title != own.title:
        raise ParameterError(
            f"curve_family is {given.title!r}, but the claim {claim} is of {own.title!r}: read under another family, a "
            "true claim would be called a violation. Leave out curve_family, or claim a member of it.",
            argument="curve_family",
        )
    return own


def epsilon_of(family: CurveFamily, parameter: float, delta: float) -> float:
    """Epsilon of a member at delta; 0 for the parameter 0, and less where that is beyond what the accountant computes.

    Privacy-loss distributions are rounded to the pessimistic side, and so is the epsilon that is read from them: by
    less than 0.1 % where they are computed as finely as the claim, by up to about 1 % further above the claim. What
    was refuted then is the rounded curve itself, which lies below the member's: the two errors cancel to first order.

    Raises:
        ParameterError: infinite at this delta, whatever the parameter.
    """
    if parameter == 0.0:
        return 0.0
    found = float(family.member(parameter).epsilon(delta))
    while math.isinf(found) and parameter > family.claimed:
        parameter = max(family.claimed, 0.9 * parameter)
        found = float(family.member(parameter).epsilon(delta))
    if math.isinf(found):
        raise ParameterError(
            f"delta = {delta:g} is too small: no member of {family.title} has a finite epsilon there. Try delta=1e-5.",
            argument="delta",
        )
    return found


__all__ = ["CurveFamily", "checked_family", "epsilon_of", "family_for", "family_of", "least_member", "member_below"]
