"""The interfaces of this package: read this first.

    Decoder   from the answers to many subset counts to a value for every bit
    Decoded   what it found, and which kind of truth that is
    Status    that kind

The secret is a column of n bits, x. A query is a subset of the records, a row of `queries`; its exact answer is the
number of ones in it, so that all of them together are A x. An attacker knows A and the answers a = A x + noise.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.base import Outputs
from ....mechanisms.counts.base import SubsetCounts
from ....mechanisms.errors import AttackError, ParameterError, plural
from ....mechanisms.validation import open_unit
from ..base import FairBits, Guesser, Reconstructor, SecretTarget

Floats = NDArray[np.float64]
TOLERANCE = 1e-7
"""What a solver's numbers may be off by."""


class Status(StrEnum):
    """What kind of truth a decoded column is."""

    OPTIMAL = "optimal"
    """The best that the rule of the decoder allows, and the only one that was found."""
    SEVERAL = "several solutions"
    """The answers fit several columns equally well: values between 0 and 1 stand for what they do not agree on."""
    LOCAL = "local optimum"
    """No small change makes it better; another column may be."""
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


class Decoder(Reconstructor):
    """A rule from answers to bits. Subclasses are frozen dataclasses whose fields are the options.

    A decoder is a reconstruction attack too: on a column of fair bits in a mechanism that answers subset counts.
    """

    def check(self, target: SecretTarget) -> None:
        """Raises `AttackError` unless the secret is the column of bits whose subset counts the mechanism answers."""
        if not isinstance(target.mechanism, SubsetCounts):
            raise AttackError(
                f"{type(self).__name__} decodes subset counts, such as those of LaplaceSubsetCounts, and not what "
                f"{type(target.mechanism).__name__} releases."
            )
        n, secret = target.mechanism.n_records, target.secret
        if not isinstance(secret, FairBits) or not _is_column(secret, n):
            raise AttackError(
                f"{type(self).__name__} decodes a column of bits, one for each of the {n} records of the mechanism. "
                f"Take the secret FairBits.column({n})."
            )

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """The guesser: the public queries, and this decoder. Nothing is run."""
        self.check(target)
        mechanism = target.mechanism
        assert isinstance(mechanism, SubsetCounts)
        return _Guesser(self, mechanism.subsets)

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
        covered: NDArray[np.bool_] = np.asarray(queries.any(axis=0))
        n_runs, n = len(answers), queries.shape[1]
        values = np.tile(self._unasked(n), (n_runs, 1))
        if not covered.any():
            note = "no query counts any record: nothing is known"
            return Decoded(values, (Status.SEVERAL,) * n_runs, (note,) * n_runs)
        found = self._only(covered)._decode(queries[:, covered], answers)
        values[:, covered] = np.clip(found.values, 0.0, 1.0)
        return _noted(replace(found, values=values), about(queries))

    def _unasked(self, n: int) -> Floats:
        """`(n,)` values of records that no query counts."""
        return np.full(n, 0.5)

    def _only(self, covered: NDArray[np.bool_]) -> Decoder:
        """The decoder of the covered records alone."""
        return self

    @abstractmethod
    def _decode(self, queries: Floats, answers: Floats) -> Decoded:
        """As `decode`: every query was answered in every run, and every record is in some query."""


class PriorDecoder(Decoder):
    """A decoder that may know how probable each bit is.

    Attributes:
        prior: `(n,)` probabilities that each bit is 1, in (0, 1); None: 1/2 each.
    """

    prior: tuple[float, ...] | None

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", tuple(self.prior))
            for one in self.prior:
                open_unit(prior=one)

    def _unasked(self, n: int) -> Floats:
        if self.prior is not None and len(self.prior) != n:
            raise ParameterError(
                f"prior must have one probability for each of the {n} records, but has {len(self.prior)}.",
                argument="prior",
            )
        return super()._unasked(n) if self.prior is None else np.asarray(self.prior)

    def _only(self, covered: NDArray[np.bool_]) -> Decoder:
        if self.prior is None:
            return self
        fields: Any = self
        restricted: Decoder = replace(fields, prior=tuple(np.asarray(self.prior)[covered].tolist()))
        return restricted

    @property
    def log_odds(self) -> Floats | float:
        """ln((1 - p) / p) of each bit, the price of a 1."""
        return 0.0 if self.prior is None else np.log1p(-np.asarray(self.prior)) - np.log(self.prior)


@dataclass(frozen=True, eq=False)
class _Guesser:
    """Scores of the bits, from the answers."""

    decoder: Decoder
    queries: NDArray[np.int8]

    def guess(self, outputs: Outputs) -> Floats:
        """`(size, n)` scores; 0 for all bits of an exceptional output."""
        answers = outputs.values.astype(np.float64).reshape(len(outputs), -1)
        if outputs.events is not None:
            answers[outputs.events != ""] = np.nan
        return self.decoder.decode(self.queries, answers).scores


def _is_column(secret: FairBits, n: int) -> bool:
    zeros, ones = np.asarray(secret.zeros), np.asarray(secret.ones)
    return zeros.shape == ones.shape == (n,) and not zeros.any() and bool((ones == 1).all())


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
    asked, fixed = (
        "1 query fixes" if m == 1 else f"{plural(m, 'query', 'queries')} fix",
        f"{rank} combination{'s' * (rank != 1)}",
    )
    said = [f"{asked} {fixed} of {plural(n, 'bit')}: even exact answers may fit several columns"]
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
