"""Rounds of the reconstruction game, one chunk at a time: secrets, runs, guesses. Workers receive these objects.

Rounds are independent and identically distributed, so their order is irrelevant. One of k candidates: the rounds of a
chunk are counted by candidate, multinomially, and the rounds of one candidate are one call of `release`. Fair bits:
each round has its own dataset, and so a separate call.

For user code, independence is tested (`dpassay.audit.trials.independence`), on quantities that are independent
and identically distributed under the null, for every law of the outputs:

    one of k     the outputs of the rounds with one candidate, given their number; even candidates stand for side 0, odd
                 candidates for side 1, and the event is a right guess
    fair bits    the agreement between the guesses of a round and its bits; the event is an agreement of at least half
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...attacks.reconstruction.base import Guesser, SecretTarget
from ...mechanisms.core import AttackError, Bools, Floats, Ints, Mechanism, Outputs, ParameterError, Relation, plural
from ..evidence.scores import BitScores, Successes
from ..trials.array_files import Arrays, Expected
from ..trials.independence import Independence, expected_order, order, order_of_sums
from ..trials.plan import CHUNKS_PER_SIDE, MAX_CHUNK_BYTES, MAX_CHUNK_TRIALS, Chunk
from ..trials.reduction import joined
from ..trials.repeated_outputs import NO_SIGNATURE, SIGNATURE_TYPE, signature
from ..trials.seeds import Stage, stream
from ..trials.work import NAMES_TYPE, run_each

MAX_CHUNKS = 10**6
"""Largest number of chunks of a game."""


def plan_rounds(n_rounds: int, bytes_per_round: int, smallest: int = 1) -> list[Chunk]:
    """Return the chunks of a number of rounds, each of at least `smallest` rounds if there are enough.

    >>> len(plan_rounds(200, 40, 256)), len(plan_rounds(200, 40)), max(c.size for c in plan_rounds(10**6, 2**20))
    (1, 29, 16)
    """
    wanted = max(-(-n_rounds // CHUNKS_PER_SIDE), smallest)
    size = min(wanted, MAX_CHUNK_TRIALS, max(1, MAX_CHUNK_BYTES // bytes_per_round))
    if n_rounds > MAX_CHUNKS * size:
        raise ParameterError(
            f"n_rounds must be at most {MAX_CHUNKS * size:,} for this secret, but is {n_rounds:,}, which would take "
            "days. Choose fewer rounds.",
            argument="n_rounds",
        )
    starts = enumerate(range(0, n_rounds, size))
    return [Chunk(Stage.EVALUATION, 0, index, start, min(size, n_rounds - start)) for index, start in starts]


@dataclass(frozen=True, eq=False)
class Rounds:
    """The work that runs the rounds of a chunk.

    Args:
        target: the mechanism that runs, and the secret.
        guesser: the guesser, fixed before the first round.
        seed: root of the streams, one per chunk.
        tested: True if the independence of the rounds is tested.
        timeout: seconds that one call of audited code may take.
    """

    target: SecretTarget
    guesser: Guesser
    seed: int
    tested: bool
    timeout: float | None = None

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism that runs."""
        return self.target.mechanism


@dataclass(frozen=True, eq=False)
class CandidateRounds(Rounds):
    """The work that runs the rounds of a chunk with a secret that is one of k candidates."""

    def __call__(self, chunk: Chunk) -> Arrays:
        secret: Any = self.target.secret
        rng = stream(self.seed, chunk.stage, chunk.side, chunk.index)
        counts = secret.draw(chunk.size, rng)
        drawn = np.flatnonzero(counts)
        calls = [(secret.candidates[truth], int(counts[truth])) for truth in drawn]
        runs, changed = run_each(self.mechanism, calls, rng, self.seed, chunk, self.timeout)
        truths = np.repeat(drawn, counts[drawn])
        right = secret.correct(truths, self._guesses(joined(runs), secret.k))
        arrays: Arrays = {"n_success": np.array([np.count_nonzero(right)]), "signature": NO_SIGNATURE}
        if self.tested:
            arrays |= {"signature": signature(runs[0])} | _order_of_candidates(drawn, runs, right)
        return arrays | changed

    def expected(self, chunk: Chunk) -> dict[str, Expected]:
        """Return the types and shapes of the arrays of a chunk."""
        fields = {"n_success": Expected("i", (1,), most=chunk.size), "signature": SIGNATURE_TYPE, "changed": NAMES_TYPE}
        for side in (0, 1) if self.tested else ():
            fields[f"size-{side}"] = Expected("i", (1,), most=chunk.size, optional=True)
            for name, expected in expected_order(None, 1).items():
                fields[f"{name}-{side}"] = replace(expected, optional=True)
        return fields

    def _guesses(self, outputs: Outputs, k: int) -> Ints:
        """Return the guesses; raise `AttackError` if they are invalid."""
        guesses = np.asarray(self.guesser.guess(outputs))
        valid = guesses.shape == (len(outputs),) and guesses.dtype.kind in "iu"
        if not valid or ((guesses < -1) | (guesses >= k)).any():
            raise AttackError(
                f"{type(self.guesser).__name__}.guess must return the number of a candidate, from 0 to {k - 1}, or -1, "
                f"for each of {plural(len(outputs), 'output')}, but returned {guesses.dtype} of shape {guesses.shape}."
            )
        return guesses.astype(np.int64)


@dataclass(frozen=True, eq=False)
class BitRounds(Rounds):
    """The work that runs the rounds of a chunk with a secret that consists of fair bits."""

    def __call__(self, chunk: Chunk) -> Arrays:
        secret: Any = self.target.secret
        rng = stream(self.seed, chunk.stage, chunk.side, chunk.index)
        bits = secret.draw(chunk.size, stream(self.seed, Stage.COINS, chunk.side, chunk.index))
        calls = ((secret.dataset(row), 1) for row in bits)
        runs, changed = run_each(self.mechanism, calls, rng, self.seed, chunk, self.timeout)
        outputs = joined(runs)
        scores = self._scores(outputs, secret.n)
        arrays: Arrays = {"bits": bits, "scores": scores, "signature": NO_SIGNATURE}
        if self.tested:
            agreement = (np.sign(scores) * np.where(bits, 1.0, -1.0)).sum(axis=1)
            arrays |= {"signature": signature(outputs)} | order(outputs, agreement, np.zeros(1))
        return arrays | changed

    def expected(self, chunk: Chunk) -> dict[str, Expected]:
        """Return the types and shapes of the arrays of a chunk."""
        shape = (chunk.size, self.target.secret.n)  # type: ignore[attr-defined]
        fields = {
            "bits": Expected("b", shape),
            "scores": Expected("f", shape),
            "signature": SIGNATURE_TYPE,
            "changed": NAMES_TYPE,
        }
        return fields | (expected_order(chunk.size, 1) if self.tested else {})

    def _scores(self, outputs: Outputs, n: int) -> Floats:
        """Return the scores; raise `AttackError` if they are invalid."""
        scores = np.asarray(self.guesser.guess(outputs), dtype=np.float64)
        if scores.shape != (len(outputs), n) or np.isnan(scores).any():
            raise AttackError(
                f"{type(self.guesser).__name__}.guess must return a score, no NaN, for each of {n} bits of each of "
                f"{plural(len(outputs), 'output')}, but returned shape "
                f"{scores.shape}{' with NaN' * bool(np.isnan(scores).any())}."
            )
        return scores


class SuccessReduction:
    """The successes of all chunks, and the data for the test of independence."""

    def __init__(self, target: SecretTarget, n_rounds: int, independence: Independence | None) -> None:
        self._target, self._n_rounds, self._n_success = target, n_rounds, 0
        self._independence = independence

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""
        self._n_success += int(arrays["n_success"].sum())
        for side in (0, 1) if self._independence is not None else ():
            if f"size-{side}" in arrays:
                of_side = replace(chunk, side=side, size=int(arrays[f"size-{side}"][0]))
                parts = {name: arrays[f"{name}-{side}"] for name in ("together", "head", "event_hits")}
                self._independence.add(of_side, parts)  # type: ignore[union-attr]

    def evidence(self) -> Successes:
        """Return the evidence, after all chunks were added."""
        secret: Any = self._target.secret
        compared = secret.is_uniform and self._target.mechanism.relation is Relation.REPLACE_ONE
        return Successes(self._n_success, self._n_rounds, secret.prior_success, secret.k if compared else 0)


class BitReduction:
    """The bits and scores of all chunks, and the data for the test of independence."""

    def __init__(self, target: SecretTarget, n_rounds: int, independence: Independence | None) -> None:
        secret: Any = target.secret
        self._bits = np.zeros((n_rounds, secret.n), dtype=np.bool_)
        self._scores = np.zeros((n_rounds, secret.n))
        self._independence = independence

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""
        rows = slice(chunk.start, chunk.start + chunk.size)
        self._bits[rows], self._scores[rows] = arrays["bits"], arrays["scores"]
        if self._independence is not None:
            self._independence.add(chunk, arrays)

    def evidence(self) -> BitScores:
        """Return the evidence, after all chunks were added."""
        return BitScores(self._bits, self._scores, relation=Relation.REPLACE_ONE)


def _order_of_candidates(drawn: Ints, runs: list[Outputs], right: Bools) -> Arrays:
    """Return data on the order of the rounds of a chunk, for each of two sides: see the module docstring."""
    arrays: Arrays = {}
    won = np.split(right, np.cumsum([len(run) for run in runs])[:-1])
    for side in (0, 1):
        indices = [index for index, truth in enumerate(drawn) if truth % 2 == side]
        if not indices:
            continue
        parts = [order_of_sums(runs[index]) for index in indices]
        first = parts[0]["head"] if drawn[indices[0]] == side else parts[0]["head"][:, :0]
        arrays |= {
            f"size-{side}": np.array([sum(len(runs[index]) for index in indices)]),
            f"together-{side}": np.sum([part["together"] for part in parts], axis=0),
            f"head-{side}": first,
            f"event_hits-{side}": np.array([sum(np.count_nonzero(won[index]) for index in indices)]),
        }
    return arrays
