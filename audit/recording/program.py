"""Runs a program on both sides of a pair with the same noise."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.base import Neighbours
from ...mechanisms.external.calls.style import name_of, style_of
from ...mechanisms.external.forms import by_name
from ...mechanisms.external.guard import Guard
from ...mechanisms.external.recording import Call, RecordingGenerator, Tape, running
from .recorded import SLACK, Floats, Recorded, Recordings, equal

RUNS = 3
"""Recordings, from seeds of their own: a finding must be in each of them."""
TRACED = 64
"""Calls at most whose noise is followed."""


def record(function: Callable[..., Any], neighbours: Neighbours, *, seed: int = 0, runs: int = RUNS) -> Recordings:
    """Runs `function` on both datasets with the same noise, `runs` times.

    Args:
        function: release(dataset, rng), release(dataset, size, rng), of which size 1 is asked, or release(dataset).
        neighbours: the pair.
        seed: of the noise.
        runs: recordings, each with noise of its own, >= 1.

    Raises:
        ParameterError: `function` is not one of these.
        Exception: whatever `function` raises on side 0.

    Example:
        >>> from dpassay.mechanisms import Neighbours, PureDP
        >>> def mean(data, rng):
        ...     return (sum(data) + rng.laplace(scale=1.0)) / len(data)
        >>> recorded = record(mean, Neighbours([1.0, 0.0], [1.0, 0.0, 0.0], "add_remove"))
        >>> print(recorded.findings(PureDP(1.0))[0])
        parameters: the noise of primitive 1 (numpy laplace) is multiplied by 0.5 on side 0 and by 0.333333 on side 1.
    """
    program = _Program(function, style_of(function))
    return Recordings(tuple(program.recorded(neighbours, [seed, run]) for run in range(runs)))


@dataclass(frozen=True, eq=False)
class _Program:
    """A function that is run under a tape."""

    function: Callable[..., Any]
    style: str

    def recorded(self, pair: Neighbours, seed: Sequence[int]) -> Recorded:
        first, again, other = Tape(), Tape(), Tape()
        out0 = self.run(pair.d0, seed, first)
        script = tuple(first.calls)
        again, other = Tape(script), Tape(script)
        repeated = self.run(pair.d0, seed, again)
        out1 = self.run(pair.d1, seed, other)
        gains = {} if other.parted is not None else self._gains(pair, seed, script, (out0, out1))
        calls = (script, tuple(other.calls))
        same = (out0 is None) == (repeated is None) and (out0 is None or equal(out0, repeated))
        return Recorded(name_of(self.function), calls, (out0, out1), gains, other.parted, same)

    def run(self, dataset: Any, seed: Sequence[int], tape: Tape) -> Floats | None:
        rng = RecordingGenerator(np.random.PCG64(np.random.SeedSequence(seed)))
        given = copy.deepcopy(dataset)
        with Guard(name_of(self.function), seed=seed[0]), running(tape):
            if self.style == "own-randomness":
                result = self.function(given)
            else:
                result = self.function(given, rng) if self.style == "one-run" else self.function(given, 1, rng)
        return _flat(result)

    def _gains(
        self,
        pair: Neighbours,
        seed: Sequence[int],
        script: tuple[Call, ...],
        outputs: tuple[Floats | None, Floats | None],
    ) -> dict[int, tuple[Floats, Floats]]:
        """How far the outputs move when the result of a call moves by 1; for the calls that have a charge."""
        found: dict[int, tuple[Floats, Floats]] = {}
        for at in [at for at, call in enumerate(script) if _additive(call)][:TRACED]:
            moves = []
            for dataset, output in zip((pair.d0, pair.d1), outputs, strict=True):
                after = self.run(dataset, seed, Tape(script, shift=at))
                if after is None or output is None or after.shape != output.shape:
                    break
                moves.append(
                    np.where(np.abs(after - output) > SLACK * np.maximum(1.0, np.abs(output)), after - output, 0.0)
                )
            if len(moves) == 2:
                found[at] = (moves[0], moves[1])
        return found


def _additive(call: Call) -> bool:
    return call.additive and np.asarray(call.result).dtype.kind == "f"


def _flat(result: Any) -> Floats | None:
    """An output as numbers, one after the other; None for one that is not made of numbers."""
    if isinstance(result, dict):
        parts = [_flat(result[key]) for key in sorted(result, key=by_name)]
        return None if any(part is None for part in parts) else np.concatenate([np.empty(0), *parts])
    try:
        return np.asarray(result, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return None
