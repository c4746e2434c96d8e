"""Findings of the first runs of a function: whether the given rng repeats them, how the sides compare, other calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core import Dataset, Neighbours
from .same_seed import SameSeed


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


def _unchanged(value: Any) -> Any:
    return value


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


def _as_list(dataset: Dataset) -> Any:
    return dataset.tolist() if isinstance(dataset, np.ndarray) else list(dataset)


_OTHER_DATASETS: tuple[tuple[Callable[[Dataset], Any], str], ...] = (
    (np.asarray, "the datasets are arrays: give Neighbours(np.array(d0), np.array(d1), ...)"),
    (_as_list, "the datasets are lists: give Neighbours(list(d0), list(d1), ...)"),
)
_OTHER_GENERATORS: tuple[tuple[Callable[[np.random.Generator], Any], str], ...] = (
    (lambda rng: np.random.RandomState(_seed(rng)), "np.random.RandomState(rng.integers(2**32))"),
    (_seed, "int(rng.integers(2**32))"),
    (lambda rng: random.Random(_seed(rng)), "random.Random(int(rng.integers(2**32)))"),
)


def call_that_returns(function: Callable[..., Any], neighbours: Neighbours, style: str, name: str) -> str:
    """Return a condition under which a function whose first runs raise returns a result on both sides; empty if none.

    Datasets of another type, and then other random generators, are tried, one run on each side.

    Args:
        function, neighbours, style: see `FunctionMechanism`.
        name: name of the function, for the text.
    """
    others: list[tuple[Callable[[Any], Any], Callable[[Any], Any], str]]
    others = [(convert, _unchanged, text) for convert, text in _OTHER_DATASETS]
    if style == "one-run":
        others += [
            (_unchanged, convert, f"it receives another generator: give lambda dataset, rng: {name}(dataset, {text})")
            for convert, text in _OTHER_GENERATORS
        ]
    for dataset_of, generator_of, text in others:
        with suppress(BaseException):
            for side in (0, 1):
                dataset, rng = dataset_of(neighbours.side(side)), np.random.default_rng(0)
                more = {"own-randomness": (), "one-at-a-time": (1, rng)}.get(style, (generator_of(rng),))
                function(dataset, *more)
            return text
    return ""
