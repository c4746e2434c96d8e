"""The attack on published tables in the reconstruction game, which guesses the person that was drawn."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np

from ....mechanisms.core import AttackError, Floats, Ints, Outputs, Positive, at_least
from ....mechanisms.literature.query_release.tables.noisy import NoisyTables
from ....mechanisms.literature.query_release.tables.swapped import SwappedTables
from ...reconstruction.base import Guesser, OneOf, Reconstructor, SecretTarget, record_secret
from .decoding import Distinct, residual_rows
from .encoding import encode
from .integer_programme import Deadline, SolverStatus, row
from .published import PublishedTables

MIN_CELL_VARIANCE = 1e-2
"""Variance added to each cell."""


@dataclass(frozen=True)
class TablesReconstructor(Reconstructor):
    """Guess of the candidate that fits the published tables best.

    With `others_known` the tables of the block with each candidate are compared with the published tables. Under noisy
    counts the candidate with the smallest sum of absolute differences is guessed, which is the maximum likelihood. The
    effect of swapping on the tables is learned from runs: a linear discriminant (Fisher 1936), with the mean tables of
    each candidate and one covariance for all.

    Without `others_known`, no person in the block is known. One integer programme then finds a block and the candidate
    in it: among all blocks with the exact tables, or among those that fit noisy counts best. Of candidates that fit
    equally well the first is guessed.

    Args:
        others_known: whether the other people are known; if not, one integer programme is solved for each distinct
            output.
        n_learn: runs on each candidate to learn the discriminant, >= 2; they are never counted.
        seconds: time limit of each programme, > 0. After it there is no guess, which is wrong.

    Raises:
        AttackError: a mechanism that publishes no tables, or a secret that is not one of several people.
    """

    _: KW_ONLY
    others_known: bool = True
    n_learn: Annotated[int, at_least(2)] = 200
    seconds: Positive = 10.0

    def check(self, target: SecretTarget) -> None:
        if not isinstance(target.mechanism, (NoisyTables, SwappedTables)):
            raise AttackError(
                "the attack on published tables needs noisy-tables or swapped-tables, but the mechanism is "
                f"{type(target.mechanism).__name__}. Take another attack."
            )
        if not (self.others_known and isinstance(target.secret, OneOf)):
            record_secret(target, "the attack on published tables")

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """Return the guesser; for swapped tables, the mechanism is run on each candidate."""
        self.check(target)
        mechanism: Any = target.mechanism
        secret: Any = target.secret
        blocks = [mechanism.tables.domain.checked(candidate) for candidate in secret.candidates]
        if self.others_known and getattr(mechanism, "share", 0.0) > 0.0:
            return _discriminant([mechanism.release(block, self.n_learn, rng).values for block in blocks])
        if self.others_known:
            return _Nearest(mechanism.tables.of(np.stack(blocks)))
        types = mechanism.tables.domain.types(np.stack([block[secret.record] for block in blocks]))
        return _Programme(mechanism, types, len(blocks[0]), self.seconds)


@dataclass(frozen=True, eq=False)
class _Nearest:
    """Guesser of the first candidate whose tables have the smallest sum of absolute differences."""

    tables: Floats

    def guess(self, outputs: Outputs) -> Ints:
        values = outputs.values.reshape(len(outputs), -1)
        distances = np.stack([np.abs(values - candidate).sum(axis=1) for candidate in self.tables], axis=1)
        return np.asarray(np.round(distances, 6).argmin(axis=1))


@dataclass(frozen=True, eq=False)
class _Discriminant:
    """Guesser of the largest linear score: log likelihood of normal outputs with a common covariance."""

    weights: Floats
    offsets: Floats

    def guess(self, outputs: Outputs) -> Ints:
        return np.asarray((outputs.values @ self.weights + self.offsets).argmax(axis=1))


def _discriminant(runs: list[Floats]) -> _Discriminant:
    """Learn from runs on each candidate; MIN_CELL_VARIANCE is added to each variance, as some cells never vary."""
    means = np.stack([values.mean(axis=0) for values in runs])
    residuals = np.concatenate([values - mean for values, mean in zip(runs, means, strict=True)])
    covariance = residuals.T @ residuals / len(residuals) + MIN_CELL_VARIANCE * np.eye(residuals.shape[1])
    weights = np.linalg.solve(covariance, means.T)
    return _Discriminant(weights, -0.5 * np.sum(means.T * weights, axis=0))


@dataclass(frozen=True, eq=False)
class _Programme:
    """Guesser of the candidate in a block that has the tables, or fits noisy tables best."""

    mechanism: NoisyTables | SwappedTables
    types: Ints
    n_people: int
    seconds: float
    guesses: dict[bytes, int] = field(default_factory=dict)

    def guess(self, outputs: Outputs) -> Ints:
        """Return indices of candidates, `(size,)`; -1 if time ran out, or no block has the tables."""
        values = np.asarray(outputs.values, dtype=np.float64).reshape(len(outputs), -1)
        for value in values:
            if value.tobytes() not in self.guesses:
                self.guesses[value.tobytes()] = self._solved(value)
        return np.array([self.guesses[value.tobytes()] for value in values], dtype=np.int64)

    def _solved(self, value: Floats) -> int:
        """Solve with one binary per candidate; the one that is 1 has a person of its type in the block."""
        if isinstance(self.mechanism, NoisyTables):
            distinct = Distinct(self.mechanism.in_cells)
            rows, objective = residual_rows(distinct, value, self.n_people)
            columns = distinct.of_type[self.types]
        else:
            published = PublishedTables(self.mechanism.tables, tuple(value), n_people=self.n_people)
            rows = encode(published, deadline=Deadline(self.seconds)).rows
            objective, columns = np.zeros(0), self.types
        binaries = rows.new(len(self.types), 1.0)
        rows.add(row(binaries, 1.0, 1.0, 1.0))
        for column, binary in zip(columns, binaries, strict=True):
            rows.add(row([column, binary], [1.0, -1.0], low=0.0))
        cost = np.zeros(len(rows.upper))
        cost[: len(objective)] = objective
        cost[binaries] = np.arange(len(binaries)) / (2 * len(binaries))  # less than a residual, which is a whole number
        answer = rows.solve(objective=cost, deadline=Deadline(self.seconds))
        if answer.columns is None or answer.status is not SolverStatus.FOUND:
            return -1
        return int(answer.columns[binaries].argmax())
