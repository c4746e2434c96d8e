"""What is guessed without the tables, and how many people are found beside it.

A guess is a list of people, as many as live in the block. A person is found where the list holds somebody of the same
type, each entry for one person alone. Who is found by a list that knows the distribution of the population only,
without any table of the block, is no harm of the tables (Dick et al. 2023): only the gain over it counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.errors import ParameterError
from ....mechanisms.tables.domain import CensusDomain, Ints
from ....mechanisms.tables.tables import Tables
from ....mechanisms.validation import positive, whole
from .claims import certain_people
from .integer_programme import LONGEST
from .published import PublishedTables
from .solutions import solve


def expected_block(domain: CensusDomain, population: ArrayLike, n_people: int) -> Ints:
    """The list of people that finds the most in expectation, for people who are independent draws.

    The c-th entry of a type with probability p finds somebody with probability Pr[Bin(n, p) >= c]; the n entries with
    the largest probabilities are taken.

    Args:
        domain: what a person can be.
        population: probabilities of the types, shape `(n_types,)`.
        n_people: how many live in the block, >= 0.

    Example:
        >>> domain = CensusDomain({"sex": ("female", "male")}, ages=(30, 31))
        >>> domain.shown(expected_block(domain, [0.6, 0.2, 0.1, 0.1], 3))
        ['30 female', '30 female', '31 female']
    """
    from scipy.stats import binom

    whole(0, n_people=n_people)
    law = np.asarray(population, dtype=np.float64)
    if law.shape != (domain.n_types,) or not (law >= 0).all() or abs(law.sum() - 1.0) > 1e-6:
        raise ParameterError(
            f"population must be {domain.n_types} probabilities, one a type, that sum to 1, but has shape {law.shape} "
            f"and sum {law.sum():.6g}.",
            argument="population",
        )
    entries = np.arange(1, n_people + 1)
    chances = binom.sf(entries - 1, n_people, law[:, None])
    best = np.argsort(-chances, axis=None, kind="stable")[:n_people] // max(n_people, 1)
    return domain.block_of(np.bincount(best, minlength=domain.n_types))


def matched(domain: CensusDomain, block: Ints, guessed: Ints) -> NDArray[np.bool_]:
    """Which people of a block a list finds, shape `(n_people,)`; of equal people the first ones."""
    left, found = domain.histogram(guessed), np.zeros(len(block), dtype=np.bool_)
    for person, kind in enumerate(domain.types(block)):
        found[person] = left[kind] > 0
        left[kind] -= found[person]
    return found


@dataclass(frozen=True, eq=False)
class Found:
    """Who is found, shape `(n_people,)` each.

    Args:
        certain: who lives in every block with the tables, so that a reader knows it for sure.
        likely: who is in the one block that the solver gives first.
        without_release: who is in the list that knows the population only.
        without_person: whether somebody of the person's type is in the block that the solver gives first for the tables
            of all others; None where it was not asked for.
        finished: whether no time limit was met.
    """

    certain: NDArray[np.bool_]
    likely: NDArray[np.bool_]
    without_release: NDArray[np.bool_]
    without_person: NDArray[np.bool_] | None
    finished: bool


def found_people(
    tables: Tables,
    block: ArrayLike,
    population: ArrayLike,
    *,
    without_person: bool = False,
    seconds: float = LONGEST,
) -> Found:
    """Who is found in the exact tables of a block, beside who is guessed anyway.

    Args:
        tables: what is published about the block.
        block: shape `(n_people, 1 + n_attributes)`.
        population: probabilities of the types, for the guess without the tables.
        without_person: also solve the tables of the block without each person in turn: one programme a person.
        seconds: time limit for those who are certain, and for each programme without a person, > 0.
    """
    positive(seconds=seconds)
    domain, people = tables.domain, tables.domain.checked(block)
    known = certain_people(PublishedTables.about(tables, people), seconds=seconds)
    likely = matched(domain, people, known.block)
    blind = matched(domain, people, expected_block(domain, population, len(people)))
    certain = matched(domain, people, known.people)
    if not without_person:
        return Found(certain, likely, blind, None, not len(known.open))
    left, finished = np.zeros(len(people), dtype=np.bool_), not len(known.open)
    for person in range(len(people)):
        others = PublishedTables.about(tables, np.delete(people, person, axis=0))
        first = solve(others, limit=1, seconds=seconds)
        finished &= len(first) > 0
        if len(first):
            left[person] = domain.histogram(first.blocks[0])[domain.types(people[person])] > 0
    return Found(certain, likely, blind, left, finished)
