"""The first private run that is good enough."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..base import Dataset, Outputs, unknown_law
from ..errors import ParameterError
from ..guarantees import PureDP
from ..guarantees.base import Guarantee
from ..queries.base import Floats
from ..validation import finite, open_unit
from .choosing import ChoosesRun

NOTHING = "none was good enough"


@dataclass(frozen=True)
class FirstGoodEnough(ChoosesRun):
    """Private selection with a known threshold: runs `base` until a score reaches the threshold, and publishes it.

    After each run that is not good enough it stops with probability `stopping`, and then publishes only that. (Liu and
    Talwar 2019, algorithm 1 and theorem 3.1, without a largest number of runs.)

    Args:
        base: one run; its outputs end with a score. None: `NoisyCandidate` with `epsilon` and `n_candidates`.
        threshold: the score that is good enough; public.
        stopping: in (0, 1); small, so that good runs are found where they are rare.
        epsilon, n_candidates: of the run that `base` stands for where it is left out.

    Guarantees:
        * 2 epsilon-DP, where one run is epsilon-DP. With p the probability of a good run, a good output y has the
          probability q(y) / (p + stopping (1 - p)): both factors change by at most e^epsilon.

    Example:
        >>> FirstGoodEnough(epsilon=0.5, threshold=3.0).guarantee().epsilon(0.0)
        1.0
    """

    _: KW_ONLY
    threshold: float = 0.0
    stopping: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        finite(threshold=self.threshold)
        open_unit(stopping=self.stopping)
        if self.run.guarantee().default_delta != 0.0:
            raise ParameterError(
                f"base must be epsilon-DP, but promises {self.run.guarantee()}. Take BestOfRepetitions.",
                argument="base",
            )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`(size, k)`: the good output of each; the event "none was good enough" where it stopped before."""
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
        """The threshold."""
        return (self.threshold,)

    def guarantee(self) -> Guarantee:
        """`PureDP(2 epsilon)`."""
        return PureDP(2.0 * self.run.guarantee().epsilon(0.0), relation=self.relation)

    def log_weight(self, outputs: Outputs, dataset: Dataset, worse: Floats, better: Floats) -> Floats:
        """-ln of the probability that a run is the last one; -inf where the score is too low."""
        good, bad = self._chances(dataset)
        return np.where(outputs.values[:, -1] >= self.threshold, -np.log(good + self.stopping * bad), -np.inf)

    def nothing(self, dataset: Dataset) -> float:
        """Probability that it stopped before a run was good enough."""
        good, bad = self._chances(dataset)
        return self.stopping * bad / (good + self.stopping * bad)

    def _chances(self, dataset: Dataset) -> tuple[float, float]:
        """That a run is good enough, and that it is not."""
        chances = self.run.chances(np.array([self.threshold]), dataset)
        if chances is None:
            raise unknown_law(self)
        return float(chances[1][0]), float(chances[0][0])
