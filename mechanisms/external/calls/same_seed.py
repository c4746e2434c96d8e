"""The same seed on both sides: what differs then is due to the data, and what does not is due to the seed.

    results on side 0 with seeds 1, 2, ...      v0 = f(d0) + z1, f(d0) + z2, ...
    results on side 1 with the same seeds       v1 = f(d1) + z1, f(d1) + z2, ...

Where noise is added, the difference v1 - v0 is the same for every seed: the distance of the noise-free parts on this
pair, which a sensitivity may not fall below. Nothing of this is a violation by itself: a correct function may use its
seed in another way on each side, or decide by it whether it answers. These are notes, and where a declared sensitivity
is too small a warning.
"""

from __future__ import annotations

import functools
import inspect
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ...errors import plural
from ..forms import Event, Floats, Row
from ..outcomes import read

SENSITIVITIES = ("sensitivity", "l1_sensitivity", "l2_sensitivity")
"""What an argument that declares a sensitivity is called."""
ROUNDING = 1e-9
"""Share of the largest number by which differences may differ, being computed with floats."""


@dataclass(frozen=True)
class SameSeed:
    """What runs with the same seeds on both sides showed.

    Args:
        notes, warnings: a sentence each.
    """

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The random states that all code of this process shares start from `seed`, and are put back afterwards."""
    torch = sys.modules.get("torch")
    states = np.random.get_state(), random.getstate(), torch.get_rng_state() if torch else None  # noqa: NPY002
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if torch:
            torch.manual_seed(seed)
        yield
    finally:
        np.random.set_state(states[0])  # noqa: NPY002
        random.setstate(states[1])
        if torch:
            torch.set_rng_state(states[2])


def compare(results0: Sequence[Any], results1: Sequence[Any], function: Callable[..., Any]) -> SameSeed:
    """What results with the same seeds, in the same order, show; `function` may declare a sensitivity.

    Example:
        >>> compare([1.5, 2.25, 0.5], [4.5, 5.25, 3.5], print).notes[0][:68]
        'with the same seed, the outputs of the two sides differ by 3 in ever'
    """
    outcomes = [(read(one), read(other)) for one, other in zip(results0, results1, strict=True)]
    pairs = [(one, other) for one, other in outcomes if isinstance(one, Row) and isinstance(other, Row)]
    if len(pairs) < len(outcomes) or any(one.label != other.label or _marked(one, other) for one, other in pairs):
        return SameSeed(_forms(outcomes))
    if len({row.numbers.size for both in pairs for row in both}) != 1:
        return SameSeed()
    distance = _distance(np.array([one.numbers for one, _ in pairs]), np.array([other.numbers for _, other in pairs]))
    return SameSeed() if distance is None else _additive(distance, function)


def _marked(one: Row, other: Row) -> bool:
    return bool(one.marks.any() or other.marks.any())


def _forms(outcomes: Sequence[tuple[Row | Event, Row | Event]]) -> tuple[str, ...]:
    """A note on the forms that differ between the sides under the same seed."""
    named = [tuple(part.label if isinstance(part, Event) else part.event() for part in both) for both in outcomes]
    differ = Counter(both for both in named if both[0] != both[1])
    if not differ:
        return ()
    (form0, form1), _ = differ.most_common(1)[0]
    return (
        f"with the same seed, side 0 gave {form0} and side 1 {form1}: results of different forms in "
        f"{differ.total()} of {plural(len(outcomes), 'run')}.",
    )


def _distance(values0: Floats, values1: Floats) -> Floats | None:
    """By how much the numbers of the two sides differ, `(k,)`, if by the same in every run; None if they do not, never
    vary, or differ by nothing."""
    if len(values0) < 2 or values0.shape != values1.shape or not values0.size:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = values1 - values0
        largest = max(float(np.abs(values0).max()), float(np.abs(values1).max()))
        constant = float(np.ptp(gaps, axis=0).max()) <= ROUNDING * largest
        varies = float(np.ptp(values0, axis=0).max()) > ROUNDING * largest
        gap: Floats = np.median(gaps, axis=0)
    return gap if constant and varies and float(np.abs(gap).max()) > ROUNDING * largest else None


def _additive(gap: Floats, function: Callable[..., Any]) -> SameSeed:
    l1, l2 = float(np.abs(gap).sum()), float(np.sqrt(np.square(gap).sum()))
    apart = f"{l1:.6g}" if len(gap) == 1 else f"{l1:.6g} (sum of absolute values; {l2:.6g} in the Euclidean norm)"
    note = (
        f"with the same seed, the outputs of the two sides differ by {apart} in every run: noise is added to parts "
        "that lie so far apart, which the sensitivity must cover."
    )
    return SameSeed((note,), _too_small(function, l1, l2))


def _too_small(function: Callable[..., Any], l1: float, l2: float) -> tuple[str, ...]:
    """A warning on a declared sensitivity that the distance exceeds."""
    name, declared = _declared(function)
    found = l1 if name == "l1_sensitivity" else l2
    if declared is None or found <= declared * (1.0 + ROUNDING):
        return ()
    return (
        f"{name} is {declared:g}, but the parts to which noise is added lie {found:.6g} apart on this pair: noise for "
        "a smaller distance hides less than it should.",
    )


def _declared(function: Callable[..., Any]) -> tuple[str, float | None]:
    """Name and value of the argument of `function` that declares a sensitivity: bound by a partial, or a default."""
    try:
        given = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    except Exception:  # no signature
        given = {}
    if isinstance(function, functools.partial):
        given |= function.keywords
    for name in SENSITIVITIES:
        value = given.get(name)
        if isinstance(value, Real) and not isinstance(value, bool):
            return name, float(value)
    return "", None
