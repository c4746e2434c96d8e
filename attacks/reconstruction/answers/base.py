"""The interfaces of this package: read this first.

    Decoder   from the answers to many subset counts to a value for every bit
    Decoded   what it found, and which kind of truth that is
    Status    that kind

The secret is a column of n bits, x. A query is a subset of the records, a row of `queries`; its exact answer is the
number of ones in it, so that all of them together are A x. An attacker knows A and the answers a = A x + noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.errors import ParameterError

Floats = NDArray[np.float64]
TOLERANCE = 1e-7
"""What a solver's numbers may be off by."""


class Status(StrEnum):
    """What kind of truth a decoded column is."""

    OPTIMAL = "optimal"
    """The best that the rule of the decoder allows, and the only one that was found."""
    SEVERAL = "several solutions"
    """The answers fit several columns equally well: values between 0 and 1 stand for what they do not agree on."""
    TIME_LIMIT = "time limit"
    """The solver was stopped: a partial result, which may not be the best."""
    INFEASIBLE = "infeasible"
    """No column fits the answers within the stated error: the values are those of the nearest fit."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """What the answers of each run gave away.

    Args:
        values: `(n_runs, n)` in [0, 1]: above 1/2 the bit is guessed to be 1, at 1/2 there is no guess.
        status: one a run.
        notes: one a run: what a reader must know about it, "" where there is nothing to say.
    """

    values: Floats
    status: tuple[Status, ...]
    notes: tuple[str, ...]

    @property
    def bits(self) -> NDArray[np.bool_]:
        """`(n_runs, n)` the rounded values; 1/2 becomes 0."""
        return self.values > 0.5

    @property
    def confidence(self) -> Floats:
        """`(n_runs, n)` distance from no guess, 2 |value - 1/2|, in [0, 1]."""
        return 2.0 * np.abs(self.values - 0.5)

    @property
    def scores(self) -> Floats:
        """`(n_runs, n)` higher = the bit is 1; 0 = no opinion."""
        return self.values - 0.5

    def accuracy(self, bits: ArrayLike) -> Floats:
        """`(n_runs,)` share of right bits; no opinion counts as half right."""
        truth = 2.0 * np.asarray(bits, dtype=np.float64) - 1.0
        return np.asarray((1.0 + np.sign(self.scores) * truth).mean(axis=-1) / 2.0)


class Decoder(ABC):
    """A rule from answers to bits. Subclasses are frozen dataclasses whose fields are the options."""

    def decode(self, queries: ArrayLike, answers: ArrayLike) -> Decoded:
        """The bits behind the answers.

        Args:
            queries: `(m, n)` 0 and 1: which records each query counts.
            answers: `(m,)` of one run, or `(n_runs, m)`; NaN where a query was not answered.

        Returns:
            A `Decoded` with one row a run. A record that no answered query counts has the value 1/2.

        Raises:
            ParameterError: queries other than 0 and 1, answers of another shape, infinite answers.
        """
        subsets, given = check_answers(queries, answers)
        known = ~np.isnan(given)
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        parts = []
        for number, pattern in enumerate(patterns):
            runs = np.flatnonzero(which.ravel() == number)
            parts.append((runs, self._decode_covered(subsets[pattern], given[np.ix_(runs, pattern)])))
        return _joined(parts, len(given))

    def _decode_covered(self, queries: Floats, answers: Floats) -> Decoded:
        """The records that some query counts are decoded; of the others nothing is known."""
        covered = queries.any(axis=0)
        n_runs, n = len(answers), queries.shape[1]
        values = np.full((n_runs, n), 0.5)
        if not covered.any():
            note = "no query counts any record: nothing is known"
            return Decoded(values, (Status.SEVERAL,) * n_runs, (note,) * n_runs)
        found = self._decode(queries[:, covered], answers)
        values[:, covered] = np.clip(found.values, 0.0, 1.0)
        return _noted(replace(found, values=values), about(queries))

    @abstractmethod
    def _decode(self, queries: Floats, answers: Floats) -> Decoded:
        """As `decode`: every query was answered in every run, and every record is in some query."""


def check_answers(queries: ArrayLike, answers: ArrayLike) -> tuple[Floats, Floats]:
    """`(m, n)` queries and `(n_runs, m)` answers; raises `ParameterError` on anything else."""
    subsets = np.asarray(queries, dtype=np.float64)
    if subsets.ndim != 2 or subsets.size == 0:
        raise ParameterError(
            f"queries must have shape (m, n), a row a query, both at least 1, but has shape {subsets.shape}.",
            argument="queries",
        )
    if not np.isin(subsets, (0.0, 1.0)).all():
        raise ParameterError("queries must hold 0 and 1: which records each query counts.", argument="queries")
    given = np.atleast_2d(np.asarray(answers, dtype=np.float64))
    if given.ndim != 2 or given.shape[1] != len(subsets):
        raise ParameterError(
            f"answers must have shape ({len(subsets)},) or (n_runs, {len(subsets)}), one a query, but has shape "
            f"{np.shape(answers)}.",
            argument="answers",
        )
    if np.isinf(given).any():
        raise ParameterError(
            "answers must be finite; give NaN where a query was not answered, but some are infinite.",
            argument="answers",
        )
    return subsets, given


def about(queries: Floats) -> str:
    """What the queries cannot tell, whatever the answers are; "" where they can tell everything."""
    m, n = queries.shape
    missing = np.flatnonzero(~queries.any(axis=0))
    rank = int(np.linalg.matrix_rank(queries.T @ queries, hermitian=True))
    if rank == n:
        return ""
    said = [f"{m} queries fix {rank} combinations of {n} bits: even exact answers may fit several columns"]
    if len(missing):
        shown = ", ".join(map(str, missing[:5].tolist())) + (", ..." if len(missing) > 5 else "")
        said.append(f"no query counts record {shown}, of which nothing is known")
    return "; ".join(said)


def everywhere(values: Floats, status: Status = Status.OPTIMAL, note: str = "") -> Decoded:
    """The same status and note in all runs."""
    return Decoded(values, (status,) * len(values), (note,) * len(values))


def stacked(runs: list[tuple[Floats, Status, str]]) -> Decoded:
    """Runs that were decoded one by one."""
    values, status, notes = zip(*runs, strict=True)
    return Decoded(np.stack(values), tuple(status), tuple(notes))


def _noted(found: Decoded, note: str) -> Decoded:
    return replace(found, notes=tuple("; ".join(filter(None, (own, note))) for own in found.notes))


def _joined(parts: list[tuple[NDArray[np.int64], Decoded]], n_runs: int) -> Decoded:
    """Groups of runs put back into their order."""
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([runs for runs, _ in parts]))
    values = np.concatenate([found.values for _, found in parts])[order]
    status = [one for _, found in parts for one in found.status]
    notes = [one for _, found in parts for one in found.notes]
    return Decoded(values, tuple(status[i] for i in order), tuple(notes[i] for i in order))
