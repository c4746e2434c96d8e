"""Recording of a program on both sides of a pair with the same noisy values."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.adapters.functions.guard import Guard
from ...mechanisms.adapters.functions.target import name_of, style_of
from ...mechanisms.adapters.recording import RecordingGenerator, Tape, running
from ...mechanisms.core import Neighbours
from .leaves import Leaves, changes, equal_outputs, leaf_names, leaves_of
from .recorded import Element, Recorded, Recordings

__tracebackhide__ = True  # pytest shows the lines of the program only

N_RECORDINGS = 3
"""Number of recordings, from different seeds: a finding must be in each of them."""
MAX_TRACED_NOISE = 64
"""Largest number of noise values whose influence on the output is measured one by one."""


def record(
    function: Callable[..., Any], neighbours: Neighbours, *, seed: int = 0, runs: int = N_RECORDINGS
) -> Recordings:
    """Run `function` on both datasets with the same noisy values, `runs` times.

    Args:
        function: release(dataset, rng), release(dataset, size, rng), called with size 1, or release(dataset).
        neighbours: the pair.
        seed: of the noise.
        runs: number of recordings, each with independent noise, >= 1.

    Raises:
        ParameterError: `function` has another signature.
        Exception: any exception that `function` raises on side 0.

    Example:
        >>> from dpassay.mechanisms import Neighbours, PureDP
        >>> def mean(data, rng):
        ...     return (sum(data) + rng.laplace(scale=1.0)) / len(data)
        >>> recorded = record(mean, Neighbours([1.0, 0.0], [1.0, 0.0, 0.0], "add_remove"))
        >>> print(recorded.findings(PureDP(1.0))[0])
        parameters: the noise of primitive 1 (numpy laplace) is multiplied by 0.5 on side 0 and by 0.3333 on side 1.
    """
    program = _Program(function, style_of(function))
    return Recordings(tuple(program.recorded(neighbours, [seed, run]) for run in range(runs)))


@dataclass(frozen=True, eq=False)
class _Program:
    """A function that runs under a tape."""

    function: Callable[..., Any]
    style: str

    def recorded(self, pair: Neighbours, seed: Sequence[int]) -> Recorded:
        first = Tape()
        names: list[str] = []
        output = self.run(pair.d0, seed, first, names)
        repeat, other = Tape(first, follow=False), Tape(first)
        repeated = self.run(pair.d0, seed, repeat)
        outputs = output, self.run(pair.d1, seed, other)
        recording = Recorded(
            name_of(self.function), (first, other), outputs, equal_outputs(output, repeated), names=tuple(names)
        )
        if recording.parted or not recording.repeatable:
            return recording
        unsettled, influence = (
            frozenset(self._reached(pair, seed, recording)),
            self._influence(pair.d0, seed, recording),
        )
        return dataclasses.replace(recording, unsettled=unsettled, influence=influence)

    def run(self, dataset: Any, seed: Sequence[int], tape: Tape, names: list[str] | None = None) -> Leaves:
        """Return the parts of the output; their names are added to `names`, if given."""
        rng = RecordingGenerator(np.random.PCG64(np.random.SeedSequence(seed)))
        argument = copy.deepcopy(dataset)
        with Guard(name_of(self.function), seed=seed[0]), running(tape):
            if self.style == "own-randomness":
                result = self.function(argument)
            else:
                result = self.function(argument, rng) if self.style == "one-run" else self.function(argument, 1, rng)
            leaves = leaves_of(result)
            if names is not None:
                names += leaf_names(result)
            return leaves

    def _nudged(self, dataset: Any, seed: Sequence[int], first: Tape, by: Mapping[int, Any]) -> Leaves:
        """Return the output on a dataset with shifted draws, where no noisy value is replayed."""
        return self.run(dataset, seed, Tape(first, follow=False, nudge=by))

    def _reached(self, pair: Neighbours, seed: Sequence[int], recording: Recorded) -> set[int]:
        """Return the parts of the output that unshifted noise affects on both sides: it may hide a difference."""
        if equal_outputs(*recording.outputs):
            return set()
        first, open_calls, step = recording.tapes[0], recording.open_calls(), recording.step()
        if any(not recording.is_noise(at) for at in open_calls):
            return set(range(len(recording.outputs[0])))
        by = {at: step * (1.0 + np.arange(np.size(first.calls[at].result)) / 7.0) for at in open_calls}
        if not by:
            return set()
        moved0 = changes(recording.outputs[0], self._nudged(pair.d0, seed, first, by))
        moved1 = changes(self._nudged(pair.d1, seed, first, {}), self._nudged(pair.d1, seed, first, by))
        return set(np.flatnonzero(moved0).tolist()) & set(np.flatnonzero(moved1).tolist())

    def _influence(self, dataset: Any, seed: Sequence[int], recording: Recorded) -> dict[Element, np.ndarray[Any, Any]]:
        """Return the change of the output with each shifted noise value, and with the others."""
        moved, step = recording.moved_elements(), recording.step()
        others = [element for element in recording.elements() if element not in moved]
        if not moved or len(moved) > MAX_TRACED_NOISE:
            return {}
        one_by_one = [*moved, *others] if len(moved) + len(others) <= MAX_TRACED_NOISE else moved
        groups: dict[Element, list[Element]] = {element: [element] for element in one_by_one}
        if one_by_one is moved:
            groups[None] = others
        return {
            element: changes(
                recording.outputs[0], self._nudged(dataset, seed, recording.tapes[0], recording.along(group, step))
            )
            for element, group in groups.items()
        }
