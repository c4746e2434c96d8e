"""Singling out, linkability and attribute inference measured on two releases, each the other one's without the people.

People of two equal halves are attacked, each in both releases, beside bystanders of that release's own half. With
s_k(i) whether the attack on release k is right about i, the gain over "without the person" is

    mean over the first half of s_0(i) - s_1(i), and over the second half of s_1(i) - s_0(i).

It is also the average of both releases' "people less control people": of s_0 in the first half less s_0 in the second,
and the like. What a release is better by for everybody cancels.

Null hypothesis: releases and bystanders are independent of the people attacked. Given them, people who are independent
draws of one population have independent (s_0(i), s_1(i)), of one law for everybody (see `Disclosure`), so that the mean
difference is 0, and the interval of pairs keeps its level.

Groups: in each, as many people of both halves (the surplus is left out at random), since the cancelling needs it. Where
there are groups, everybody takes half of the error and the groups share the other half (Bonferroni), so that the worst
one may be picked. How many groups are large enough is seen in the people attacked. Given who is in which group the
gains of groups keep their level, so that they may share by that number; the gain of everybody need not, as a half with
more people of one group moves both: its share may not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...attacks.synthesis.disclosure.base import Disclosure, Ints, Scene
from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import delta_range, non_negative, open_unit, unit_interval, whole
from .gain import Gain, gain

FEWEST = 10
"""People of a group in each half: smaller groups are left out."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Disclosed:
    """What an attack gains, on everybody and on groups of people.

    Args:
        everybody: over all people attacked.
        groups: name -> gain, over those of each group.
        left_out: groups with fewer than 10 people on a side.
        confidence: with which all intervals of gains hold together.
    """

    everybody: Gain
    groups: Mapping[str, Gain]
    left_out: tuple[str, ...]
    confidence: float

    @property
    def worst(self) -> tuple[str, Gain]:
        """The group with the largest gain, with its name; "everybody" where there are no groups."""
        named = self.groups or {"everybody": self.everybody}
        return max(named.items(), key=lambda one: one[1].headline.value)

    def summary(self) -> str:
        """The table that a person reads, and what it means."""
        name, worst = self.worst
        low, high = 100 * worst.headline.lower, 100 * worst.headline.upper
        found = f"{100 * worst.headline.value:+.1f} points ({low:+.1f} to {high:+.1f}), {worst.n:,} {worst.of}"
        return "\n".join([self.everybody.summary(), *([f"worst group, {name}: gain {found}"] if self.groups else [])])


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
) -> Disclosed:
    """What an attack on synthetic tables gains over what is guessed anyway.

    Args:
        attack: `SinglingOut`, `Linkability` or `AttributeDisclosure`.
        releases: two synthetic tables, made in the same way, of the first and of the second half of the people.
        people: the records of both halves, equally many: random halves of one population.
        known: records of others, who are in neither half; an imputation learns from them.
        groups: the name of an attribute, or the group of each person, `(2, n)`; None: no groups.
        n_attacked: people attacked in each half, at most; at least as many stay bystanders.
        confidence: with which all intervals hold together.
        seed: of what is drawn: who is attacked, and the attack's own choices.

    Raises:
        ParameterError: not two of them, halves of different sizes or of fewer than 2 people, records out of the domain;
            one table, or one half, given twice; releases in the other order; `known` that are one of the halves or of
            the releases.
        AttackError: the baseline needs `known`.

    Guarantees:
        A gain is shown, for everybody or a group, with probability <= 1 - confidence where the releases do not depend
        on the people attacked.
    """
    open_unit(confidence=confidence)
    whole(0, seed=seed)
    whole(1, n_attacked=n_attacked)
    tables, halves = _read(attack, "releases", releases), _read(attack, "people", people)
    if len(halves[0]) != len(halves[1]) or len(halves[0]) < 2 or not all(len(table) for table in tables):
        raise ParameterError(
            f"people must be two halves of equally many, 2 or more, but are {len(halves[0])} and {len(halves[1])}; and "
            "each release must have a row. Split the people at random, and make one release of each half.",
            argument="people",
        )
    others = attack.domain.records(known) if known is not None else halves[0][:0]
    _check_apart(tables, halves, others)
    rng = np.random.default_rng(seed)
    n = len(halves[0])
    order = [rng.permutation(n) for _ in halves]
    m = min(n_attacked, n // 2)
    attacked = [half[one[:m]] for half, one in zip(halves, order, strict=True)]
    beside = [half[one[m:]] for half, one in zip(halves, order, strict=True)]
    everyone = np.concatenate(attacked)
    of = [attack.right(tables[k], Scene(everyone, beside[k], others), rng) for k in (0, 1)]
    blind = np.concatenate([attack.guessed(Scene(attacked[k], beside[k], others), rng) for k in (0, 1)])
    half = np.repeat([0, 1], m)
    own, other = np.where(half == 0, *of), np.where(half == 0, *of[::-1])
    label = _labels(attack, groups, halves, order, m)
    chosen, left_out = _balanced(label, half, rng)
    error = 1.0 - confidence if groups is None else 0.5 * (1.0 - confidence)

    def found(some: Any, share: float) -> Gain:
        return gain(own[some], without_release=blind[some], without_person=other[some], confidence=1.0 - share)

    gains = {name: found(some, error / len(chosen)) for name, some in chosen.items()}
    return Disclosed(found(slice(None), error), MappingProxyType(gains), left_out, confidence)


def most_gained(epsilon: float, *, delta: float = 0.0, without_person: float) -> float:
    """The largest gain over the release without the person that (epsilon, delta) allows.

    An attack on a release is right about a person with probability p1 <= e^epsilon p0 + delta, and wrong with
    1 - p1 >= e^-epsilon (1 - p0 - delta), where p0 is that on a release in which another person stands in the place.
    This is a limit of expectations, over releases: one release may have luck.

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


def _read(attack: Disclosure, name: str, given: Any) -> list[Ints]:
    if len(given) != 2:
        raise ParameterError(
            f"{name} must be two, one of each half of the people, but are {len(given)}.", argument=name
        )
    return [attack.domain.records(one) for one in given]


def _check_apart(tables: list[Ints], halves: list[Ints], known: Ints) -> None:
    """Raises `ParameterError` where a gain would cancel, or turn round, by what was given twice; rows in any order."""
    two, people, others = [same_rows(one) for one in tables], [same_rows(one) for one in halves], same_rows(known)
    if two[0] == two[1]:
        raise ParameterError(
            "releases must be two tables, one made of each half of the people, but are one table twice: each is "
            "the release without the person for the other half, and every gain cancels. Make a release of each half.",
            argument="releases",
        )
    if people[0] == people[1]:
        raise ParameterError(
            "people must be two halves of a population, but are the same records twice: everybody is in both releases, "
            "and every gain cancels. Split the people at random.",
            argument="people",
        )
    if two[0] == people[1] or two[1] == people[0]:
        raise ParameterError(
            "releases must be in the order of people, but one holds exactly the records of the other half. Turn them "
            "round.",
            argument="releases",
        )
    if len(known) and others in (*two, *people):
        what = "a release" if others in two else "one of the halves of the people"
        raise ParameterError(
            f"known must be records of others, but is {what}: the baseline would learn from whom it is compared on. "
            "Give records of people who are in neither half, or none.",
            argument="known",
        )


def same_rows(table: Ints) -> bytes:
    """What two tables have in common exactly if they hold the same rows, as often, in any order."""
    return np.ascontiguousarray(table[np.lexsort(table.T)]).tobytes() if len(table) else b""


def _labels(attack: Disclosure, groups: Any, halves: list[Ints], order: list[Ints], m: int) -> NDArray[np.str_]:
    """`(2 m,)` the group of each person attacked; empty where there are none."""
    if groups is None:
        return np.zeros(0, dtype=np.str_)
    if isinstance(groups, str):
        column = attack.domain.index(groups)
        found = [np.array([f"{groups} {code}" for code in half[:, column]]) for half in halves]
    else:
        found = [np.asarray(one).astype(np.str_) for one in groups]
        if [one.shape for one in found] != [(len(half),) for half in halves]:
            raise ParameterError(
                f"groups must be the name of an attribute, or have one entry for each person, (2, {len(halves[0])}).",
                argument="groups",
            )
    return np.concatenate([one[places[:m]] for one, places in zip(found, order, strict=True)])


def _balanced(label: NDArray[np.str_], half: Ints, rng: np.random.Generator) -> tuple[dict[str, Ints], tuple[str, ...]]:
    """Group -> places of its people, as many of both halves; and the groups that are too small."""
    chosen, left_out = {}, []
    for name in np.unique(label):
        sides = [rng.permutation(np.flatnonzero((label == name) & (half == k))) for k in (0, 1)]
        size = min(map(len, sides))
        if size < FEWEST:
            left_out.append(str(name))
        else:
            chosen[str(name)] = np.concatenate([side[:size] for side in sides])
    return chosen, tuple(left_out)
