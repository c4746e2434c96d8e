"""Attacks by distance: a generator that memorises a record produces rows close to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import Positive, PositiveInt, one_of_names
from ....mechanisms.core.errors import ParameterError
from .base import Tables
from .records import Known, RecordAttack

SCORES = ("distance", "exponential", "calibrated")
MOST_COMPARED = 100
"""Largest number of known records used to choose a radius."""


@dataclass(frozen=True, kw_only=True)
class ClosestRecord(RecordAttack):
    """Score of a table: proximity of its closest row to the record.

    It detects copies, and rows made from a record by small changes. A generator that leaks through counts (a
    marginal that is measured too well) has no closer row than others, and passes: a distance shows nothing
    about privacy if no row is close.

    Args:
        neighbour: rank of the row, 1 for the closest, 2 for the second, ...; the last row if there are fewer.
        score: "distance", minus the distance; "exponential", exp(-distance), between 0 and 1; "calibrated", the
            distance to the closest known record minus that to the closest row, which corrects for records far
            from all others.
        nominal: indices of columns of codes; None: all, if the tables are whole numbers, else none. Codes that
            differ have distance 1; real numbers are in units of their standard deviation.

    Raises:
        ParameterError: an unknown score, or no such neighbour.
        AttackError: the pair or the outputs are not tables.

    Guarantees:
        * a generator that copies all rows has AUC 1, if no other record is equal; a generator that copies the record
          with probability c has a true positive rate of c at a false positive rate of 0;
        * the three scores have the same ROC curve on a pair that adds a record.

    References:
        Chen, Yu, Zhang and Fritz (2020), "GAN-Leaks", for the latter two scores; on such distances as a test
        of privacy: Yao, Krco, Ganev and de Montjoye (2025), "The DCR delusion".

    Example:
        >>> table, records = np.array([[0, 0], [1, 1], [2, 1]]), np.array([[2, 1], [2, 0]])
        >>> ClosestRecord().signals(table[None], records, Known.of(table, records)).tolist()
        [[-0.0, -1.0]]
    """

    neighbour: PositiveInt = 1
    score: Annotated[str, one_of_names(*SCORES)] = "distance"

    def signals(self, tables: Tables, records: Tables, known: Known) -> Floats:
        """Return scores, `(size, k)`."""
        distance = nearest(known.squared_distances(tables, records), self.neighbour)
        if self.score == "exponential":
            return np.exp(-distance)
        if self.score == "calibrated":
            return nearest(known.squared_distances(known.records[None], records), self.neighbour) - distance
        return -distance


@dataclass(frozen=True, kw_only=True)
class Neighbourhood(RecordAttack):
    """Score of a table: the share of its rows within a radius around the record.

    Args:
        radius: a number above 0; None: for each table the median, over known records, of the distance to the closest
            row, so that half of the known records have a row within it.
        nominal: as for `ClosestRecord`.

    Raises:
        ParameterError: a radius that is not above 0.
        AttackError: the pair or the outputs are not tables.

    References:
        Hilprecht, Haerterich and Bernau (2019), "Monte Carlo and reconstruction membership inference attacks against
        generative models".

    Example:
        >>> table, records = np.array([[0, 0], [1, 1], [2, 1]]), np.array([[2, 1], [7, 7]])
        >>> Neighbourhood(radius=1.0).signals(table[None], records, Known.of(table, records)).round(2).tolist()
        [[0.67, 0.0]]
    """

    radius: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.radius, str):
            raise ParameterError(argument="radius", value=self.radius, allowed="be a number above 0, or None")

    def signals(self, tables: Tables, records: Tables, known: Known) -> Floats:
        """Return shares, `(size, k)`."""
        within = known.squared_distances(tables, records) <= self._squared_radius(tables, known)
        return np.asarray(within.mean(axis=1))

    def _squared_radius(self, tables: Tables, known: Known) -> Floats:
        """Return squared radii, `(size, 1, 1)`, with a margin for rounding."""
        if self.radius is not None:
            return np.full((1, 1, 1), self.radius**2 * (1.0 + 1e-12))
        known_sample = known.records[:: 1 + len(known.records) // MOST_COMPARED]
        closest = known.squared_distances(tables, known_sample).min(axis=1)
        return np.asarray(np.median(closest, axis=1)[:, None, None] * (1.0 + 1e-12))


def nearest(squared: Floats, neighbour: int) -> Floats:
    """Return distances `(size, k)` to the row of rank `neighbour`, from squared ones `(size, n_rows, k)`."""
    index = min(neighbour, squared.shape[1]) - 1
    closest = squared.min(axis=1) if index == 0 else np.partition(squared, index, axis=1)[:, index]
    return np.sqrt(closest)


def share_closer(tables: Tables, used: Tables, unused: Tables, *, nominal: tuple[int, ...] | None = None) -> Floats:
    """Return the share of synthetic rows closer to a used record than to any of as many unused ones.

    A common metric, included for comparison: about one half is said to be a pass. It shows whether rows are copies, and
    nothing about privacy: a generator whose rows have one rare value of a person passes it. Ties count half.

    Args:
        tables: `(size, n_rows, d)` synthetic tables.
        used, unused: `(n, d)` records that the generator was trained on, and others from the same source.
        nominal: as for `ClosestRecord`.

    Returns:
        Shares, `(size,)`: a metric, not a bound.

    References:
        Criticised by Yao, Krco, Ganev and de Montjoye (2025), "The DCR delusion"; Ganev and De Cristofaro (2023),
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
