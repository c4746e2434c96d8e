"""Interfaces of decoders: read this first.

    Decoder   maps the answers to many subset counts to a value for every bit
    Decoded   the result, and its status
    Status    the status of a result

The secret is a column of n bits, x. A query is a subset of the records, a row of `queries`; its exact answer is the
number of ones in it, so the exact answers are A x. An attacker knows A and the answers a = A x + noise.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.core import AttackError, Bools, Floats, Ints, Outputs, ParameterError, open_unit, plural
from ....mechanisms.literature.counts.subset_counts import SubsetCounts
from ...reconstruction.base import FairBits, Guesser, Reconstructor, SecretTarget

SOLVER_TOLERANCE = 1e-7
"""Numerical tolerance of the solvers."""


class DecodingStatus(StrEnum):
    """Status of a decoded column."""

    OPTIMAL = "optimal"
    """The optimum of the decoder's objective, and the only one that was found."""
    SEVERAL = "several solutions"
    """The answers fit several columns equally well: bits in which they differ have values between 0 and 1."""
    LOCAL = "local optimum"
    """No small change improves it; another column may be better."""
    TIME_LIMIT = "time limit"
    """The solver was stopped: a partial result, which may not be the best."""
    INFEASIBLE = "infeasible"
    """No column fits the answers within the stated error: the values are those of the nearest fit."""


@dataclass(frozen=True, eq=False)
class DecodedAnswers:
    """Bits decoded from the answers of each run.

    Args:
        values: `(n_runs, n)` in [0, 1]: above 1/2 the bit is guessed to be 1, at 1/2 there is no guess.
        status: one per run.
        notes: one per run: remarks on the result, or "".
    """

    values: Floats
    status: tuple[DecodingStatus, ...]
    notes: tuple[str, ...]

    @property
    def bits(self) -> Bools:
        """Rounded values, `(n_runs, n)`; 1/2 becomes 0."""
        return self.values > 0.5

    @property
    def confidence(self) -> Floats:
        """Distance from no guess, 2 |value - 1/2|, `(n_runs, n)` in [0, 1]."""
        return 2.0 * np.abs(self.values - 0.5)

    @property
    def scores(self) -> Floats:
        """Scores of the bits, `(n_runs, n)`; higher = the bit is 1; 0 = no guess."""
        return self.values - 0.5

    def accuracy(self, bits: ArrayLike) -> Floats:
        """Return the share of correct bits, `(n_runs,)`; no guess counts as half correct."""
        truth = 2.0 * np.asarray(bits, dtype=np.float64) - 1.0
        return np.asarray((1.0 + np.sign(self.scores) * truth).mean(axis=-1) / 2.0)


class Decoder(Reconstructor):
    """Base class of decoders, which map answers to bits.

    Subclasses are frozen dataclasses whose fields are the options.

    A decoder is also a reconstruction attack on a column of fair bits in a mechanism that answers subset counts.
    """

    chosen_by_auto: ClassVar[bool] = False
    """Whether "auto" may choose this decoder: one of them, since all decode the same answers."""

    def check(self, target: SecretTarget) -> None:
        """Raise `AttackError` unless the secret is the column of bits whose subset counts the mechanism answers."""
        if not isinstance(target.mechanism, SubsetCounts):
            raise AttackError(
                f"{type(self).__name__} decodes subset counts, such as those of LaplaceSubsetCounts, not the outputs "
                f"of {type(target.mechanism).__name__}."
            )
        n, secret = target.mechanism.n_records, target.secret
        if not isinstance(secret, FairBits) or not _is_column(secret, n):
            raise AttackError(
                f"{type(self).__name__} decodes a column of bits, one for each of the {n} records of the mechanism. "
                f"Take the secret FairBits.column({n})."
            )

    def supports(self, target: SecretTarget) -> bool:
        """Return True for the decoder that "auto" chooses, if `check` passes."""
        return self.chosen_by_auto and super().supports(target)

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """Return the guesser: the public queries, and this decoder. No runs are made."""
        self.check(target)
        mechanism = target.mechanism
        assert isinstance(mechanism, SubsetCounts)
        return _Guesser(self, mechanism.subsets)

    def decode(self, queries: ArrayLike, answers: ArrayLike) -> DecodedAnswers:
        """Decode the bits from the answers.

        Args:
            queries: `(m, n)` 0 and 1: the records that each query counts.
            answers: `(m,)` of one run, or `(n_runs, m)`; NaN if a query was not answered.

        Returns:
            A `DecodedAnswers` with one row per run. A record that no answered query counts has the value 1/2.

        Raises:
            ParameterError: queries other than 0 and 1, answers of another shape, infinite answers.
        """
        subsets, observed = check_answers(queries, answers)
        answered = ~np.isnan(observed)
        patterns, pattern_index = np.unique(answered, axis=0, return_inverse=True)
        parts = []
        for index, pattern in enumerate(patterns):
            runs = np.flatnonzero(pattern_index.ravel() == index)
            parts.append((runs, self._decode_covered(subsets[pattern], observed[np.ix_(runs, pattern)])))
        return _joined(parts, len(observed))

    def _decode_covered(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        """Decode the records that some query counts; nothing is known of the others."""
        covered: Bools = np.asarray(queries.any(axis=0))
        n = queries.shape[1]
        values = np.tile(self._unasked(n), (len(answers), 1))
        if not covered.any():
            return constant_decoding(values, DecodingStatus.SEVERAL, "no query counts any record: nothing is known")
        decoded, note = self._only(covered)._decode(queries[:, covered], answers), _undetermined_note(queries)
        values[:, covered] = np.clip(decoded.values, 0.0, 1.0)
        notes = tuple("; ".join(filter(None, (run_note, note))) for run_note in decoded.notes)
        return replace(decoded, values=values, notes=notes)

    def _unasked(self, n: int) -> Floats:
        """Return the values `(n,)` of records that no query counts."""
        return np.full(n, 0.5)

    def _only(self, covered: Bools) -> Decoder:
        """Return the decoder of the covered records only."""
        return self

    @abstractmethod
    def _decode(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        """Decode as in `decode`, where every query was answered in every run and every record is in some query."""


class PriorDecoder(Decoder):
    """Base class of decoders with an optional prior on the bits.

    Attributes:
        prior: `(n,)` probabilities that each bit is 1, in (0, 1); None: 1/2 each.
    """

    prior: tuple[float, ...] | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is not None:
            object.__setattr__(self, "prior", tuple(self.prior))
            for probability in self.prior:
                open_unit(prior=probability)

    def _unasked(self, n: int) -> Floats:
        if self.prior is not None and len(self.prior) != n:
            raise ParameterError(
                f"prior must have one probability for each of the {n} records, but has {len(self.prior)}.",
                argument="prior",
            )
        return super()._unasked(n) if self.prior is None else np.asarray(self.prior)

    def _only(self, covered: Bools) -> Decoder:
        if self.prior is None:
            return self
        fields: Any = self
        restricted: Decoder = replace(fields, prior=tuple(np.asarray(self.prior)[covered].tolist()))
        return restricted

    @property
    def log_odds(self) -> Floats | float:
        """Negative log odds ln((1 - p) / p) of each bit, the cost of a 1."""
        return 0.0 if self.prior is None else np.log1p(-np.asarray(self.prior)) - np.log(self.prior)


@dataclass(frozen=True, eq=False)
class _Guesser:
    """Guesser that decodes the answers to scores of the bits."""

    decoder: Decoder
    queries: NDArray[np.int8]

    def guess(self, outputs: Outputs) -> Floats:
        """Return scores, `(size, n)`; 0 for all bits of an exceptional output."""
        answers = outputs.values.astype(np.float64).reshape(len(outputs), -1)
        if outputs.events is not None:
            answers[outputs.events != ""] = np.nan
        return self.decoder.decode(self.queries, answers).scores


def _is_column(secret: FairBits, n: int) -> bool:
    zeros, ones = np.asarray(secret.zeros), np.asarray(secret.ones)
    return zeros.shape == ones.shape == (n,) and not zeros.any() and bool((ones == 1).all())


def check_answers(queries: ArrayLike, answers: ArrayLike) -> tuple[Floats, Floats]:
    """Return `(m, n)` queries and `(n_runs, m)` answers; raise `ParameterError` if they are invalid."""
    subsets = np.asarray(queries, dtype=np.float64)
    if subsets.ndim != 2 or subsets.size == 0:
        raise ParameterError(
            f"queries must have shape (m, n), a row per query, both at least 1, but has shape {subsets.shape}.",
            argument="queries",
        )
    if not np.isin(subsets, (0.0, 1.0)).all():
        raise ParameterError("queries must be 0 and 1: the records that each query counts.", argument="queries")
    observed = np.atleast_2d(np.asarray(answers, dtype=np.float64))
    if observed.ndim != 2 or observed.shape[1] != len(subsets):
        raise ParameterError(
            f"answers must have shape ({len(subsets)},) or (n_runs, {len(subsets)}), one per query, but has shape "
            f"{np.shape(answers)}.",
            argument="answers",
        )
    if np.isinf(observed).any():
        raise ParameterError(
            "answers must be finite; give NaN where a query was not answered, but some are infinite.",
            argument="answers",
        )
    return subsets, observed


def _undetermined_note(queries: Floats) -> str:
    """Return a note on what the queries cannot determine, for any answers; "" if they determine everything."""
    m, n = queries.shape
    missing = np.flatnonzero(~queries.any(axis=0))
    rank = int(np.linalg.matrix_rank(queries.T @ queries, hermitian=True))
    if rank == n:
        return ""
    fixing = "1 query fixes" if m == 1 else f"{plural(m, 'query', 'queries')} fix"
    combinations = f"{plural(rank, 'combination')} of {plural(n, 'bit')}"
    notes = [f"{fixing} {combinations}: even exact answers may fit several columns"]
    if len(missing):
        shown = ", ".join(map(str, missing[:5].tolist())) + (", ..." if len(missing) > 5 else "")
        notes.append(f"no query counts record {shown}, of which nothing is known")
    return "; ".join(notes)


def constant_decoding(
    values: Floats, status: DecodingStatus = DecodingStatus.OPTIMAL, note: str = ""
) -> DecodedAnswers:
    """Return a `DecodedAnswers` with the same status and note in all runs."""
    return DecodedAnswers(values, (status,) * len(values), (note,) * len(values))


def stacked(runs: list[tuple[Floats, DecodingStatus, str]]) -> DecodedAnswers:
    """Return a `DecodedAnswers` of runs that were decoded one by one."""
    values, status, notes = zip(*runs, strict=True)
    return DecodedAnswers(np.stack(values), tuple(status), tuple(notes))


def _joined(parts: list[tuple[Ints, DecodedAnswers]], n_runs: int) -> DecodedAnswers:
    """Join groups of runs in their original order."""
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([runs for runs, _ in parts]))
    values = np.concatenate([decoded.values for _, decoded in parts])[order]
    status = [run_status for _, decoded in parts for run_status in decoded.status]
    notes = [run_note for _, decoded in parts for run_note in decoded.notes]
    return DecodedAnswers(values, tuple(status[i] for i in order), tuple(notes[i] for i in order))
