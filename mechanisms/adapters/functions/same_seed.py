"""Use of the seed by a function: findings of its first runs, also with the same seed on both sides.

    results on side 0 with seeds 1, 2, ...      v0 = f(d0) + z1, f(d0) + z2, ...
    results on side 1 with the same seeds       v1 = f(d1) + z1, f(d1) + z2, ...

If noise is added, the difference v1 - v0 is the same for every seed: the distance of the noise-free parts on this
pair, which is a lower bound on the sensitivity. None of this is a violation by itself: a correct function may use its
seed differently on each side, or refuse to answer depending on the seed. The results are notes, and a warning if a
declared sensitivity is too small.

`surprise` measures how implausible repeated outputs of independent runs are under every output law.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from ...core import Floats, Outputs, number, plural
from .forms import OutputRow, UnusualForm
from .isolated_function import IsolatedFunction
from .reading import read_result

SAME_SEED = "with the same seed, "
"""Beginning of each note, which has outputs of the two sides or their distance."""
SENSITIVITY_NAMES = ("sensitivity", "l1_sensitivity", "l2_sensitivity")
"""Possible names of an argument that declares a sensitivity."""
FLOAT_TOLERANCE = 1e-9
"""Tolerance of differences due to floating point, relative to the largest number."""


@dataclass(frozen=True)
class SameSeed:
    """Findings of runs with the same seeds on both sides.

    Args:
        notes, warnings: one sentence each.
        shift: difference of the two sides in each number of the output, 0 where it is not the same in most runs; empty
            if there is none. It proposes scores to attacks.
    """

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    shift: tuple[float, ...] = ()


@dataclass(frozen=True)
class FirstRuns:
    """Findings of the first runs of a function.

    Args:
        repeated: True if the same rng and the same global random states gave the same results again.
        ignores_rng: True if no run drew from the given rng.
        generators: True if the function holds a generator of its own, of which each worker would get a copy.
        compared: findings of runs with the same seeds on both sides.
    """

    repeated: bool = True
    ignores_rng: bool = False
    generators: bool = False
    compared: SameSeed = field(default_factory=SameSeed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the reader of a result, one sentence each."""
        messages = list(self.compared.warnings)
        if not self.repeated:
            messages.append(
                "the results depend on something other than the given rng (a generator of its own, data that is kept "
                "from run to run, the entropy of the operating system, the time): no seed repeats these runs."
            )
        elif self.ignores_rng:
            messages.append(
                "the given rng was never drawn from in the first runs: noise from elsewhere, or none, cannot be "
                "repeated by a seed."
            )
        return tuple(messages)


def compare(results0: Sequence[Any], results1: Sequence[Any], function: Callable[..., Any]) -> SameSeed:
    """Return the findings of results with the same seeds, in the same order; `function` may declare a sensitivity.

    Example:
        >>> compare([1.5, 2.25, 0.5], [4.5, 5.25, 3.5], print).notes[0][:68]
        'with the same seed, the outputs of the two sides differ by 3 in ever'
    """
    outcomes = [(read_result(row0), read_result(row1)) for row0, row1 in zip(results0, results1, strict=True)]
    pairs = [(row0, row1) for row0, row1 in outcomes if isinstance(row0, OutputRow) and isinstance(row1, OutputRow)]
    if len(pairs) < len(outcomes) or any(row0.label != row1.label or _marked(row0, row1) for row0, row1 in pairs):
        return SameSeed(_forms(outcomes))
    if len({row.numbers.size for both in pairs for row in both}) != 1:
        return SameSeed()
    values0, values1 = (np.array([both[side].numbers for both in pairs]) for side in (0, 1))
    distance = _distance(values0, values1)
    found = SameSeed() if distance is None else _additive(distance, function)
    return replace(found, shift=_shift(values0, values1))


def _marked(row0: OutputRow, row1: OutputRow) -> bool:
    return bool(row0.marks.any() or row1.marks.any())


def _forms(outcomes: Sequence[tuple[OutputRow | UnusualForm, OutputRow | UnusualForm]]) -> tuple[str, ...]:
    """Return a note on the forms that differ between the sides under the same seed."""
    named = [tuple(part.label if isinstance(part, UnusualForm) else part.event() for part in both) for both in outcomes]
    differ = Counter(both for both in named if both[0] != both[1])
    if not differ:
        return ()
    (form0, form1), _ = differ.most_common(1)[0]
    return (
        f"{SAME_SEED}side 0 gave {form0} and side 1 {form1}: results of different forms in "
        f"{differ.total()} of {plural(len(outcomes), 'run')}.",
    )


def _distance(values0: Floats, values1: Floats) -> Floats | None:
    """Return the difference between the two sides, `(k,)`, if it is the same in every run.

    Returns None if the difference varies or is zero, or if the numbers never vary.
    """
    if len(values0) < 2 or values0.shape != values1.shape or not values0.size:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        differences = values1 - values0
        largest = max(float(np.abs(values0).max()), float(np.abs(values1).max()))
        constant = float(np.ptp(differences, axis=0).max()) <= FLOAT_TOLERANCE * largest
        varies = float(np.ptp(values0, axis=0).max()) > FLOAT_TOLERANCE * largest
        difference: Floats = np.median(differences, axis=0)
    return difference if constant and varies and float(np.abs(difference).max()) > FLOAT_TOLERANCE * largest else None


def _shift(values0: Floats, values1: Floats) -> tuple[float, ...]:
    """Return the difference of the two sides in each number, 0 where it is not the same in most runs."""
    if len(values0) < 2 or not values0.size:
        return ()
    with np.errstate(over="ignore", invalid="ignore"):
        differences = values1 - values0
        usual = np.median(differences, axis=0)
        tolerance = FLOAT_TOLERANCE * np.maximum(np.abs(values0).max(axis=0), np.abs(values1).max(axis=0))
        same = (np.abs(differences - usual) <= tolerance).mean(axis=0) > 0.5
        moves = same & (np.abs(usual) > tolerance) & np.isfinite(usual)
    return tuple(np.where(moves, usual, 0.0).tolist()) if moves.any() else ()


def _additive(difference: Floats, function: Callable[..., Any]) -> SameSeed:
    l1, l2 = float(np.abs(difference).sum()), float(np.sqrt(np.square(difference).sum()))
    distance = (
        f"{number(l1)}"
        if len(difference) == 1
        else f"{number(l1)} (sum of absolute values; {number(l2)} in the Euclidean norm)"
    )
    note = (
        f"{SAME_SEED}the outputs of the two sides differ by {distance} in every run: the exact values are "
        "at this distance, and their noise must be calibrated to at least this sensitivity."
    )
    return SameSeed((note,), _too_small(function, l1, l2))


def _too_small(function: Callable[..., Any], l1: float, l2: float) -> tuple[str, ...]:
    """Return a warning if the distance exceeds a declared sensitivity."""
    name, declared = _declared(function)
    distance = l1 if name == "l1_sensitivity" else l2
    if declared is None or distance <= declared * (1.0 + FLOAT_TOLERANCE):
        return ()
    return (
        f"{name} is {number(declared)}, but the parts to which noise is added lie {number(distance)} apart on this "
        "pair: noise for a smaller distance gives less privacy than claimed.",
    )


def _declared(function: Callable[..., Any]) -> tuple[str, float | None]:
    """Return name and value of the argument that declares a sensitivity: bound by a partial, or a default."""
    try:
        arguments = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    except Exception:  # no signature
        arguments = {}
    if isinstance(function, (functools.partial, IsolatedFunction)):
        arguments |= function.keywords
    for name in SENSITIVITY_NAMES:
        value = arguments.get(name)
        if isinstance(value, Real) and not isinstance(value, bool):
            return name, float(value)
    return "", None


MIN_SURPRISE = math.log(1e17)
"""Surprise above which repeated runs cannot be chance: their probability is about 1e-17 or less."""


def surprise(rows: Outputs) -> float:
    """Return minus the log of an upper bound on the probability that independent runs repeat these outputs.

    The value is 0 for no outputs. Under every law, independent runs repeat r given rows with probability at most
    exp(-r H), with H the entropy of the frequencies among these rows: the most likely law has just these frequencies.
    Rows without ties are assumed to come from a law of at least r^2 / 2 values, as r draws without a tie would
    otherwise be unlikely.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> outputs = Outputs(rng.normal(size=100)), Outputs(rng.integers(2, size=30))
        >>> [surprise(rows) > MIN_SURPRISE for rows in outputs]
        [True, False]
    """
    values = np.ascontiguousarray(rows.values)
    n, whole = len(values), values.tobytes()
    width = len(whole) // max(n, 1)
    counts = Counter(whole[width * row : width * (row + 1)] for row in range(n))
    if len(counts) == n:
        return n * math.log(max(n**2 / 2, 1.0))
    return sum(count * math.log(n / count) for count in counts.values())


def same_outputs(first: Outputs, second: Outputs) -> bool:
    """Return True if two releases have the same outputs."""
    return np.array_equal(first.values, second.values) and np.array_equal(first.labels, second.labels)
