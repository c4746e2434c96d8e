"""Singling out, linkability and attribute inference, measured on two releases of disjoint halves of the people.

People of two equal halves are attacked, each in both releases, together with bystanders of the half of that release.
With s_k(i) the success (0 or 1) of the attack on release k about person i, the gain over "without the person" is

    mean over the first half of s_0(i) - s_1(i), and over the second half of s_1(i) - s_0(i).

It is also the average over both releases of "people less control people": s_0 in the first half less s_0 in the second,
and s_1 likewise with the halves exchanged. A difference in the overall quality of the releases cancels.

Null hypothesis: releases and bystanders are independent of the people attacked. Given them, people who are independent
draws from one population have independent and identically distributed (s_0(i), s_1(i)) (see `Disclosure`), so the mean
difference is 0, and the paired interval keeps its level.

Groups: each has equally many people of both halves (the surplus is left out at random), since the cancellation needs
it. With groups, the overall gain takes half of the error and the groups share the other half (Bonferroni), so that the
worst group may be selected. The number of large enough groups depends on the people attacked. Given the group of each
person the gains of groups keep their level, so they may share by that number; the overall gain need not, as a half with
more people of one group changes both: its share must not depend on that number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...attacks.people.disclosure.base import Disclosure, PeopleGroups
from ...mechanisms.core import Ints, ParameterError, delta_range, non_negative, open_unit, unit_interval, whole
from ..results.saved import Described
from .gain import Gain, gain

MIN_GROUP_SIZE = 10
"""Smallest number of people of a group in each half; smaller groups are left out."""


@dataclass(frozen=True, eq=False)
class DisclosureGains(Described):
    """Gains of an attack over all people and over groups of people.

    Args:
        overall: gain over all people attacked.
        groups: gain over the people of each group, by name.
        left_out: groups with fewer than 10 people in a half.
        confidence: simultaneous confidence of all intervals of gains.
    """

    DESCRIBED_BY: ClassVar[str] = "audit.metrics.text"

    overall: Gain
    groups: Mapping[str, Gain]
    left_out: tuple[str, ...]
    confidence: float

    @property
    def worst(self) -> tuple[str, Gain]:
        """Group with the largest gain, with its name; "all people" without groups."""
        named = self.groups or {"all people": self.overall}
        return max(named.items(), key=lambda item: item[1].headline.value)


def disclosure(
    attack: Disclosure,
    releases: tuple[Any, Any],
    people: tuple[Any, Any],
    *,
    known: Any = None,
    groups: ArrayLike | str | None = None,
    n_attacked: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
) -> DisclosureGains:
    """Measure the gain of an attack on synthetic tables over the baselines.

    Args:
        attack: `SinglingOut`, `Linkability` or `AttributeDisclosure`.
        releases: two synthetic tables, made in the same way, of the first and of the second half of the people.
        people: the records of both halves, equally many: random halves of one population.
        known: records of people in neither half; an imputation learns from them.
        groups: the name of an attribute, or the group of each person, `(2, n)`; None for no groups.
        n_attacked: largest number of people attacked in each half; at least as many remain bystanders.
        confidence: simultaneous confidence of all intervals.
        seed: of the choice of people, and of the random choices of the attack.

    Raises:
        ParameterError: not two releases, halves of different sizes or of fewer than 2 people, records outside the
            domain; one table, or one half, passed twice; releases in the wrong order; `known` equal to one of the
            halves or of the releases.
        AttackError: the baseline needs `known`.

    Guarantees:
        A gain is significant, overall or for a group, with probability <= 1 - confidence if the releases do not
        depend on the people attacked.
    """
    open_unit(confidence=confidence)
    whole(0, seed=seed)
    whole(1, n_attacked=n_attacked)
    tables, halves = _read(attack, "releases", releases), _read(attack, "people", people)
    if len(halves[0]) != len(halves[1]) or len(halves[0]) < 2 or not all(len(table) for table in tables):
        raise ParameterError(
            f"people must be two halves of equal size, 2 or more, but have {len(halves[0])} and {len(halves[1])}; and "
            "each release must have a row. Split the people at random, and make one release of each half.",
            argument="people",
        )
    others = attack.domain.records(known) if known is not None else halves[0][:0]
    _check_apart(tables, halves, others)
    rng = np.random.default_rng(seed)
    n = len(halves[0])
    order = [rng.permutation(n) for _ in halves]
    m = min(n_attacked, n // 2)
    attacked = [half[indices[:m]] for half, indices in zip(halves, order, strict=True)]
    bystanders = [half[indices[m:]] for half, indices in zip(halves, order, strict=True)]
    everyone = np.concatenate(attacked)
    success = [attack.correct(tables[k], PeopleGroups(everyone, bystanders[k], others), rng) for k in (0, 1)]
    blind = np.concatenate(
        [attack.baseline_correct(PeopleGroups(attacked[k], bystanders[k], others), rng) for k in (0, 1)]
    )
    half = np.repeat([0, 1], m)
    own, other = np.where(half == 0, *success), np.where(half == 0, *success[::-1])
    label = _labels(attack, groups, halves, order, m)
    chosen, left_out = _balanced(label, half, rng)
    error = 1.0 - confidence if groups is None else 0.5 * (1.0 - confidence)

    def gain_of(rows: Any, share: float) -> Gain:
        return gain(own[rows], without_release=blind[rows], without_person=other[rows], confidence=1.0 - share)

    gains = {name: gain_of(rows, error / len(chosen)) for name, rows in chosen.items()}
    return DisclosureGains(gain_of(slice(None), error), MappingProxyType(gains), left_out, confidence)


def most_gained(epsilon: float, *, delta: float = 0.0, without_person: float) -> float:
    """Return the largest gain over the release without the person that (epsilon, delta) allows.

    An attack on a release is right about a person with probability p1 <= e^epsilon p0 + delta, and wrong with
    1 - p1 >= e^-epsilon (1 - p0 - delta), where p0 is the probability on a release with another person instead. This
    limits expectations over releases: the gain on a single release may exceed it by chance.

    Args:
        epsilon, delta: of the release for "replace_one"; twice epsilon, and (1 + e^epsilon) delta, for "add_remove".
        without_person: p0, the success without the person, in [0, 1].

    Example:
        >>> round(most_gained(0.5, without_person=0.1), 3), round(most_gained(0.5, without_person=0.9), 3)
        (0.065, 0.039)
    """
    non_negative(epsilon=epsilon)
    delta_range(delta=delta)
    unit_interval(without_person=without_person)
    p0 = without_person
    above, below = math.exp(min(epsilon, 700.0)) * p0 + delta, 1.0 - math.exp(-epsilon) * (1.0 - p0 - delta)
    return min(1.0, above, below) - p0


def _read(attack: Disclosure, name: str, tables: Any) -> list[Ints]:
    if len(tables) != 2:
        raise ParameterError(
            f"{name} must be two, one of each half of the people, but are {len(tables)}.", argument=name
        )
    return [attack.domain.records(table) for table in tables]


def _check_apart(tables: list[Ints], halves: list[Ints], known: Ints) -> None:
    """Raise `ParameterError` if repeated or exchanged arguments would cancel or reverse a gain; rows in any order."""
    releases, people = [same_rows(table) for table in tables], [same_rows(half) for half in halves]
    others = same_rows(known)
    if releases[0] == releases[1]:
        raise ParameterError(
            "releases must be two tables, one made of each half of the people, but are the same table twice: each is "
            "the release without the person for the other half, so every gain cancels. Make a release of each half.",
            argument="releases",
        )
    if people[0] == people[1]:
        raise ParameterError(
            "people must be two halves of a population, but are the same records twice: all people are in both "
            "releases, so every gain cancels. Split the people at random.",
            argument="people",
        )
    if releases[0] == people[1] or releases[1] == people[0]:
        raise ParameterError(
            "releases must be in the order of people, but one has exactly the records of the other half. Swap them.",
            argument="releases",
        )
    if len(known) and others in (*releases, *people):
        what = "a release" if others in releases else "one of the halves of the people"
        raise ParameterError(
            f"known must be records of others, but is {what}: the baseline would learn from the people that it is "
            "evaluated on. Pass records of people in neither half, or none.",
            argument="known",
        )


def same_rows(table: Ints) -> bytes:
    """Return a key of a table: equal exactly for tables with the same multiset of rows, in any order."""
    return np.ascontiguousarray(table[np.lexsort(table.T)]).tobytes() if len(table) else b""


def _labels(attack: Disclosure, groups: Any, halves: list[Ints], order: list[Ints], m: int) -> NDArray[np.str_]:
    """Return the group of each person attacked, `(2 m,)`; empty without groups."""
    if groups is None:
        return np.zeros(0, dtype=np.str_)
    if isinstance(groups, str):
        column = attack.domain.index(groups)
        names = [np.array([f"{groups} {code}" for code in half[:, column]]) for half in halves]
    else:
        names = [np.asarray(column).astype(np.str_) for column in groups]
        if [column.shape for column in names] != [(len(half),) for half in halves]:
            raise ParameterError(
                f"groups must be the name of an attribute, or have one entry for each person, (2, {len(halves[0])}).",
                argument="groups",
            )
    return np.concatenate([column[indices[:m]] for column, indices in zip(names, order, strict=True)])


def _balanced(label: NDArray[np.str_], half: Ints, rng: np.random.Generator) -> tuple[dict[str, Ints], tuple[str, ...]]:
    """Return the indices of the people of each group, equally many of both halves; and the groups left out."""
    chosen, left_out = {}, []
    for name in np.unique(label):
        sides = [rng.permutation(np.flatnonzero((label == name) & (half == k))) for k in (0, 1)]
        size = min(map(len, sides))
        if size < MIN_GROUP_SIZE:
            left_out.append(str(name))
        else:
            chosen[str(name)] = np.concatenate([side[:size] for side in sides])
    return chosen, tuple(left_out)
