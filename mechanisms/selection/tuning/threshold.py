"""Private selection with a known threshold: the first run that is good enough."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...accounting import PureDP
from ...core.arrays import Floats
from ...core.base import Dataset, Outputs, unknown_law
from ...core.constraints import Finite, OpenUnit
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from .chooses_run import ChoosesRun

NOTHING = "none was good enough"


@dataclass(frozen=True)
class FirstGoodEnough(ChoosesRun):
    """Private selection with a known threshold: runs `base` until a score reaches the threshold, and publishes it.

    After each run below the threshold it stops with probability `stopping`, and then publishes only that it stopped.
    (Liu and Talwar 2019, algorithm 1 and theorem 3.1, without a largest number of runs.)

    Args:
        base: one run; its outputs end with a score. None: `NoisyCandidate` with `epsilon` and `n_candidates`.
        threshold: the public threshold on the score.
        stopping: probability to stop, in (0, 1); small, so that rare good runs are found.
        epsilon, n_candidates: parameters of the default run, used if `base` is None.

    Guarantees:
        * 2 epsilon-DP, if one run is epsilon-DP. With p the probability of a good run, a good output y has the
          probability q(y) / (p + stopping (1 - p)): both factors change by at most e^epsilon.

    Example:
        >>> FirstGoodEnough(epsilon=0.5, threshold=3.0).guarantee().epsilon(0.0)
        1.0
    """

    _: KW_ONLY
    threshold: Finite = 0.0
    stopping: OpenUnit = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.run.guarantee().default_delta != 0.0:
            raise ParameterError(
                f"base must be epsilon-DP, but its guarantee is {self.run.guarantee()}. Use BestOfRepetitions.",
                argument="base",
            )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the good outputs, `(size, k)`; the event "none was good enough" if a run stopped before one."""
        waiting, events = np.arange(size), np.full(size, NOTHING)
        values = np.zeros((size, self.run.release(dataset, 0, rng).values.shape[1]))
        while waiting.size:
            runs = self.run.release(dataset, waiting.size, rng).values
            good = runs[:, -1] >= self.threshold
            values[waiting[good]] = runs[good]
            events[waiting[good]] = ""
            waiting = waiting[~good]
            waiting = waiting[rng.random(waiting.size) >= self.stopping]
        return Outputs(values, events if (events != "").any() else None)

    @property
    def jumps(self) -> tuple[float, ...]:
        """Scores at which the density of the output jumps: the threshold."""
        return (self.threshold,)

    def guarantee(self) -> Guarantee:
        """Return `PureDP(2 epsilon)`."""
        return PureDP(2.0 * self.run.guarantee().epsilon(0.0), relation=self.relation)

    def log_weight(self, outputs: Outputs, dataset: Dataset, worse: Floats, better: Floats) -> Floats:
        """Return -ln of the probability that a run is the last one; -inf if the score is too low."""
        good, bad = self._chances(dataset)
        return np.where(outputs.values[:, -1] >= self.threshold, -np.log(good + self.stopping * bad), -np.inf)

    def nothing(self, dataset: Dataset) -> float:
        """Return the probability to stop before a run is good enough."""
        good, bad = self._chances(dataset)
        return self.stopping * bad / (good + self.stopping * bad)

    def _chances(self, dataset: Dataset) -> tuple[float, float]:
        """Return the probabilities that a run is good enough, and that it is not."""
        chances = self.run.chances(np.array([self.threshold]), dataset)
        if chances is None:
            raise unknown_law(self)
        return float(chances[1][0]), float(chances[0][0])
