"""A stateful query interface, the target of adaptive attacks."""

from __future__ import annotations

import math
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike

from ...core import Floats, ParameterError, non_negative, one_of, whole
from ...noise.base import AdditiveNoise

MEMORY_KINDS = ("fresh", "sticky")


class Answerer:
    """Query interface that answers subset counts of a column of bits one by one, in many independent runs at once.

    Args:
        bits: `(n,)` one column, or `(n_runs, n)`.
        rng: random generator of the noise.
        noise: adds noise to one count, such as `Laplace(epsilon=0.5)`; None answers exactly.
        memory: "fresh" draws new noise for each answer; "sticky" draws it once for each set of records, so that the
            same set always has the same answer.
        suppressed_below: noisy answers below it are NaN.
        budget: epsilon that all answers may spend together, by basic composition; None: unlimited. An answer that
            would exceed it is NaN. A repeated sticky answer spends no epsilon.

    Raises:
        ParameterError: a value out of range; noise on more than one number; a budget for noise that has no epsilon.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> interface = Answerer([1, 1, 0, 1], np.random.default_rng(0), noise=Laplace(0.5), budget=1.0)
        >>> [bool(np.isnan(interface.ask([1, 1, 0, 0])[0])) for _ in range(3)], interface.spent
        ([False, False, True], 1.0)
    """

    def __init__(
        self,
        bits: ArrayLike,
        rng: np.random.Generator,
        *,
        noise: AdditiveNoise | None = None,
        memory: str = "fresh",
        suppressed_below: float = 0.0,
        budget: float | None = None,
    ) -> None:
        one_of(MEMORY_KINDS, memory=memory)
        non_negative(suppressed_below=suppressed_below)
        self._bits = _column(bits)
        self._rng, self._noise, self._sticky = rng, noise, memory == "sticky"
        self._salt = rng.integers(2**32, size=4).tolist()
        self._below = suppressed_below
        self._answer_epsilon = _answer_epsilon(noise, budget)
        self._budget = math.inf if budget is None else float(budget)
        self._released: set[bytes] = set()
        self._spent = 0.0
        self._n_asked = 0

    @property
    def n_records(self) -> int:
        """Length of the column."""
        return int(self._bits.shape[1])

    @property
    def n_runs(self) -> int:
        """Number of columns that are queried at once."""
        return len(self._bits)

    @property
    def n_asked(self) -> int:
        """Number of queries so far, including those without an answer."""
        return self._n_asked

    @property
    def spent(self) -> float:
        """Epsilon spent so far by all answers; 0 without a budget."""
        return self._spent

    def ask(self, subset: ArrayLike) -> Floats:
        """Return the number of records of `subset` whose bit is 1, as the interface answers it.

        Args:
            subset: `(n,)` 0 and 1, or booleans.

        Returns:
            `(n_runs,)` answers; NaN where an answer is refused or suppressed.
        """
        chosen = np.asarray(subset).astype(np.bool_)
        if chosen.shape != (self.n_records,):
            raise ParameterError(
                f"subset must have one entry for each of the {self.n_records} records, but has shape {chosen.shape}.",
                argument="subset",
            )
        self._n_asked += 1
        key = np.packbits(chosen).tobytes()
        if not self._spend(key):
            return np.full(self.n_runs, math.nan)
        answers = self._bits @ chosen + self._noise_for(key)
        return np.where(answers < self._below, math.nan, answers) if self._below > 0.0 else answers

    def ask_all(self, subsets: ArrayLike) -> Floats:
        """Return the `(n_runs, m)` answers to the rows of `subsets`, in their order."""
        return np.stack([self.ask(subset) for subset in np.asarray(subsets)], axis=1)

    def ask_again(self, subset: ArrayLike, times: int) -> Floats:
        """Return `(n_runs, times)` answers to the same query."""
        whole(1, times=times)
        return np.stack([self.ask(subset) for _ in range(times)], axis=1)

    def _spend(self, key: bytes) -> bool:
        """Return True if the query is answered, and spend its epsilon."""
        if self._sticky and key in self._released:
            return True
        if self._spent + self._answer_epsilon > self._budget * (1.0 + 1e-12):
            return False
        self._released.add(key)
        self._spent += self._answer_epsilon
        return True

    def _noise_for(self, key: bytes) -> Floats | float:
        if self._noise is None:
            return 0.0
        rng = self._rng
        if self._sticky:
            words = np.frombuffer(blake2b(key, digest_size=16).digest(), dtype=np.uint32)
            rng = np.random.default_rng([*self._salt, *words.tolist()])
        return np.asarray(self._noise.release(0.0, self.n_runs, rng).values, dtype=np.float64)


def _column(bits: ArrayLike) -> Floats:
    column = np.atleast_2d(np.asarray(bits, dtype=np.float64))
    if column.ndim != 2 or column.size == 0 or not np.isin(column, (0.0, 1.0)).all():
        raise ParameterError(
            f"bits must be 0 and 1, of shape (n,) or (n_runs, n), but have shape {np.shape(bits)}.", argument="bits"
        )
    return column


def _answer_epsilon(noise: AdditiveNoise | None, budget: float | None) -> float:
    """Return the epsilon of one answer; 0 without a budget."""
    if noise is not None and (not isinstance(noise, AdditiveNoise) or noise.n_queries != 1):
        raise ParameterError(
            f"noise must add noise to one number, such as Laplace(epsilon=0.5), but is {noise!r}.", argument="noise"
        )
    if budget is None:
        return 0.0
    non_negative(budget=budget)
    epsilon = math.inf if noise is None else float(noise.guarantee().epsilon(0.0))
    if not math.isfinite(epsilon):
        raise ParameterError(
            f"budget is {budget:g}, but one answer with {'no noise' if noise is None else noise} has no finite "
            "epsilon. Use Laplace or Geometric noise, or budget=None.",
            argument="budget",
        )
    return epsilon
