"""Attacks by distance: a generator that remembers a record makes rows that lie close to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import one_of, positive, whole
from .base import Floats, Tables
from .records import Known, RecordAttack

SCORES = ("distance", "exponential", "calibrated")
MOST_COMPARED = 100
"""Known records from which a radius is read."""


@dataclass(frozen=True, kw_only=True)
class ClosestRecord(RecordAttack):
    """Scores a table by how close its closest row comes to the record.

    It sees copies, and rows that are made from a record by small changes. A generator that leaks through counts (a
    marginal that is measured too well) has no row that is closer than others, and passes: a distance says nothing
    about privacy where it finds nothing.

    Args:
        neighbour: which row counts, 1 for the closest, 2 for the second, ...; the last one where there are fewer.
        score: "distance", minus the distance; "exponential", exp(-distance), between 0 and 1; "calibrated", the
            distance to the closest known record less that to the closest row, which is fair to records that lie far
            from everybody.
        nominal: columns that hold codes, by number; None: all, if the tables hold whole numbers, else none. Codes that
            differ count 1, real numbers in units of their standard deviation.

    Raises:
        ParameterError: an unknown score, or no such neighbour.
        AttackError: no pair of tables, or no tables among the outputs.

    Guarantees:
        * a generator that copies all rows has AUC 1, where no other record is equal; one that copies the record with
          probability c has a true positive rate of c at a false positive rate of 0;
        * the three scores have the same ROC curve on a pair that adds a record.

    References:
        Chen, Yu, Zhang and Fritz (2020), "GAN-Leaks", for the latter two scores; that such distances are no test
        of privacy: Yao, Krco, Ganev and de Montjoye (2025), "The DCR delusion".

    Example:
        >>> table, records = np.array([[0, 0], [1, 1], [2, 1]]), np.array([[2, 1], [2, 0]])
        >>> ClosestRecord().signals(table[None], records, Known.of(table, records)).tolist()
        [[-0.0, -1.0]]
    """

    neighbour: int = 1
    score: str = "distance"

    def __post_init__(self) -> None:
        whole(1, neighbour=self.neighbour)
        one_of(SCORES, score=self.score)

    def signals(self, tables: Tables, records: Tables, known: Known) -> Floats:
        """`(size, k)`."""
        distance = nearest(known.squared_distances(tables, records), self.neighbour)
        if self.score == "exponential":
            return np.exp(-distance)
        if self.score == "calibrated":
            return nearest(known.squared_distances(known.records[None], records), self.neighbour) - distance
        return -distance


@dataclass(frozen=True, kw_only=True)
class Neighbourhood(RecordAttack):
    """Scores a table by the share of its rows that lie within a radius around the record.

    Args:
        radius: a number above 0; None: for each table the median, over known records, of the distance to the closest
            row, so that half of them have a row within it.
        nominal: as for `ClosestRecord`.

    Raises:
        ParameterError: a radius that is not above 0.
        AttackError: no pair of tables, or no tables among the outputs.

    References:
        Hilprecht, Haerterich and Bernau (2019), "Monte Carlo and reconstruction membership inference attacks against
        generative models".

    Example:
        >>> table, records = np.array([[0, 0], [1, 1], [2, 1]]), np.array([[2, 1], [7, 7]])
        >>> Neighbourhood(radius=1.0).signals(table[None], records, Known.of(table, records)).round(2).tolist()
        [[0.67, 0.0]]
    """

    radius: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.radius, str):
            raise ParameterError(argument="radius", value=self.radius, allowed="be a number above 0, or None")
        if self.radius is not None:
            positive(radius=self.radius)

    def signals(self, tables: Tables, records: Tables, known: Known) -> Floats:
        """`(size, k)` shares."""
        within = known.squared_distances(tables, records) <= self._squared_radius(tables, known)
        return np.asarray(within.mean(axis=1))

    def _squared_radius(self, tables: Tables, known: Known) -> Floats:
        """`(size, 1, 1)`, with room for rounding."""
        if self.radius is not None:
            return np.full((1, 1, 1), self.radius**2 * (1.0 + 1e-12))
        some = known.records[:: 1 + len(known.records) // MOST_COMPARED]
        closest = known.squared_distances(tables, some).min(axis=1)
        return np.asarray(np.median(closest, axis=1)[:, None, None] * (1.0 + 1e-12))


def nearest(squared: Floats, neighbour: int) -> Floats:
    """Distance to the k-th nearest row, `(size, k)` of `(size, n_rows, k)` squared distances."""
    place = min(neighbour, squared.shape[1]) - 1
    closest = squared.min(axis=1) if place == 0 else np.partition(squared, place, axis=1)[:, place]
    return np.sqrt(closest)


def share_closer(tables: Tables, used: Tables, unused: Tables, *, nominal: tuple[int, ...] | None = None) -> Floats:
    """The share of synthetic rows that lie closer to a record that was used than to any of as many that were not.

    A common metric, here to be compared with: about one half is said to be a pass. It tells whether rows are copies,
    and nothing about privacy: a generator whose rows carry one rare value of somebody passes it. Ties count half.

    Args:
        tables: `(size, n_rows, d)`.
        used, unused: `(n, d)` records that the generator has seen, and others from the same source.
        nominal: as for `ClosestRecord`.

    Returns:
        `(size,)`, a metric and no bound.

    References:
        criticised by Yao, Krco, Ganev and de Montjoye (2025), "The DCR delusion"; Ganev and De Cristofaro (2023),
        "On the inadequacy of similarity-based privacy metrics".

    Example:
        >>> used, unused = np.array([[0, 0], [1, 1]]), np.array([[0, 1], [2, 2]])
        >>> share_closer(np.stack([used, unused]), used, unused).tolist()
        [1.0, 0.0]
    """
    known = Known.of(used, unused, nominal)
    shares = []
    for table in tables:  # one at a time: all distances of a table are already many numbers
        distance = [known.squared_distances(records[None], table).min(axis=1)[0] for records in (used, unused)]
        shares.append(np.mean((distance[0] < distance[1]) + 0.5 * (distance[0] == distance[1])))
    return np.array(shares)
