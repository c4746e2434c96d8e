"""Maximum-likelihood block, given noisy counts, by an integer programme.

With independent two-sided geometric noise of the same rate on every count, the likelihood of a block is a product of
a^|noisy - exact|: the likeliest blocks minimise the sum of |noisy - exact| over whole, non-negative histograms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import AttackError, Bools, Floats, Ints, ParameterError, whole
from ....mechanisms.literature.query_release.tables.noisy import NoisyTables
from .integer_programme import DEFAULT_TIME_LIMIT, Deadline, Rows, SolverStatus, row


@dataclass(frozen=True, eq=False)
class DecodedPeople:
    """Block that fits noisy counts best.

    Args:
        block: its people, shape `(n_people, 1 + n_attributes)`; people whom no count distinguishes have the first of
            their types, such as the lowest age of an age group.
        residual: sum of |noisy - exact| over all counts.
        optimal: whether it is proved that no block fits better; False if time ran out.
    """

    block: Ints
    residual: float
    optimal: bool


class Distinct:
    """Types that the counts distinguish: types in the same cells share a column.

    Args:
        in_cells: `(n_counts, n_types)` the types that each count counts.
    """

    def __init__(self, in_cells: Bools) -> None:
        _, self.first, inverse = np.unique(in_cells.T, axis=0, return_index=True, return_inverse=True)
        self.of_type = np.asarray(inverse).ravel()
        self.in_cells = in_cells[:, self.first]


def residual_rows(distinct: Distinct, noisy: Floats, n_people: int) -> tuple[Rows, Floats]:
    """Return rows whose first columns are the histogram over distinct types, and the sum of residuals as objective."""
    rows = Rows()
    n_counts, n_columns = distinct.in_cells.shape
    people = rows.new(n_columns, n_people)
    above, below = (rows.new(n_counts, np.inf, whole=False) for _ in range(2))
    rows.add(row(people, 1.0, n_people, n_people))
    for cell, value in enumerate(noisy):
        members = people[distinct.in_cells[cell]]
        rows.add(row([*members, above[cell], below[cell]], [*np.ones(len(members)), -1.0, 1.0], value, value))
    objective = np.zeros(len(rows.upper))
    objective[above] = objective[below] = 1.0
    return rows, objective


def decode(
    mechanism: NoisyTables, noisy: ArrayLike, *, n_people: int, seconds: float = DEFAULT_TIME_LIMIT
) -> DecodedPeople:
    """Return the maximum-likelihood block, given the release of `mechanism`.

    Args:
        mechanism: mechanism with public tables and noise.
        noisy: the released counts, shape `(n_counts,)`.
        n_people: number of people in the block, which is public under replace_one.
        seconds: time limit, > 0; then the best block so far is returned.

    Raises:
        ParameterError: a wrong number of counts.
        AttackError: no block was found in time.

    Example:
        >>> from dpassay.mechanisms.literature.query_release.tables import CensusDomain, GroupCount, TableSet, group
        >>> domain = CensusDomain({"sex": ("female", "male")}, ages=(0, 99))
        >>> groups = [group(sex=sex, ages=ages) for sex in ("female", "male") for ages in ((0, 17), (18, 99))]
        >>> mechanism = NoisyTables(epsilon=2.0, tables=TableSet(domain, tuple(map(GroupCount, groups))))
        >>> decoded = decode(mechanism, [3, -1, 0, 2], n_people=5)
        >>> domain.shown(decoded.block), decoded.residual
        (['0 female', '0 female', '0 female', '18 male', '18 male'], 1.0)
    """
    whole(1, n_people=n_people)
    counts = np.asarray(noisy, dtype=np.float64)
    if counts.shape != (len(mechanism.tables.statistics),):
        raise ParameterError(
            f"noisy must be {len(mechanism.tables.statistics)} counts, one for each statistic, but has shape "
            f"{counts.shape}.",
            argument="noisy",
        )
    distinct = Distinct(mechanism.in_cells)
    rows, objective = residual_rows(distinct, counts, n_people)
    answer = rows.solve(objective=objective, deadline=Deadline(seconds))
    if answer.columns is None:
        raise AttackError(f"no block was found within {seconds:g} seconds. Give more seconds, or fewer counts.")
    histogram = np.zeros(mechanism.tables.domain.n_types, dtype=np.int64)
    histogram[distinct.first] = answer.columns[: len(distinct.first)]
    optimal = answer.status is SolverStatus.FOUND
    return DecodedPeople(mechanism.tables.domain.block_of(histogram), answer.objective, optimal)
