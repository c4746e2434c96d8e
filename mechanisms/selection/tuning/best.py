"""The best of a random number of private runs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...core.arrays import Floats
from ...core.base import Dataset, Outputs
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from .chooses_run import ChoosesRun, best_of
from .repetitions import NegativeBinomialRepetitions, Repetitions

GEOMETRIC = NegativeBinomialRepetitions(shape=1.0, stopping=0.1)


@dataclass(frozen=True)
class BestOfRepetitions(ChoosesRun):
    """Private selection: runs `base` a random number of times, and publishes the output with the highest score.

    (Liu and Talwar 2019, algorithm 2; Papernot and Steinke 2022, algorithm 1.) If the number of runs is 0, the output
    is the event "no run".

    Args:
        base: one run; its outputs end with a score. None: `NoisyCandidate` with `epsilon` and `n_candidates`.
        repetitions: the law of the number of runs.
        epsilon, n_candidates: parameters of the default run, used if `base` is None.

    Guarantees:
        * The guarantee `repetitions.guarantee` of the best of several runs: (2 + shape) epsilon for a negative binomial
          number of epsilon-DP runs.

    Example:
        >>> mechanism = BestOfRepetitions(epsilon=0.5, n_candidates=8)  # a geometric number of runs, 10 in the mean
        >>> mechanism.guarantee().epsilon(0.0)
        1.5
        >>> mechanism.release(np.arange(8.0), 3, np.random.default_rng(0)).values.shape
        (3, 2)
    """

    _: KW_ONLY
    repetitions: Repetitions = GEOMETRIC

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.repetitions, Repetitions):
            raise ParameterError(
                f"repetitions must be PoissonRepetitions(...) or NegativeBinomialRepetitions(...), but is "
                f"{self.repetitions!r}.",
                argument="repetitions",
            )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the best output of each run of the mechanism, `(size, k)`."""
        return best_of(self.run, self.repetitions.draw(size, rng), dataset, rng)

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the best run; see the class."""
        return self.repetitions.guarantee(self.run.guarantee())

    def log_weight(self, outputs: Outputs, dataset: Dataset, worse: Floats, better: Floats) -> Floats:
        """Return ln E[K t^(K - 1)], with t the probability that a run is worse."""
        return self.repetitions.log_weight(better)

    def nothing(self, dataset: Dataset) -> float:
        """Return the probability that the number of runs is 0."""
        return self.repetitions.none
