"""Intentionally broken plausible deniability: taken for differential privacy, or learned without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....accounting.broken import Broken, certain_leak
from ....accounting.numerics.laplace import laplace_log_density
from ....core import Bools, Dataset, Flag, Floats, Guarantee, LogDensity, Neighbours, Outputs, example
from .laplace_statistics import LaplaceStatistics
from .parameters import NoisyFamilyCounts
from .release import DeniableRelease
from .structure import NoisyEntropies


@dataclass(frozen=True)
class _BrokenRelease(Broken, DeniableRelease):
    """Base class with the claim of `DeniableRelease` and a correct twin."""

    correct: Flag = False


@dataclass(frozen=True)
class DeterministicTest(_BrokenRelease):
    """Broken: the privacy test compares with the exact k, and has the claim of a noisy threshold.

    Where k records share one bucket, and k - 1 are not enough, one record decides whether any of their outputs can
    be released: epsilon is infinite.

    Args:
        correct: True for the correct twin, with noise.

    Example:
        >>> broken = DeterministicTest()
        >>> broken.exact_guarantee().epsilon(0.1), round(broken.twin().exact_guarantee().epsilon(0.01), 3)
        (inf, 0.941)
    """

    cause = "Plausible deniability, k records that could have produced a release, does not imply differential privacy."
    source = "Bindschaedler, Shokri and Gunter (2017), privacy test 1."

    def _passes(self, excess: Floats, rng: np.random.Generator) -> Bools:
        return super()._passes(excess, rng) if self.correct else excess >= 0.0

    def _log_pass(self, excess: Floats) -> Floats:
        return super()._log_pass(excess) if self.correct else np.where(excess >= 0.0, 0.0, -np.inf)

    def _log_fail(self, excess: Floats) -> Floats:
        return super()._log_fail(excess) if self.correct else np.where(excess >= 0.0, -np.inf, 0.0)


@dataclass(frozen=True)
class NoPrivacyTest(_BrokenRelease):
    """Broken: every synthetic record is released, without a privacy test.

    The generator copies some attributes of its seed, so that a combination of them that only one record has is released
    when that record is the seed, and never without it.

    Args:
        correct: True for the correct twin, with the test.

    Example:
        >>> broken = NoPrivacyTest(k=20)
        >>> broken.exact_guarantee().epsilon(0.01), round(broken.exact_guarantee().delta(100.0), 6)  # 1 / (2 * 41)
        (inf, 0.012195)
    """

    cause = "The generator is private, but its seeds are not."
    source = "Bindschaedler, Shokri and Gunter (2017), without their privacy test."

    def _passes(self, excess: Floats, rng: np.random.Generator) -> Bools:
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

    With n records that pass and one that cannot, there is no release whenever that one is the seed, in 1 run of
    n + 1. Over many runs the number of released records reveals it. Withholding half of all runs, independently of the
    data, hides it.

    Args:
        correct: True for the correct twin, which withholds half of all runs.

    Example:
        >>> broken = NoReleaseSeen(k=20)
        >>> broken.guarantee().epsilon(0.01) < 1.2 < 15.0 < broken.exact_guarantee().epsilon(0.01)
        True
        >>> round(broken.twin().exact_guarantee().epsilon(0.01), 4)
        0.0045
    """

    cause = "The theorem covers sets of released records, not the event that no record is released."
    source = "Bindschaedler, Shokri and Gunter (2017), whose theorem is about released records."

    @property
    def withheld(self) -> float:
        """Probability that a run is withheld at random; 0 for the broken mechanism."""
        return super().withheld if self.correct else 0.0

    def worst_case(self) -> Neighbours:
        """Return 2 k records of one kind; side 1 has one of another kind, added or in place of one."""
        first, other = self.generator.two_records()
        return self._pair(other, 0, first, 2 * self.k)


class _NoiseMissing(Broken, LaplaceStatistics):
    """Base class: some of the released numbers have no noise."""

    correct: bool

    def bare(self) -> slice:
        """Return the slice of the numbers without noise."""
        raise NotImplementedError

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of the correct twin, with exact values for the numbers without noise."""
        outputs = super().release(dataset, size, rng)
        if not self.correct:
            outputs.values[:, self.bare()] = self.answers(dataset)[self.bare()]
        return outputs

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of the noisy numbers, shape `(size,)`; -inf where one without noise is not exact."""
        exact = self.answers(dataset)
        noise = np.subtract(outputs.values, exact, dtype=np.float64)
        impossible = np.zeros(len(noise), dtype=bool) if self.correct else noise[:, self.bare()].any(axis=1)
        log = laplace_log_density(noise, self.scale)
        if not self.correct:
            log[:, self.bare()] = np.where(impossible[:, np.newaxis], -np.inf, 0.0)
        return np.asarray(log.sum(axis=1))

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of a complete leak: the numbers without noise distinguish the sides in every run."""
        return super().exact_guarantee() if self.correct else certain_leak(self.relation)


@dataclass(frozen=True)
class PairsWithoutNoise(_NoiseMissing, NoisyEntropies):
    """Broken: structure learning that adds noise to the entropies of attributes, but not to those of pairs.

    The claim counts them all. One record changes the exact entropy of a pair: epsilon is infinite.

    Args:
        view, max_parents, max_cells: as for `NoisyEntropies`; the view is "entropies".
        correct: True for the correct twin.

    Example:
        >>> PairsWithoutNoise().exact_guarantee().epsilon(0.5)
        inf
    """

    cause = "The noise is added where entropies of single attributes are computed; pairs are computed elsewhere."
    source = "Constructed; the structure learning of Bindschaedler, Shokri and Gunter (2017)."

    correct: Flag = False

    def bare(self) -> slice:
        """Return the slice of the pairs."""
        return slice(len(self.domain.names), None)


@dataclass(frozen=True)
class RootsWithoutNoise(_NoiseMissing, NoisyFamilyCounts):
    """Broken: parameter learning that adds noise to conditional tables, but not to the counts of the first attribute.

    The claim counts all tables. A histogram without noise leaks the number of records: epsilon is infinite.

    Args:
        correct: True for the correct twin.

    Example:
        >>> RootsWithoutNoise().exact_guarantee().epsilon(0.5)
        inf
    """

    _example = example(parents={"x1": ["x2"], "x2": ["x3"]}, order=("x3", "x2", "x1"))

    cause = "The noise is drawn in the loop over parents, which is empty for an attribute without parents."
    source = "Constructed; the parameter learning of Bindschaedler, Shokri and Gunter (2017)."

    correct: Flag = False

    def bare(self) -> slice:
        """Return the slice of the table of the first attribute without parents."""
        sizes = [family.n_cells for family in self.families]
        root = next(attribute for attribute, parents in enumerate(self.parents) if not parents)
        return slice(sum(sizes[:root]), sum(sizes[: root + 1]))
