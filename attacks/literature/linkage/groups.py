"""Leakage of k-anonymous groups: by homogeneity in one table, by intersection in several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.core import Bools, Floats, ParameterError
from ....mechanisms.literature.synthetic_data.anonymity.grouped_table import GroupedTable, check_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GroupBeliefs:
    """Posterior on the sensitive value of each person.

    Args:
        values: the sensitive values, in the order of the columns.
        weights: `(n_people, n_values)` probabilities of the values, each row summing to 1.
        possible: `(n_people, n_values)` mask of the values that are not ruled out.
    """

    values: tuple[Any, ...]
    weights: Floats
    possible: Bools

    @property
    def guess(self) -> NDArray[Any]:
        """Most probable value, `(n_people,)`."""
        return np.asarray(np.array(self.values, dtype=object)[self.weights.argmax(axis=1)])

    @property
    def certain(self) -> Bools:
        """Mask `(n_people,)` of the people with one possible value."""
        return np.asarray(self.possible.sum(axis=1) == 1)

    def correct(self, truth: ArrayLike) -> Bools:
        """Return a mask `(n_people,)`: whether the most probable value is the true one."""
        return np.asarray(self.guess == np.asarray(truth, dtype=object))


def prior_beliefs(
    population: pd.DataFrame, sensitive: str, people: pd.DataFrame, match_on: Sequence[str] = ()
) -> GroupBeliefs:
    """Return the beliefs without any release: the shares among other people with the same `match_on` columns.

    Args:
        population: people whose attributes are all known, none of them under attack.
        sensitive: its sensitive column.
        people: people under attack, with the columns `match_on`.
        match_on: columns that define comparable people. Without columns, or without comparable people, the shares of
            the whole population are used. One person with each value is added to the counts, so that no value is
            impossible.

    Raises:
        ParameterError: columns that are missing, or an empty table.
    """
    check_columns(population, [sensitive, *match_on], "population")
    values = tuple(sorted(set(population[sensitive])))
    shares = np.array([(population[sensitive] == value).mean() for value in values])
    counts = np.tile(shares, (len(people), 1))
    if match_on:
        check_columns(people, match_on, "people")
        groups = population.groupby(list(match_on))[sensitive]
        table = groups.value_counts().unstack(fill_value=0).reindex(columns=values)
        matching_counts = table.reindex(people.set_index(list(match_on)).index, fill_value=0).to_numpy(dtype=np.float64)
        counts = matching_counts + shares * len(values)
    return GroupBeliefs(values, counts / counts.sum(axis=1, keepdims=True), np.ones(counts.shape, dtype=np.bool_))


def beliefs_from_groups(releases: Sequence[GroupedTable], people: pd.DataFrame, prior: GroupBeliefs) -> GroupBeliefs:
    """Return the beliefs after one or several k-anonymous tables that contain the people.

    In each table a person is in the one group whose intervals contain the quasi-identifiers, and has one of the
    sensitive values that were published with it. So the value lies in the intersection of these sets, however large k
    is (Ganta, Kasiviswanathan and Smith 2008, section 3); a set of one value is the homogeneity attack (Machanavajjhala
    et al. 2007, section 2). The remaining values are weighted by Bayes' rule: a share s_j(v) in the group of table j,
    given independently of the others, multiplies the odds of v by s_j(v) / (share of v in table j).

    Args:
        releases: one table, or several that contain the people.
        people: table with the columns of the quasi-identifiers.
        prior: beliefs on the same people.

    Returns:
        Beliefs. If a person is in no group of a table, or no value is in all the sets, that table (or all of them)
        carries no information on the person, and the prior is returned.

    Raises:
        ParameterError: no table, a missing column, or a table without any value of the prior.
    """
    if not len(releases):
        raise ParameterError("releases must not be empty, but there is no table.", argument="releases")
    weights, possible = prior.weights.copy(), np.ones(prior.weights.shape, dtype=np.bool_)
    for table in releases:
        counts = _in_columns(table, prior.values)
        group = table.locate(people)
        inside = group >= 0
        group_counts = counts[group[inside]]
        overall = counts.sum(axis=0) / counts.sum()
        shares = group_counts / group_counts.sum(axis=1, keepdims=True)
        weights[inside] *= shares / np.where(overall > 0.0, overall, 1.0)
        possible[inside] &= group_counts > 0
    total = weights.sum(axis=1)
    consistent = total > 0.0
    weights[consistent] /= total[consistent, None]
    weights[~consistent], possible[~consistent] = prior.weights[~consistent], True
    return GroupBeliefs(prior.values, weights, possible)


def beliefs_from_counts(
    releases: Sequence[tuple[ArrayLike, float]],
    cell: ArrayLike,
    prior: GroupBeliefs,
    *,
    others: Sequence[ArrayLike] | None = None,
) -> GroupBeliefs:
    """Return the beliefs after one or several tables of counts with two-sided geometric noise, by Bayes' rule.

    An adversary who does not know the others uses the shares in the person's cell, as in a k-anonymous table; counts
    below 1/2 are raised to it. An adversary who knows all others knows the counts without the person, and uses the
    exact likelihood of each value: no adversary can do better. Its odds against the prior are limited by epsilon.

    Args:
        releases: for each table `(counts, rate)`: `(n_cells, n_values)` noisy counts, values in the order of the prior;
            epsilon / sensitivity of the noise, > 0.
        cell: `(n_people,)` the cell of each person.
        prior: beliefs on the same people.
        others: for each table, `(n_people, n_values)` exact counts in the person's cell without the person;
            None for an adversary who does not know them.

    Raises:
        ParameterError: no table, or counts of another shape.
    """
    if not len(releases):
        raise ParameterError("releases must not be empty, but there is no table.", argument="releases")
    scores, places = np.log(prior.weights), np.asarray(cell)
    for j, (counts, rate) in enumerate(releases):
        table = np.asarray(counts, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(prior.values):
            raise ParameterError(
                f"releases must have tables of shape (n_cells, {len(prior.values)}), but one has shape {table.shape}.",
                argument="releases",
            )
        if others is None:
            positive = np.maximum(table, 0.5)
            shares = positive / positive.sum(axis=1, keepdims=True)
            scores = scores + np.log(shares / (positive.sum(axis=0) / positive.sum()))[places]
        else:  # adding 1 to the count of v moves the exponent -rate |noise| of that count only
            noise = table[places] - np.asarray(others[j], dtype=np.float64)
            scores = scores - rate * (np.abs(noise - 1.0) - np.abs(noise))
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores)
    return GroupBeliefs(prior.values, weights / weights.sum(axis=1, keepdims=True), weights > 0.0)


def _in_columns(table: GroupedTable, values: tuple[Any, ...]) -> Floats:
    """Return the counts of a table in the order of other values; 0 for values that the table does not have."""
    index_of = {value: i for i, value in enumerate(table.values)}
    if not any(value in index_of for value in values):
        raise ParameterError(
            f"prior must be on the published values, but has none of {', '.join(map(str, table.values))}.",
            argument="prior",
        )
    counts = np.zeros((table.n_groups, len(values)))
    for column, value in enumerate(values):
        if value in index_of:
            counts[:, column] = table.counts[:, index_of[value]]
    return counts
