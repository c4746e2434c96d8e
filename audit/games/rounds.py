"""Rounds of the reconstruction game, a chunk at a time: secrets, runs, guesses. This is what travels to workers.

Rounds are independent and identically distributed, so that their order is free. One of k candidates: the rounds of a
chunk are counted by candidate, multinomially, and those of one candidate are one call of `release`. Fair bits: each
round has a dataset of its own, and so a call of its own.

Are they independent? Where other people's code runs, that is tested (`dpassay.audit.trials.guards.independence`), on
what is independent and identically distributed under the null, whatever the law of the outputs:

    one of k     the outputs of the rounds with one candidate, given how many they are; candidates with even numbers
                 stand for side 0, those with odd ones for side 1, and whether a guess is right for the event
    fair bits    how well the guesses of a round agree with its bits; at least half is the event
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...attacks.reconstruction.base import Guesser, SecretTarget
from ...mechanisms.base import Mechanism, Outputs
from ...mechanisms.errors import AttackError, ParameterError, plural
from ...mechanisms.relation import Relation
from ..evidence.scores import BitScores, Floats, Successes
from ..trials.guards.independence import Independence, order
from ..trials.guards.replay import signature
from ..trials.plan import CHUNK_BYTES, CHUNK_TRIALS, CHUNKS_A_SIDE, Chunk
from ..trials.seeds import Stage, stream
from ..trials.store import Arrays
from ..trials.work import run_each

MOST_CHUNKS = 10**6
"""Chunks of a game, at most."""
_UNSIGNED = np.empty(0, dtype=np.uint8)
"""In the place of a chunk's signature: rounds that are independent by construction do not repeat each other."""
_NO_EVENTS = np.empty(0)


def plan_rounds(n_rounds: int, bytes_per_round: int, smallest: int = 1) -> list[Chunk]:
    """The chunks of a number of rounds, of `smallest` or more where there are so many.

    >>> len(plan_rounds(200, 40, 256)), len(plan_rounds(200, 40)), max(c.size for c in plan_rounds(10**6, 2**20))
    (1, 29, 16)
    """
    wanted = max(-(-n_rounds // CHUNKS_A_SIDE), smallest)
    size = min(wanted, CHUNK_TRIALS, max(1, CHUNK_BYTES // bytes_per_round))
    if n_rounds > MOST_CHUNKS * size:
        raise ParameterError(
            f"n_rounds must be at most {MOST_CHUNKS * size:,} here, but is {n_rounds:,}: they would take days. Ask for "
            "fewer.",
            argument="n_rounds",
        )
    starts = enumerate(range(0, n_rounds, size))
    return [Chunk(Stage.EVALUATION, 0, index, start, min(size, n_rounds - start)) for index, start in starts]


@dataclass(frozen=True, eq=False)
class Rounds:
    """What plays the rounds of a chunk.

    Args:
        target: the mechanism that runs, and the secret.
        guesser: fixed before the first round.
        seed: root of the streams, one a chunk.
        tested: whether the independence of the rounds is tested.
        timeout: seconds that one call of audited code may take.
    """

    target: SecretTarget
    guesser: Guesser
    seed: int
    tested: bool
    timeout: float | None = None

    @property
    def mechanism(self) -> Mechanism:
        """What runs."""
        return self.target.mechanism


@dataclass(frozen=True, eq=False)
class CandidateRounds(Rounds):
    """Plays the rounds of a chunk whose secret is one of k candidates."""

    def __call__(self, chunk: Chunk) -> Arrays:
        secret: Any = self.target.secret
        rng = stream(self.seed, chunk.stage, chunk.side, chunk.index)
        counts = secret.draw(chunk.size, rng)
        drawn = np.flatnonzero(counts)
        asked = [(secret.candidates[truth], int(counts[truth])) for truth in drawn]
        runs, changed = run_each(self.mechanism, asked, rng, self.seed, chunk, self.timeout)
        truths = np.repeat(drawn, counts[drawn])
        right = secret.right(truths, self._guesses(joined(runs), secret.k))
        seen: Arrays = {"n_success": np.array([np.count_nonzero(right)]), "signature": _UNSIGNED}
        if self.tested:
            seen |= {"signature": signature(runs[0])} | _order_of_candidates(drawn, runs, right)
        return seen | changed

    def _guesses(self, outputs: Outputs, k: int) -> NDArray[np.int64]:
        """The guesses, checked."""
        found = np.asarray(self.guesser.guess(outputs))
        if found.shape != (len(outputs),) or found.dtype.kind not in "iu" or ((found < -1) | (found >= k)).any():
            raise AttackError(
                f"{type(self.guesser).__name__}.guess must return the number of a candidate, from 0 to {k - 1}, or -1, "
                f"for each of {len(outputs)} outputs, but returned {found.dtype} of shape {found.shape}."
            )
        return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class BitRounds(Rounds):
    """Plays the rounds of a chunk whose secret are fair bits."""

    def __call__(self, chunk: Chunk) -> Arrays:
        secret: Any = self.target.secret
        rng = stream(self.seed, chunk.stage, chunk.side, chunk.index)
        bits = secret.draw(chunk.size, stream(self.seed, Stage.COINS, chunk.side, chunk.index))
        asked = ((secret.dataset(row), 1) for row in bits)
        runs, changed = run_each(self.mechanism, asked, rng, self.seed, chunk, self.timeout)
        outputs = joined(runs)
        scores = self._scores(outputs, secret.n)
        seen: Arrays = {"bits": bits, "scores": scores, "signature": _UNSIGNED}
        if self.tested:
            agreement = (np.sign(scores) * np.where(bits, 1.0, -1.0)).sum(axis=1)
            seen |= {"signature": signature(outputs)} | order(outputs, agreement, np.zeros(1))
        return seen | changed

    def _scores(self, outputs: Outputs, n: int) -> Floats:
        """The scores, checked."""
        found = np.asarray(self.guesser.guess(outputs), dtype=np.float64)
        if found.shape != (len(outputs), n) or np.isnan(found).any():
            raise AttackError(
                f"{type(self.guesser).__name__}.guess must return a score, no NaN, for each of {n} bits of each of "
                f"{plural(len(outputs), 'output')}, but returned shape "
                f"{found.shape}{' with NaN' * bool(np.isnan(found).any())}."
            )
        return found


class Won:
    """Successes of all chunks, and what they tell of the independence of the rounds."""

    def __init__(self, target: SecretTarget, n_rounds: int, independence: Independence | None) -> None:
        self._target, self._n_rounds, self._n_success = target, n_rounds, 0
        self._independence = independence

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk."""
        self._n_success += int(arrays["n_success"].sum())
        for side in (0, 1) if self._independence is not None else ():
            if f"size-{side}" in arrays:
                here = replace(chunk, side=side, size=int(arrays[f"size-{side}"][0]))
                parts = {name: arrays[f"{name}-{side}"] for name in ("together", "head", "event_hits")}
                self._independence.add(here, parts)  # type: ignore[union-attr]

    def evidence(self) -> Successes:
        """Once every chunk is in."""
        secret: Any = self._target.secret
        compared = secret.is_uniform and self._target.mechanism.relation is Relation.REPLACE_ONE
        return Successes(self._n_success, self._n_rounds, secret.prior_success, secret.k if compared else 0)


class Guessed:
    """Bits and scores of all chunks, and what they tell of the independence of the rounds."""

    def __init__(self, target: SecretTarget, n_rounds: int, independence: Independence | None) -> None:
        secret: Any = target.secret
        self._bits = np.zeros((n_rounds, secret.n), dtype=np.bool_)
        self._scores = np.zeros((n_rounds, secret.n))
        self._independence = independence

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk."""
        here = slice(chunk.start, chunk.start + chunk.size)
        self._bits[here], self._scores[here] = arrays["bits"], arrays["scores"]
        if self._independence is not None:
            self._independence.add(chunk, arrays)

    def evidence(self) -> BitScores:
        """Once every chunk is in."""
        return BitScores(self._bits, self._scores, relation=Relation.REPLACE_ONE)


def joined(runs: list[Outputs]) -> Outputs:
    """The outputs of several calls, one after the other."""
    values = np.concatenate([run.values for run in runs])
    if all(run.events is None for run in runs):
        return Outputs(values)
    events = [np.full(len(run), "", dtype=np.str_) if run.events is None else run.events for run in runs]
    return Outputs(values, np.concatenate(events))


def _order_of_candidates(drawn: NDArray[np.int64], runs: list[Outputs], right: NDArray[np.bool_]) -> Arrays:
    """What a chunk tells about the order of its rounds, for each of two sides: see above."""
    found: Arrays = {}
    won = np.split(right, np.cumsum([len(run) for run in runs])[:-1])
    for side in (0, 1):
        here = [place for place, truth in enumerate(drawn) if truth % 2 == side]
        if not here:
            continue
        parts = [_order_of(runs[place]) for place in here]
        first = parts[0]["head"] if drawn[here[0]] == side else parts[0]["head"][:, :0]
        found |= {
            f"size-{side}": np.array([sum(len(runs[place]) for place in here)]),
            f"together-{side}": np.sum([part["together"] for part in parts], axis=0),
            f"head-{side}": first,
            f"event_hits-{side}": np.array([sum(np.count_nonzero(won[place]) for place in here)]),
        }
    return found


def _order_of(outputs: Outputs) -> Arrays:
    """The order of the runs on one dataset, by the sum of the numbers of each output."""
    with np.errstate(over="ignore", invalid="ignore"):  # a sum that is no number is never apart from another
        sums = outputs.values.reshape(len(outputs), -1).sum(axis=1, dtype=np.float64)
    return order(outputs, sums, _NO_EVENTS)


__all__ = ["BitRounds", "CandidateRounds", "Guessed", "Won", "joined", "plan_rounds"]
