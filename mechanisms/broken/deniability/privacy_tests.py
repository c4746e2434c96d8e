"""Intentionally broken releases that confuse plausible deniability with differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.base import Neighbours
from ...core.errors import ParameterError
from ...synthetic_data.deniability.release import DeniableRelease


@dataclass(frozen=True)
class _BrokenRelease(DeniableRelease):
    """Base class with the claim of `DeniableRelease` and a correct twin."""

    correct: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.correct, bool):
            raise ParameterError(f"correct must be True or False, but is {self.correct!r}.", argument="correct")

    def twin(self) -> Self:
        """Return the correct twin, with the same options."""
        return replace(self, correct=True)


@dataclass(frozen=True)
class DeterministicTest(_BrokenRelease):
    """Broken: the privacy test compares with the exact k, and has the claim of a noisy threshold.

    Bug: a released record is plausibly deniable, as k records could have produced it, which does not imply
    differential privacy. Where k records share one bucket, and k - 1 are not enough, one record decides whether any of
    their outputs can be released: epsilon is infinite. (Bindschaedler, Shokri and Gunter 2017, privacy test 1.)

    Args:
        generator, k, gamma, epsilon0, t, relation: as for `DeniableRelease`.
        correct: True for the correct twin, with noise.

    Example:
        >>> broken = DeterministicTest()
        >>> broken.exact_guarantee().epsilon(0.1), round(broken.twin().exact_guarantee().epsilon(0.01), 3)
        (inf, 0.941)
    """

    def _passes(self, excess: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
        return super()._passes(excess, rng) if self.correct else excess >= 0.0

    def _log_pass(self, excess: Floats) -> Floats:
        return super()._log_pass(excess) if self.correct else np.where(excess >= 0.0, 0.0, -np.inf)

    def _log_fail(self, excess: Floats) -> Floats:
        return super()._log_fail(excess) if self.correct else np.where(excess >= 0.0, -np.inf, 0.0)


@dataclass(frozen=True)
class NoPrivacyTest(_BrokenRelease):
    """Broken: every synthetic record is released, without a privacy test.

    Bug: the generator is private, but its seeds are not. It copies some attributes of its seed, so that a combination
    of them that only one record has is released when that record is the seed, and never without it.

    Args:
        generator, k, gamma, epsilon0, t, relation: as for `DeniableRelease`.
        correct: True for the correct twin, with the test.

    Example:
        >>> broken = NoPrivacyTest(k=20)
        >>> broken.exact_guarantee().epsilon(0.01), round(broken.exact_guarantee().delta(100.0), 6)  # 1 / (2 * 41)
        (inf, 0.012195)
    """

    def _passes(self, excess: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
        return super()._passes(excess, rng) if self.correct else np.full(excess.shape, fill_value=True)

    def _log_pass(self, excess: Floats) -> Floats:
        return super()._log_pass(excess) if self.correct else np.zeros(np.shape(excess))

    def _log_fail(self, excess: Floats) -> Floats:
        return super()._log_fail(excess) if self.correct else np.full(np.shape(excess), -np.inf)

    def worst_case(self) -> Neighbours:
        """Return 2 k records of one kind; side 1 has one of another kind, added or in place of one."""
        first, other = self.generator.two_records()
        return self._pair(other, 0, first, 2 * self.k)


@dataclass(frozen=True)
class NoReleaseSeen(_BrokenRelease):
    """Broken: the published mechanism, with the absence of a release observed.

    Bug: the theorem covers sets of released records, not the event that no record is released. With n records that
    pass and one that cannot, there is no release whenever that one is the seed, in 1 run of n + 1. Over many runs the
    number of released records reveals it. Withholding half of all runs, independently of the data, hides it.

    Args:
        generator, k, gamma, epsilon0, t, relation: as for `DeniableRelease`.
        correct: True for the correct twin, which withholds half of all runs.

    Example:
        >>> broken = NoReleaseSeen(k=20)
        >>> broken.guarantee().epsilon(0.01) < 1.2 < 15.0 < broken.exact_guarantee().epsilon(0.01)
        True
        >>> round(broken.twin().exact_guarantee().epsilon(0.01), 4)
        0.0045
    """

    @property
    def withheld(self) -> float:
        """Probability that a run is withheld at random; 0 for the broken mechanism."""
        return super().withheld if self.correct else 0.0

    def worst_case(self) -> Neighbours:
        """Return 2 k records of one kind; side 1 has one of another kind, added or in place of one."""
        first, other = self.generator.two_records()
        return self._pair(other, 0, first, 2 * self.k)
