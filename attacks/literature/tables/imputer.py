"""Guesses without the tables, and the people found by the tables in comparison.

A guess is a list of people, as many as are in the block. A person is found if the list has a person of the same
type, each entry matching one person only. People found by a list made from the distribution of the population only,
without any table of the block, are no harm of the tables (Dick et al. 2023): only the gain over this baseline matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import Bools, Ints, ParameterError, whole
from ....mechanisms.literature.query_release.tables import TableSet
from ....mechanisms.literature.query_release.tables.domain import CensusDomain
from .claims import certain_people
from .integer_programme import DEFAULT_TIME_LIMIT
from .published import PublishedTables
from .solutions import solve


def expected_block(domain: CensusDomain, population: ArrayLike, n_people: int) -> Ints:
    """Return the list of people with the largest expected number of matches, for people who are independent draws.

    The c-th entry of a type with probability p matches a person with probability Pr[Bin(n, p) >= c]; the n entries with
    the largest probabilities are taken.

    Args:
        domain: domain of a person.
        population: probabilities of the types, shape `(n_types,)`.
        n_people: number of people in the block, >= 0.

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
            f"population must be {domain.n_types} probabilities, one per type, that sum to 1, but has shape "
            f"{law.shape} and sum {law.sum():.6g}.",
            argument="population",
        )
    entries = np.arange(1, n_people + 1)
    probabilities = binom.sf(entries - 1, n_people, law[:, None])
    best = np.argsort(-probabilities, axis=None, kind="stable")[:n_people] // max(n_people, 1)
    return domain.block_of(np.bincount(best, minlength=domain.n_types))


def matched(domain: CensusDomain, block: Ints, guessed: Ints) -> Bools:
    """Return a mask `(n_people,)` of the people of a block that a list finds; of equal people the first ones."""
    remaining, matches = domain.histogram(guessed), np.zeros(len(block), dtype=np.bool_)
    for person, kind in enumerate(domain.types(block)):
        matches[person] = remaining[kind] > 0
        remaining[kind] -= matches[person]
    return matches


@dataclass(frozen=True, eq=False)
class ImputationResult:
    """Masks of the people who are found, shape `(n_people,)` each.

    Args:
        certain: people in every block with the tables, who are therefore certain.
        likely: people in the first block of the solver.
        without_release: people in the list made from the population only.
        without_person: whether a person of the same type is in the first block of the solver for the tables of all
            others; None if this was not computed.
        finished: whether no time limit was reached.
    """

    certain: Bools
    likely: Bools
    without_release: Bools
    without_person: Bools | None
    finished: bool


def identify_people(
    tables: TableSet,
    block: ArrayLike,
    population: ArrayLike,
    *,
    without_person: bool = False,
    seconds: float = DEFAULT_TIME_LIMIT,
) -> ImputationResult:
    """Return who is found in the exact tables of a block, and who is guessed without the tables.

    Args:
        tables: statistics published about the block.
        block: shape `(n_people, 1 + n_attributes)`.
        population: probabilities of the types, for the guess without the tables.
        without_person: also solve the tables of the block without each person in turn: one programme per person.
        seconds: time limit for `certain`, and for each programme without a person, > 0.
    """
    domain, people = tables.domain, tables.domain.checked(block)
    proved = certain_people(PublishedTables.about(tables, people), seconds=seconds)
    likely = matched(domain, people, proved.block)
    baseline = matched(domain, people, expected_block(domain, population, len(people)))
    certain = matched(domain, people, proved.people)
    if not without_person:
        return ImputationResult(certain, likely, baseline, None, not len(proved.open))
    found_without, finished = np.zeros(len(people), dtype=np.bool_), not len(proved.open)
    for person in range(len(people)):
        others = PublishedTables.about(tables, np.delete(people, person, axis=0))
        first = solve(others, limit=1, seconds=seconds)
        finished &= len(first) > 0
        if len(first):
            found_without[person] = domain.histogram(first.blocks[0])[domain.types(people[person])] > 0
    return ImputationResult(certain, likely, baseline, found_without, finished)
