"""Intentionally broken tuning: the best of several runs, claimed at the epsilon of one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...accounting.broken import Broken
from ...core import Dataset, Floats, Guarantee, Outputs, PositiveInt, example
from . import BestOfRepetitions
from .private_selection import ChoosesRun, best_of


@dataclass(frozen=True)
class BestOfK(Broken, ChoosesRun):
    """Broken: the best of a fixed number of runs, with the claim of one run.

    The other runs use the private data too, and their lower scores are part of the output. The true epsilon
    approaches K times that of one run.

    Args:
        base: one run; its outputs end with a score. None: `NoisyCandidate` with `epsilon` and `n_candidates`.
        k: number of runs, >= 1.
        epsilon, n_candidates: options of the default `base`.

    Example:
        >>> BestOfK(epsilon=0.5, k=20).guarantee().epsilon(0.0)
        0.5
    """

    _example = example(n_candidates=4, k=2)

    cause = "Models are trained with different settings, but only the training of the released one is accounted for."
    source = "Papernot and Steinke (2022), section 3."
    correct_class = BestOfRepetitions

    _: KW_ONLY
    k: PositiveInt = 20

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the best output of k runs, `size` times."""
        return best_of(self.run, np.full(size, self.k, dtype=np.int64), dataset, rng)

    def guarantee(self) -> Guarantee:
        """Return the claim, the guarantee of one run."""
        return self.run.guarantee()

    def log_weight(self, outputs: Outputs, dataset: Dataset, worse: Floats, better: Floats) -> Floats:
        """Return ln k + (k - 1) ln t, with t the probability that a run is worse."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.k) + ((self.k - 1) * np.log(worse) if self.k > 1 else 0.0))
