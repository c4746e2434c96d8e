"""Runs of a function in fresh processes, each with other hashes of texts, another process id, time and order.

Process k, k = 0, 1, ..., creates the function anew (see `adapters/functions/isolated.py`) and makes four calls:

    own       runs on side k mod 2, then on the other side, from random streams that no other process uses
    common    runs on both sides, in an order that differs between processes, from streams that all processes share,
              and with which the audited process makes the same runs

**Common runs** that are equal everywhere show that all noise comes from the random streams that the function receives:
what was drawn once, or is kept from run to run, differs between processes. A lie that is drawn once in a process with
probability p is in none of n processes with probability (1 - p)^n. Under a claim of epsilon, randomised response needs
p = 1 / (1 + e^epsilon): see `n_needed`.

**Own runs** show shared noise where common runs differ: the first of them is a run in a process of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...attacks.distinguishing.events import mark
from ...mechanisms.adapters.functions.calls import Rows
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.isolated import Call, ProcessAnswer, Request, ask
from ...mechanisms.adapters.functions.isolated_process import HASH
from ...mechanisms.adapters.functions.source import FunctionSource, source_of
from ...mechanisms.core import Neighbours, Outputs, ReleaseError, plural
from ..trials.plan import Chunk
from ..trials.seeds import Stage, stream
from ..trials.work import global_seed, run

N_FEW = 8
"""Number of processes that show whether outputs which never vary are one stored output."""
N_ALONE = 4
"""Number of processes that start by themselves, each with other hashes of texts, before others may be copies."""
MAX_PROCESSES = 128
"""Largest number of processes of one experiment."""
MAX_SECONDS = 20.0
"""Seconds after which an experiment starts no more processes, once it has `N_FEW`."""
N_OWN, N_COMMON, LEAST_OWN = 64, 16, 4
"""Numbers of own and of common runs on each side, fewer if they are slow, but enough to compare those of a process."""
CALL_SECONDS = 0.5
"""Planned largest time of the own runs of a process on one side, in seconds."""
SLOW_SECONDS = 0.1
"""Time of a process, divided by the number of processors, above which further ones are copies."""
COMMON_INDEX, OWN_INDEX = 3, 1000
"""Indices of the random streams of the stage `PROBE`; own streams have the following ones as well."""


def n_needed(epsilon: float, significance: float) -> int:
    """Return the number of processes in one of which a lie shows, except with probability `significance`.

    A function that draws once whether it lies is epsilon-DP if it lies with probability 1 / (1 + e^epsilon). At epsilon
    1 and 1e-6 these are 45. There are at least `N_FEW` and at most `MAX_PROCESSES`.
    """
    if epsilon > 50.0:
        return MAX_PROCESSES
    n = math.ceil(math.log(max(significance, 1e-12)) / -math.log1p(math.exp(-epsilon)))
    return min(max(n, N_FEW), MAX_PROCESSES)


@dataclass(frozen=True)
class FreshProcesses:
    """Runs in fresh processes, and the same runs in the audited process.

    Args:
        source: the function; None if it cannot be created in another process.
        own: for each process, the outputs of its own runs on side 0 and on side 1.
        common: for each process, the outputs of the common runs on side 0 and on side 1.
        here: those of the audited process; None if it raised.
        left: for each process, digests of the random states that the own runs changed, on side 0 and on side 1.
        read: what was read from outside in any process.
        certified: names of the program that its statements gave the same value again.
        n_asked: number of processes that were started.
    """

    source: FunctionSource | None
    own: tuple[tuple[Outputs, Outputs], ...] = ()
    common: tuple[tuple[Outputs, Outputs], ...] = ()
    here: tuple[Outputs, Outputs] | None = None
    left: tuple[tuple[str, str], ...] = ()
    read: frozenset[str] = frozenset()
    certified: frozenset[str] = frozenset()
    n_asked: int = 0

    @property
    def n(self) -> int:
        """Number of processes that answered."""
        return len(self.own)

    @property
    def can_run(self) -> bool:
        """True if most processes could create and run the function."""
        return 2 * self.n > self.n_asked

    @cached_property
    def repeats_here(self) -> bool:
        """True if the common runs have the same outputs in every process, and here."""
        return self.here is not None and all(
            _same(one[side], self.here[side]) for one in self.common for side in (0, 1)
        )

    @property
    def draws(self) -> bool:
        """True if the own runs of every process draw from a random state that they receive, or from entropy."""
        return "entropy" in self.read or all(all(sides) for sides in self.left)

    @property
    def changed_files(self) -> tuple[str, ...]:
        """Files that the runs read and that changed since the function was first seen: they may hold earlier noise."""
        made, found = (0.0 if self.source is None else self.source.made), []
        for name in sorted(self.read):
            with suppress(OSError):
                path = name.removeprefix("file ")
                if path != name and Path(path).stat().st_mtime >= made:
                    found.append(path)
        return tuple(found)

    @property
    def connections(self) -> tuple[str, ...]:
        """Connections and other processes behind the runs."""
        return tuple(sorted(name for name in self.read if name != "entropy" and not name.startswith("file ")))


def fresh_processes(mechanism: FunctionMechanism, neighbours: Neighbours, seed: int, n: int) -> FreshProcesses:
    """Return the experiment with up to `n` processes."""
    source = source_of(mechanism.function)
    if source is None or mechanism.form is None:
        return FreshProcesses(None, n_asked=n)
    n_own = max(LEAST_OWN, min(N_OWN, int(CALL_SECONDS / max(mechanism.seconds_per_run, 1e-9))))
    n_common = min(N_COMMON, n_own)
    here = _here(mechanism, neighbours, seed, n_common)
    names = tuple(sorted(name for name, values in source.numbers.items() if name and values.size))
    asker = _Asker(source, neighbours, str(mechanism.style))
    answers, began, step, left_over = list[ProcessAnswer | None](), time.monotonic(), N_ALONE, MAX_SECONDS
    while len(answers) < n and (len(answers) < N_FEW or left_over > 0.0):
        batch = range(len(answers), min(len(answers) + step, n))
        answers += asker.ask([Request(tuple(_calls(seed, k, n_own, n_common)), names if k < 2 else ()) for k in batch])
        if 2 * answers.count(None) >= len(answers):
            break
        left_over = MAX_SECONDS - (time.monotonic() - began)
        step = max(N_ALONE, int(left_over / max(asker.seconds, 1e-3)))
    own, common, left, read = [], [], [], set[str]()
    for k, one in enumerate(answers):
        if one is None:
            continue
        calls = _calls(seed, k, n_own, n_common)
        with suppress(ReleaseError):
            outputs = [_outputs(mechanism, rows, call.size) for rows, call in zip(one.results, calls, strict=True)]
            order = [call.side for call in calls]
            own.append((outputs[order.index(0)], outputs[order.index(1)]))
            common.append((outputs[2 + order[2:].index(0)], outputs[2 + order[2:].index(1)]))
            left.append((one.left[order.index(0)], one.left[order.index(1)]))
            read |= set(one.read)
    certified = source.certified([one.constants for one in answers[:2] if one is not None])
    return FreshProcesses(
        source, tuple(own), tuple(common), here, tuple(left), frozenset(read), certified, n_asked=len(answers)
    )


def single_runs(
    mechanism: FunctionMechanism, neighbours: Neighbours, seed: int, n: int
) -> tuple[Outputs, Outputs] | None:
    """Return `n` outputs of each side, each from a process of its own that makes no other run; None if one fails."""
    source = source_of(mechanism.function)
    if source is None:
        return None
    size = 2 if mechanism.style == "many-runs" else 1
    index = OWN_INDEX + MAX_PROCESSES
    requests = [Request((_call(seed, k % 2, index + k, size),)) for k in range(2 * n)]
    asker = _Asker(source, neighbours, str(mechanism.style), MAX_PROCESSES)
    answers = [*asker.ask(requests[:N_FEW]), *asker.ask(requests[N_FEW:])]
    sides: tuple[list[Outputs], list[Outputs]] = ([], [])
    for k, one in enumerate(answers):
        if one is None:
            return None
        sides[k % 2].append(_outputs(mechanism, one.results[0], size)[:1])
    return joined(sides[0]), joined(sides[1])


@dataclass
class _Asker:
    """Processes of one function: the first by themselves, more as copies if their imports take long.

    Args:
        source, neighbours, style: as for `ask`.
        n_asked: number of processes that were started before.
    """

    source: FunctionSource
    neighbours: Neighbours
    style: str
    n_asked: int = 0
    preload: tuple[str, ...] | None = None
    seconds: float = 0.0
    """Time of the last processes, divided by their number."""

    def ask(self, requests: Sequence[Request]) -> list[ProcessAnswer | None]:
        """Return the answers of one process for each request."""
        if not requests:
            return []
        began = time.monotonic()
        answers = ask(self.source, self.neighbours, self.style, requests, first=self.n_asked + 1, preload=self.preload)
        self.seconds = (time.monotonic() - began) / len(requests)
        self.n_asked += len(requests)
        given = [one for one in answers if one is not None]
        if (
            self.preload is None
            and self.seconds > SLOW_SECONDS
            and given
            and not any(HASH in one.read for one in given)
        ):
            self.preload = given[0].modules
        return answers


def joined(parts: Sequence[Outputs]) -> Outputs:
    """Return outputs one after the other."""
    events = [part.labels for part in parts]
    values = np.concatenate([part.values for part in parts])
    texts = {mark: text for part in parts for mark, text in part.texts.items()}
    labels = np.concatenate(events)
    return Outputs(values, labels if any(labels.tolist()) else None, texts)


def _call(seed: int, side: int, index: int, size: int) -> Call:
    chunk = Chunk(Stage.PROBE, side, index, 0, size)
    return Call(side, size, stream(seed, Stage.PROBE, side, index), global_seed(seed, chunk))


def _calls(seed: int, k: int, n_own: int, n_common: int) -> list[Call]:
    """Return the calls of process k."""
    first, order = k % 2, (0, 1) if k // 2 % 2 else (1, 0)
    own = [_call(seed, side, OWN_INDEX + k, n_own) for side in (first, 1 - first)]
    return [*own, *(_call(seed, side, COMMON_INDEX, n_common) for side in order)]


def _here(mechanism: FunctionMechanism, neighbours: Neighbours, seed: int, n: int) -> tuple[Outputs, Outputs] | None:
    """Return the common runs in this process; None if the function raises in them."""
    with suppress(ReleaseError):
        out, in_ = (
            run(mechanism, neighbours, seed, Chunk(Stage.PROBE, side, COMMON_INDEX, 0, n))[0] for side in (0, 1)
        )
        return out, in_
    return None


def _outputs(mechanism: FunctionMechanism, rows: Rows, size: int) -> Outputs:
    if len(rows) != size:
        raise ReleaseError(f"a process was asked for {plural(size, 'run')}, and gave {len(rows)}.")
    return mark(mechanism.outputs_of(rows))


def _same(first: Outputs, second: Outputs) -> bool:
    """Return True if two releases have exactly the same outputs: noise may be far below the size of the numbers."""
    equal_nan = first.values.dtype.kind in "fc"
    same = np.array_equal(first.values, second.values, equal_nan=equal_nan)
    return same and np.array_equal(first.labels, second.labels)
