"""Calls of a function in this process, with their results or what stands for them.

An isolated process makes the same calls with the same code: see `isolated_process.py`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.errors import DpassayError, ManyRunsError, ReleaseError, plural
from ...core.tensors import own_random_states
from .forms import RaisedException, by_name
from .guard import class_name, current_guard, in_words
from .names import Name, names_of_columns
from .reading import copied_result, unmasked
from .state import seed_all

Rows = np.ndarray[Any, Any] | list[Any]
"""A numeric array with one row per run, or a list with one entry per run."""


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Set the random states that all code of this process shares from `seed`, and restore them afterwards.

    None changes nothing.
    """
    if seed is None:
        yield
        return
    states = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        with own_random_states():
            seed_all(seed)
            yield
    finally:
        np.random.set_state(states[0])  # noqa: NPY002
        random.setstate(states[1])


def _unchanged(value: Any) -> Any:
    return value


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


def _as_list(dataset: Any) -> Any:
    return dataset.tolist() if isinstance(dataset, np.ndarray) else list(dataset)


_OTHER_DATASETS: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (np.asarray, "the datasets are arrays: give Neighbours(np.array(d0), np.array(d1), ...)"),
    (_as_list, "the datasets are lists: give Neighbours(list(d0), list(d1), ...)"),
)
_OTHER_GENERATORS: tuple[tuple[Callable[[np.random.Generator], Any], str], ...] = (
    (lambda rng: np.random.RandomState(_seed(rng)), "np.random.RandomState(rng.integers(2**32))"),
    (_seed, "int(rng.integers(2**32))"),
    (lambda rng: random.Random(_seed(rng)), "random.Random(int(rng.integers(2**32)))"),
)


@dataclass(eq=False)
class FunctionCalls:
    """Calls of a function in one style.

    Args:
        function: the function.
        name: its name, for messages.
        style: how it is called: see `FunctionMechanism`.
        seed: seed of the global random states, from which they start each time; None leaves them as they are.
        naming: True to find the names of the numbers of a run of many.

    Attributes:
        columns: names of the numbers of one run, from the last call that made many runs.
        seconds: time of all calls.
    """

    function: Callable[..., Any]
    name: str
    style: str
    seed: int | None = None
    naming: bool = False
    columns: tuple[Name, ...] = field(default=(), init=False)
    seconds: float = field(default=0.0, init=False)

    def singles(
        self, dataset: Any, size: int, rng: np.random.Generator, before: Callable[[], object] = int
    ) -> list[Any]:
        """Return the results of `size` single runs, or `RaisedException` in their place; call `before` each run."""
        results = []
        with seeded(self.seed), self._timed():
            for _ in range(size):
                before()
                results.append(self._single(dataset, rng))
        return results

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds += time.monotonic() - began

    def _single(self, dataset: Any, rng: np.random.Generator) -> Any:
        if self.style == "one-at-a-time":
            try:
                return copied_result(self._many(dataset, 1, rng)[0])
            except ManyRunsError as error:
                return RaisedException.by(error.__cause__ or error)
        guard = current_guard()
        guard.begin()
        try:
            result = self.function(dataset) if self.style == "own-randomness" else self.function(dataset, rng)
            return copied_result(result)
        except MemoryError as error:
            raise ReleaseError(
                f"{self.name} ran out of memory ({in_words(error)}), which depends on this machine more than on the "
                "dataset, and is not an outcome. Reduce its work, or catch MemoryError in it."
            ) from error
        except BaseException as error:
            return RaisedException.by(error)
        finally:
            guard.end()

    def many(self, dataset: Any, size: int, rng: np.random.Generator) -> Rows:
        """Return the results of one call that makes `size` runs.

        Raises:
            ManyRunsError: the function raises.
            ReleaseError: it does not return `size` results, or memory runs out.
        """
        with seeded(self.seed), self._timed():
            return self._many(dataset, size, rng)

    def _many(self, dataset: Any, size: int, rng: np.random.Generator) -> Rows:
        guard = current_guard()
        guard.begin()
        try:
            results = self.function(dataset, size, rng)
            if size > 1:  # after single runs, at the end of their chunk
                guard.put_back()
            try:
                if self.naming:
                    self.columns = names_of_columns(results)
                return self._rows(results, size)
            except DpassayError:
                raise
            except BaseException as error:
                raise ReleaseError(
                    f"{self.name} returned a {class_name(results)}, which raised {in_words(error)} when it was read."
                ) from error
        except DpassayError:
            raise
        except BaseException as error:
            kind = ReleaseError if isinstance(error, MemoryError) else ManyRunsError
            raise kind(
                f"{self.name}(dataset, size={size}, rng) raised {in_words(error)}. If single runs may "
                "fail, write a function release(dataset, rng) of one run: an exception then counts as the outcome of "
                "that run."
            ) from error
        finally:
            guard.end()

    def _rows(self, results: Any, size: int) -> Rows:
        """Return what a function of many runs returned as one row or entry per run."""
        if isinstance(results, dict):
            results = self._columns(results)
        array = results if isinstance(results, list) else np.asarray(unmasked(getattr(results, "values", results)))
        shape = (len(array),) if isinstance(array, list) else array.shape
        if not shape or shape[0] != size:
            raise ReleaseError(
                f"{self.name} was asked for size={plural(size, 'run')} and returned shape {shape}: expected one row "
                f"per run, ({size},) or ({size}, ...). Write a function release(dataset, rng) if it does one run at a "
                "time."
            )
        if isinstance(array, list):
            return array
        return array if array.dtype.kind in "biuf" else list(array)

    def _columns(self, results: dict[str, Any]) -> Rows:
        """Return a dict of arrays as one array with one row per run, in the order of its keys.

        If not all are numbers, return one dict per run.
        """
        parts = {key: np.asarray(unmasked(results[key])) for key in sorted(results, key=by_name)}
        if len({len(part) if part.ndim else -1 for part in parts.values()}) != 1 or any(
            not part.ndim for part in parts.values()
        ):
            shapes = ", ".join(f"{key}: {part.shape}" for key, part in parts.items())
            raise ReleaseError(
                f"{self.name} returned a dict whose entries must all have one row per run, but they are {shapes}."
            )
        if any(part.dtype.kind not in "biuf" for part in parts.values()):
            return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
        return np.concatenate([part.reshape(len(part), -1) for part in parts.values()], axis=1)

    def error(self, dataset: Any) -> BaseException | None:
        """Return the exception that one run raises, or None."""
        rng = np.random.default_rng(0)
        arguments = {"own-randomness": (), "one-at-a-time": (1, rng)}.get(self.style, (rng,))
        try:
            self.function(dataset, *arguments)
        except BaseException as error:
            return error
        return None

    def condition(self, datasets: Sequence[Any]) -> str:
        """Return a condition under which a function whose first runs raise returns a result on both sides, or nothing.

        Datasets of another type, and then other random generators, are tried, one run on each side.
        """
        others: list[tuple[Callable[[Any], Any], Callable[[Any], Any], str]]
        others = [(convert, _unchanged, text) for convert, text in _OTHER_DATASETS]
        if self.style == "one-run":
            gets = f"it receives another generator: give lambda dataset, rng: {self.name}(dataset, "
            others += [(_unchanged, convert, f"{gets}{text})") for convert, text in _OTHER_GENERATORS]
        for dataset_of, generator_of, text in others:
            with suppress(BaseException):
                for given in datasets:
                    dataset, rng = dataset_of(given), np.random.default_rng(0)
                    more = {"own-randomness": (), "one-at-a-time": (1, rng)}.get(self.style, (generator_of(rng),))
                    self.function(dataset, *more)
                return text
        return ""
