"""The reconstruction game on one record: its value is drawn, the mechanism runs once, and the value is guessed.

Each round draws a fresh secret, uniform on k known values, puts it in its place in the dataset, runs once, and guesses
the value under which the output is likeliest. Without the output no guess is right more often than 1 / k, and with it
no rule more often than this one: under a uniform prior the likeliest value is the most probable one (Bayes; Balle,
Cherubin and Hayes 2022, section 3). Datasets that hold different values are neighbours under `replace_one`. The bound
`reconstruction` reads the result; with `candidates` = k it uses that every two of these datasets are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...mechanisms.base import Dataset, LogDensity, Mechanism, Outputs
from ...mechanisms.errors import ParameterError
from ...mechanisms.fingerprint import describe
from ...mechanisms.label import label
from ...mechanisms.records import replace_record
from ...mechanisms.validation import whole
from ..evidence.scores import Successes
from ..trials.execution import execute
from ..trials.guards.independence import independent_by_construction
from ..trials.guards.replay import ReplayGuard
from ..trials.options import RunOptions, versions
from ..trials.plan import CHUNK_BYTES, CHUNK_TRIALS, CHUNKS_A_SIDE, SMALLEST_BATCH, Chunk
from ..trials.progress import Reporter
from ..trials.seeds import Stage, stream
from ..trials.store import Arrays

GUESS = "maximum-likelihood"
"""What the guess is called where an attack is named."""
_UNSIGNED = np.empty(0, dtype=np.uint8)
"""In the place of a chunk's signature: rounds that are independent by construction do not repeat each other."""


def reconstruction_game(
    mechanism: Mechanism,
    dataset: Dataset,
    values: Sequence[Any],
    *,
    record: int = 0,
    n_rounds: int,
    seed: int,
    n_jobs: int | None = 1,
    store: Path | str | None = None,
    progress: bool | Reporter = False,
) -> Successes:
    """Plays `n_rounds` independent rounds, and counts the right guesses.

    Args:
        mechanism: one of dpassay's, whose output law is known, with a guarantee under `replace_one`.
        dataset: a collection of records; all but one of them are known to whoever guesses.
        values: the k >= 2 values that the record may have, each with probability 1 / k.
        record: its place in the dataset; negative counts from the end.
        n_rounds: a whole number >= 1.
        seed: of secrets and runs.
        n_jobs, store, progress: as for `dpassay.audit.audit`.

    Returns:
        `Successes`, with a prior success of 1 / k.

    Raises:
        ParameterError: fewer than two values, no such record, or a mechanism that the game cannot be played with.
        RelationError, NeighboursError: the guarantee does not hold for the datasets with one value and another.
        FingerprintError, StoreError: the store holds something else, or cannot be written.

    Guarantees:
        * serial, parallel and resumed games with the same seed give the same successes.

    Example:
        >>> from dpassay.mechanisms import KAryRandomizedResponse
        >>> mechanism = KAryRandomizedResponse(epsilon=1.0, k=4)
        >>> game = reconstruction_game(mechanism, [0], range(4), n_rounds=10_000, seed=0)
        >>> game.prior_success, abs(game.n_success / game.n_runs - mechanism.p_true) < 0.02
        (0.25, True)
    """
    options = RunOptions(n_jobs, store, progress)
    whole(1, n_rounds=n_rounds)
    whole(0, seed=seed)
    if len(values) < 2:
        raise ParameterError(
            f"values must be at least 2, one of which is the secret, but are {len(values)}.", argument="values"
        )
    law = _law(mechanism)
    work = RoundWork(mechanism, law, _candidates(mechanism, dataset, values, record), seed)
    chunks = plan_rounds(n_rounds, work.bytes_per_round)
    about = {"game": "reconstruction", "n_rounds": n_rounds, "chunk_size": chunks[0].size, **work.describe()}
    won = _Count()
    with options.opened(about | versions()) as (opened, reporter):
        execute(
            chunks,
            work,
            won,
            store=opened,
            n_jobs=options.n_jobs,
            workers=mechanism.workers,
            repeats=ReplayGuard(label(mechanism)),
            reporter=reporter,
        )
    return Successes(won.n_success, n_rounds, 1.0 / len(values))


@dataclass(frozen=True, eq=False)
class RoundWork:
    """Plays the rounds of a chunk.

    Args:
        mechanism: that runs.
        law: of its outputs.
        candidates: the dataset with each of the values.
        seed: root of the streams, one a chunk.
    """

    mechanism: Mechanism
    law: LogDensity
    candidates: tuple[Dataset, ...]
    seed: int

    def __call__(self, chunk: Chunk) -> Arrays:
        rng = stream(self.seed, chunk.stage, chunk.side, chunk.index)
        k = len(self.candidates)
        secrets = rng.multinomial(chunk.size, np.full(k, 1.0 / k))  # rounds are counted, so that their order is free
        runs = [self.mechanism.release(one, n, rng) for one, n in zip(self.candidates, secrets.tolist(), strict=True)]
        guesses = self._guesses(Outputs(np.concatenate([run.values for run in runs])))
        right = np.count_nonzero(guesses == np.repeat(np.arange(k), secrets))
        return {"n_success": np.array([right]), "signature": _UNSIGNED}

    def _guesses(self, outputs: Outputs) -> Any:
        """`(size,)` the first of the candidates under which each output is likeliest."""
        guesses, best = np.zeros(len(outputs), dtype=np.int64), np.full(len(outputs), -np.inf)
        for place, candidate in enumerate(self.candidates):
            found = self.law.log_density(outputs, candidate)
            guesses[found > best] = place
            np.maximum(best, found, out=best)
        return guesses

    @property
    def bytes_per_round(self) -> int:
        """Memory that one output takes, and what is compared for it."""
        one = self.mechanism.release(self.candidates[0], 1, stream(self.seed, Stage.PROBE))
        return int(one.values.nbytes) + 32

    def describe(self) -> dict[str, Any]:
        """Everything that determines the successes, but for the number of rounds."""
        return {
            "mechanism": describe(self.mechanism),
            "candidates": [describe(one) for one in self.candidates],
            "seed": self.seed,
        }


def plan_rounds(n_rounds: int, bytes_per_round: int) -> list[Chunk]:
    """The chunks of a number of rounds.

    >>> len(plan_rounds(200, 40)), len(plan_rounds(20_000, 40)), max(c.size for c in plan_rounds(10**6, 2**20))
    (1, 32, 16)
    """
    wanted = max(-(-n_rounds // CHUNKS_A_SIDE), SMALLEST_BATCH)
    size = min(wanted, CHUNK_TRIALS, max(1, CHUNK_BYTES // bytes_per_round))
    starts = enumerate(range(0, n_rounds, size))
    return [Chunk(Stage.EVALUATION, 0, index, start, min(size, n_rounds - start)) for index, start in starts]


class _Count:
    """Successes of all chunks."""

    def __init__(self) -> None:
        self.n_success = 0

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk."""
        self.n_success += int(arrays["n_success"].sum())


def _law(mechanism: Any) -> LogDensity:
    """The law that guesses; raises `ParameterError` where there is none, or where rounds might hang together."""
    known = isinstance(mechanism, Mechanism) and independent_by_construction(mechanism)
    law: LogDensity | None = mechanism.output_law() if known else None
    if law is None:
        raise ParameterError(
            f"mechanism must be one of dpassay's whose output law is known, such as KAryRandomizedResponse, but is "
            f"{label(mechanism)}. Play the rounds of others yourself, and give their Successes to audit_scores.",
            argument="mechanism",
        )
    return law


def _candidates(mechanism: Mechanism, dataset: Dataset, values: Sequence[Any], record: int) -> tuple[Dataset, ...]:
    """The dataset with each of the values in its place; all differ in that record alone."""
    found = tuple(replace_record(dataset, record, value).d0 for value in values)
    for other in found[1:]:
        mechanism.fitted_to(replace_record(other, record, values[0]))
    return found


__all__ = ["GUESS", "RoundWork", "plan_rounds", "reconstruction_game"]
