"""Composition: the guarantee of several releases on the same data.

    tightest       the exact theorem of the family if there is one, else the best of all theorems that apply
    basic          parameters add: epsilons and deltas; rho; mu^2; divergences order by order
    advanced       epsilons add like standard deviations, at the cost of a larger delta
    optimal        the best bound for equal epsilons and deltas
    renyi          all guarantees are converted to Renyi divergences, which add
    privacy-loss   all guarantees are converted to privacy-loss distributions, which convolve, exactly up to the grid

All of them hold if the mechanisms are chosen adaptively, one after the other, as long as the guarantees are fixed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias

import numpy as np

from ...core import AccountingError, Floats, Guarantee, ParameterError, Relation, RelationError, one_of
from ..conversion.convert import nominal, to_privacy_loss, to_renyi
from ..kinds.approximate import ApproximateDP, PureDP
from ..kinds.bounded_range import BoundedRange
from ..kinds.concentrated import ConcentratedDP
from ..kinds.gaussian import GaussianDP
from ..kinds.privacy_loss import PrivacyLossDP, composed_reach, fitting_interval
from ..kinds.profile import ProfileGuarantee
from ..kinds.renyi import RenyiDP
from ..numerics.composed_losses import composed_losses
from .advanced import AdvancedComposition
from .optimal import BoundedRangeComposition, OptimalComposition

Parts: TypeAlias = Sequence[Guarantee]

ACCOUNTING = ("tightest", "basic", "advanced", "optimal", "renyi", "privacy-loss")
"""The values of `accounting`."""
_MAX_DISTRIBUTIONS = 100
"""Most different guarantees of which "tightest" convolves the privacy-loss distributions: a few seconds."""


def compose(
    guarantees: Iterable[Guarantee],
    *,
    accounting: str = "tightest",
    form: str | None = None,
    orders: Sequence[float] | None = None,
    interval: float | None = None,
    fixed_sides: bool = False,
) -> Guarantee:
    """Return the guarantee of running all the mechanisms on the same data and releasing all the outputs.

    Args:
        guarantees: at least one; a single guarantee is returned unchanged.
        accounting: one of

            accounting      accepts                                            returns
            "tightest"      all that one of the others accepts                  see below
            "basic"         (epsilon, delta) kinds, or only Gaussian, or only   PureDP or ApproximateDP; GaussianDP;
                            concentrated, or only Renyi                         ConcentratedDP; RenyiDP
            "advanced"      (epsilon, delta) kinds                              AdvancedComposition
            "optimal"       (epsilon, delta) kinds, all of them equal           OptimalComposition; for bounded range
                                                                                BoundedRangeComposition
            "renyi"         all except approximate and privacy-loss             RenyiDP
            "privacy-loss"  all except concentrated and Renyi                   PrivacyLossDP

            where the (epsilon, delta) kinds are pure, Laplace and approximate DP, bounded range, and pairs of finite
            distributions with a finite epsilon at delta 0. "tightest" is "basic" for only Gaussian, only concentrated
            and only Renyi guarantees, "optimal" for equal pure, approximate or bounded-range guarantees, and otherwise
            a `TightestComposition`: at each delta the smallest of the epsilons of all other theorems that apply. Its
            text names them. If only one applies, its result is returned.
        form: for "advanced" only: "concentrated" (None), "drv10" or "kov", see `AdvancedComposition`.
        orders: for "renyi" only: finite Renyi orders; None uses `renyi.ORDERS`, or the orders of the Renyi guarantees.
        interval: for "privacy-loss" only: grid interval of the losses; None uses the interval of the privacy-loss
            guarantees, else 1e-4.
        fixed_sides: for "privacy-loss" only: True treats the two laws of each `ExactDP` as the laws of one known pair
            of datasets, side 0 and side 1, and returns the curve of that pair. A guarantee does not fix the sides, so
            that False also covers mechanisms whose laws on the two sides are swapped.

    Returns:
        A guarantee with the relation shared by all parts; a part without a relation adopts it.

    Raises:
        ParameterError: no guarantee, an unknown accounting or form, an option of another accounting.
        RelationError: two parts hold for different relations.
        AccountingError: no implemented theorem composes these kinds in this way, or the deltas add up to 1 or more.

    Guarantees:
        * Every result is an upper bound for every composition of mechanisms with these guarantees (with `fixed_sides`:
          for the pair of datasets with these laws).
        * "basic" is exact for Gaussian guarantees; "optimal" cannot be improved.
        * "tightest" is never above any of the others, except "optimal" for bounded range by its chords, and "advanced"
          and "optimal" by the grid of the privacy losses.

    References:
        Dwork, Kenthapadi, McSherry, Mironov, Naor (2006) (basic); Dwork, Rothblum, Vadhan (2010) (advanced);
        Kairouz, Oh, Viswanath (2015) (optimal); Bun, Steinke (2016), Lemma 1.7 (rho); Mironov (2017), Proposition 1
        (Renyi); Dong, Roth, Su (2019), Corollary 3.3 (mu); Sommer, Meiser, Mohammadi (2019) (privacy loss).

    Example:
        >>> print(compose([PureDP(0.1)] * 10))
        OptimalComposition(epsilon=0.1, delta=0, count=10)
        >>> both = compose([PureDP(1.0), GaussianDP(1.0)])
        >>> print(both, round(both.epsilon(1e-6), 3))
        TightestComposition(parts=1 x PureDP(epsilon=1), 1 x GaussianDP(mu=1), theorems=privacy-loss, renyi) 5.82
        >>> for name in ("basic", "advanced", "optimal", "renyi", "privacy-loss"):
        ...     print(name, round(compose([PureDP(0.1)] * 100, accounting=name).epsilon(1e-6), 3))
        basic 10.0
        advanced 5.757
        optimal 4.775
        renyi 5.073
        privacy-loss 4.775
    """
    one_of(ACCOUNTING, accounting=accounting)
    _check_options(accounting, form=form, orders=orders, interval=interval, fixed_sides=fixed_sides or None)
    parts = list(guarantees)
    if not parts:
        raise ParameterError(
            "guarantees must hold at least one guarantee to compose, but is empty.", argument="guarantees"
        )
    relation = common_relation(parts)
    if len(parts) == 1:
        return parts[0]
    if accounting == "tightest":
        return _tightest(parts, relation)
    if accounting == "basic":
        return _basic(parts, relation)
    if accounting == "advanced":
        return _advanced(parts, form or "concentrated", relation)
    if accounting == "optimal":
        return _optimal(parts, relation)
    if accounting == "renyi":
        return _renyi(parts, orders, relation)
    return _privacy_loss(parts, interval, relation, fixed_sides=fixed_sides)


def common_relation(guarantees: Iterable[Guarantee]) -> Relation | None:
    """Return the relation of all guarantees; None adopts the others'. Raises `RelationError` if two differ."""
    by_relation = {g.relation: g for g in guarantees if g.relation is not None}
    if len(by_relation) > 1:
        listed = ", ".join(f"{g} of {relation.value!r}" for relation, g in by_relation.items())
        raise RelationError(
            f"guarantees under different relations cannot be composed: {listed}. Restate them under one relation.",
            argument="guarantees",
        )
    return next(iter(by_relation), None)


def _check_options(accounting: str, **options: object) -> None:
    """Check that no option of another accounting is set."""
    owners = {"form": "advanced", "orders": "renyi", "interval": "privacy-loss", "fixed_sides": "privacy-loss"}
    for name, value in options.items():
        if value is not None and owners[name] != accounting:
            raise ParameterError(
                f"{name} belongs to accounting={owners[name]!r}, but accounting is {accounting!r}. "
                f"Leave {name} out or change the accounting.",
                argument=name,
            )


# --- tightest -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class TightestComposition(ProfileGuarantee):
    """The composition of several guarantees by all theorems that apply: at each delta the smallest epsilon.

    Args:
        parts: the guarantees, at least two.
        relation: the neighbouring relation of all of them; None adopts the relation of the pair.

    Raises:
        AccountingError: no implemented theorem composes these kinds.

    Guarantees:
        * An upper bound (`exact` is False): each theorem is one, whatever the parts are.
    """

    parts: tuple[Guarantee, ...]
    relation: Relation | None = None
    exact = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(nominal(part) is None for part in self.parts):
            _ = self.theorems

    @property
    def default_delta(self) -> float | None:
        """Delta of basic composition, None if a part is a whole curve."""
        if any(nominal(part) is None for part in self.parts):
            return None
        return _basic(self.parts, self.relation).default_delta

    @cached_property
    def theorems(self) -> dict[str, Guarantee]:
        """Results of all theorems that apply, by the name of the accounting."""
        few = len(set(self.parts)) <= _MAX_DISTRIBUTIONS
        results = {}
        for name in ("privacy-loss", "renyi", "basic") if few else ("renyi", "advanced", "basic"):
            try:
                with np.errstate(over="ignore"):
                    results[name] = _THEOREMS[name](self.parts, self.relation)
            except (AccountingError, OverflowError):  # losses up to 1e154 and more overflow the grid
                continue
        if not results:
            kinds = ", ".join(sorted({type(part).__name__ for part in self.parts}))
            raise AccountingError(
                f"no implemented theorem composes these kinds together: {kinds}. Compose guarantees of one family, "
                "or guarantees that all have privacy-loss distributions (not ConcentratedDP or RenyiDP), or all have "
                "Renyi divergences (not ApproximateDP or PrivacyLossDP)."
            )
        return results

    def theorem(self, delta: float) -> str:
        """Return the name of the accounting that gives the epsilon at this delta."""
        return min(self.theorems, key=lambda name: self.theorems[name].epsilon(delta))

    def _parameters(self) -> Mapping[str, str]:
        return {"parts": _listed(Counter(self.parts)), "theorems": ", ".join(self.theorems)}

    def _delta(self, epsilon: Floats) -> Floats:
        return reduce(np.minimum, [np.asarray(curve.delta(epsilon)) for curve in self.theorems.values()])

    def _epsilon(self, delta: Floats) -> Floats:
        return reduce(np.minimum, [np.asarray(curve.epsilon(delta)) for curve in self.theorems.values()])

    def _tradeoff(self, fpr: Floats) -> Floats:
        return reduce(np.maximum, [np.asarray(curve.tradeoff(fpr)) for curve in self.theorems.values()])


def _tightest(parts: Parts, relation: Relation | None) -> Guarantee:
    if any(all(isinstance(part, kind) for part in parts) for kind in _FAMILIES):
        return _basic(parts, relation)
    equal = len({nominal(part) for part in parts}) == 1
    if equal and any(all(isinstance(part, kind) for part in parts) for kind in (PureDP, ApproximateDP, BoundedRange)):
        return _optimal(parts, relation)
    total = TightestComposition(tuple(parts), relation)
    if any(nominal(part) is None for part in parts) and len(total.theorems) == 1:
        return next(iter(total.theorems.values()))
    return total


# --- basic --------------------------------------------------------------------------------------------------------


def _basic(parts: Parts, relation: Relation | None) -> Guarantee:
    if all(nominal(part) is not None for part in parts):
        return _add_epsilons(parts, relation)
    for kind, add in _FAMILIES.items():
        if all(isinstance(part, kind) for part in parts):
            return add(parts, relation)
    names = ", ".join(sorted({type(part).__name__ for part in parts}))
    raise AccountingError(
        f"accounting='basic' adds guarantees of one family, but these are {names}. Use accounting='renyi' (not for "
        "ApproximateDP or PrivacyLossDP) or 'privacy-loss' (not for ConcentratedDP or RenyiDP)."
    )


def _add_epsilons(parts: Parts, relation: Relation | None) -> Guarantee:
    epsilons, deltas = zip(*_epsilons_and_deltas(parts, "basic"), strict=True)
    if not any(deltas):
        return PureDP(math.fsum(epsilons), relation)
    _check_sum(deltas)
    return ApproximateDP(math.fsum(epsilons), math.fsum(deltas), relation)


def _add_gaussian(parts: Parts, relation: Relation | None) -> Guarantee:
    mu = math.hypot(*(part.mu for part in parts if isinstance(part, GaussianDP)))
    return GaussianDP(mu, relation, exact=all(part.exact for part in parts))


def _add_rho(parts: Parts, relation: Relation | None) -> Guarantee:
    return ConcentratedDP(math.fsum(part.rho for part in parts if isinstance(part, ConcentratedDP)), relation)


def _add_divergences(parts: Parts, relation: Relation | None) -> Guarantee:
    """Add the divergences order by order, over the orders that all parts list."""
    tables = [dict(zip(p.orders, p.divergences, strict=True)) for p in parts if isinstance(p, RenyiDP)]
    shared = sorted(set.intersection(*(set(table) for table in tables)))
    if not shared:
        raise AccountingError("these Renyi guarantees share no order. State them at the same orders.")
    return RenyiDP(tuple(shared), tuple(math.fsum(table[order] for table in tables) for order in shared), relation)


_FAMILIES: dict[type[Guarantee], Callable[[Parts, Relation | None], Guarantee]] = {
    GaussianDP: _add_gaussian,
    ConcentratedDP: _add_rho,
    RenyiDP: _add_divergences,
}


# --- the others ---------------------------------------------------------------------------------------------------


def _advanced(parts: Parts, form: str, relation: Relation | None) -> Guarantee:
    epsilons, deltas = zip(*_epsilons_and_deltas(parts, "advanced"), strict=True)
    _check_sum(deltas)
    return AdvancedComposition(epsilons, deltas, form, relation)


def _optimal(parts: Parts, relation: Relation | None) -> Guarantee:
    pairs = _epsilons_and_deltas(parts, "optimal")
    if len(set(pairs)) > 1:
        raise AccountingError(
            "accounting='optimal' composes equal guarantees, but these differ (the general case is #P-hard: Murtagh, "
            "Vadhan 2016). Use accounting='privacy-loss', which is as good up to its grid."
        )
    if all(isinstance(part, BoundedRange) for part in parts):
        return BoundedRangeComposition(pairs[0][0], count=len(parts), relation=relation)
    (epsilon, delta), exact = pairs[0], all(part.exact and isinstance(part, (PureDP, ApproximateDP)) for part in parts)
    return OptimalComposition(epsilon, delta, count=len(parts), relation=relation, exact=exact)


def _renyi(parts: Parts, orders: Sequence[float] | None, relation: Relation | None) -> Guarantee:
    """Compose by Renyi divergences; equal parts are converted once."""
    if orders is None:
        listed = [set(part.orders) for part in parts if isinstance(part, RenyiDP)]
        orders = sorted(set.intersection(*listed) - {math.inf}) if listed else None
        if orders == []:
            raise AccountingError("these Renyi guarantees share no finite order. State them at the same orders.")
    converted = {part: to_renyi(part, orders=orders) for part in set(parts)}
    return _add_divergences([converted[part] for part in parts], relation)


def _privacy_loss(parts: Parts, interval: float | None, relation: Relation | None, *, fixed_sides: bool) -> Guarantee:
    """Compose by privacy-loss distributions; all parts are convolved at once."""
    if interval is None:
        interval = next((part.interval for part in parts if isinstance(part, PrivacyLossDP)), None)
    losses, counts = [], Counter(parts)
    if interval is None:
        interval = fitting_interval(sum(composed_reach(_largest_loss(part), count) for part, count in counts.items()))
    for part, count in counts.items():
        pld = to_privacy_loss(_adopting(part, relation), interval=interval, fixed_sides=fixed_sides).pld
        losses.append((pld, count))
    return PrivacyLossDP.from_pld(composed_losses(losses), relation=relation, description=_listed(counts))


def _listed(counts: Counter[Guarantee]) -> str:
    return ", ".join(f"{count} x {part}" for part, count in counts.items())


def _largest_loss(part: Guarantee) -> float:
    """Return the largest finite epsilon at a few deltas, 1e-15 if possible: the losses above it are negligible."""
    epsilons = np.asarray(part.epsilon([1e-15, 1e-9, 1e-4, 1e-2, 0.1, 0.5]))
    return float(epsilons[np.isfinite(epsilons)].max(initial=0.0))


def _adopting(part: Guarantee, relation: Relation | None) -> Guarantee:
    """Return the part, stated under the relation of the others if it has no relation."""
    if isinstance(part, ProfileGuarantee) and part.relation is None and relation is not None:
        return part.under(relation)
    return part


def _epsilons_and_deltas(parts: Parts, accounting: str) -> list[tuple[float, float]]:
    pairs = [nominal(part) for part in parts]
    for part, pair in zip(parts, pairs, strict=True):
        if pair is None:
            raise AccountingError(
                f"accounting={accounting!r} composes (epsilon, delta) guarantees, but {part} is a whole curve. Use "
                "accounting='renyi' or 'privacy-loss', or to_approximate(guarantee, delta=...) first."
            )
    return [pair for pair in pairs if pair is not None]


def _check_sum(deltas: Iterable[float]) -> None:
    total = math.fsum(deltas)
    if total >= 1.0:
        raise AccountingError(f"the deltas add up to {total:g}, and a delta of 1 or more guarantees nothing.")


_THEOREMS: dict[str, Callable[[Parts, Relation | None], Guarantee]] = {
    "privacy-loss": lambda parts, relation: _privacy_loss(parts, None, relation, fixed_sides=False),
    "renyi": lambda parts, relation: _renyi(parts, None, relation),
    "advanced": lambda parts, relation: _advanced(parts, "kov", relation),
    "basic": _basic,
}
"""Theorems for different guarantees."""


def self_composed(curve: Guarantee, times: int) -> Guarantee:
    """Return the exact curve of `times` independent releases on a pair, each of which has the exact curve `curve`.

    Args:
        curve: exact on the pair, with the sides in this order.
        times: number of releases, >= 1.

    Returns:
        Exact for one release and for Gaussian noise; else exact up to the grid of the privacy-loss distribution (1e-4
        in epsilon per release), and 0 from the largest possible loss, `times` epsilon(0), on.
    """
    if times == 1 or isinstance(curve, GaussianDP):
        return compose([curve] * times)
    composed = compose([curve] * times, accounting="privacy-loss", fixed_sides=True)
    return _Capped(composed, largest=times * curve.epsilon(0.0), relation=curve.relation)


@dataclass(frozen=True, eq=False, repr=False)
class _Capped(ProfileGuarantee):
    """A curve with the exact largest loss, which the grid of a privacy-loss distribution only approximates."""

    curve: Guarantee
    largest: float
    relation: Relation | None = None
    exact = True

    def _delta(self, epsilon: Floats) -> Floats:
        return np.where(epsilon < self.largest, self.curve.delta(epsilon), 0.0)

    def _epsilon(self, delta: Floats) -> Floats:
        return np.minimum(self.curve.epsilon(delta), self.largest)

    def _parameters(self) -> dict[str, object]:
        return {"curve": str(self.curve), "largest": self.largest}
