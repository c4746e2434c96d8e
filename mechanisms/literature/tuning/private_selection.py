"""Private selection: mechanisms that publish one of several private runs.

ChoosesRun          base class
BestOfRepetitions   the best of a random number of runs
FirstGoodEnough     the first run whose score reaches a threshold
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy.special import logsumexp

from ...accounting import ExactDP, PureDP
from ...core.arrays import Floats, Ints
from ...core.base import (
    Data,
    Dataset,
    LogDensity,
    Mechanism,
    Neighbours,
    Outputs,
    Workers,
    example,
    known_law,
    unknown_law,
)
from ...core.constraints import Finite, OpenUnit, Positive
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from .candidate import NoisyCandidate, TuningTrial
from .repetitions import NegativeBinomialRepetitions, Repetitions


@dataclass(frozen=True)
class ChoosesRun(Mechanism):
    """A mechanism that publishes one of several runs.

    Args:
        base: one run; its outputs end with a score. None: `NoisyCandidate` with `epsilon` and `n_candidates`.
        epsilon, n_candidates: parameters of the default run, used if `base` is None.
    """

    _dataset = Data.ANSWERS

    base: TuningTrial | None = None
    _: KW_ONLY
    epsilon: Positive = 1.0
    n_candidates: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        run = NoisyCandidate(self.epsilon, self.n_candidates) if self.base is None else self.base
        if not isinstance(run, TuningTrial):
            raise ParameterError(
                f"base must be a TuningTrial, whose outputs end with a score, such as NoisyCandidate(0.5, 10) or "
                f"RandomMechanism(...), but is {run!r}.",
                argument="base",
            )
        object.__setattr__(self, "base", run)
        object.__setattr__(self, "relation", run.relation)

    @property
    def run(self) -> TuningTrial:
        """Mechanism of one run."""
        assert self.base is not None
        return self.base

    @property
    def workers(self) -> Workers:
        """Kind of workers of one run."""
        return self.run.workers

    @property
    def jumps(self) -> tuple[float, ...]:
        """Scores at which the density of the output jumps."""
        return ()

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve on `worst_case()`, of outputs rounded to cells of negligible size.

        Known for `NoisyCandidate`; None for other runs.
        """
        cells = self.run.cells(self.worst_case(), self.jumps)
        if cells is None:
            return None
        sides = (self.worst_case().d0, self.worst_case().d1)
        log_densities = [self.log_density(Outputs(cells.outputs), dataset) for dataset in sides]
        possible = np.minimum(*log_densities) > -np.inf
        laws = []
        for dataset, log_density in zip(sides, log_densities, strict=True):
            masses = (np.log(cells.weights) + log_density)[possible]
            with np.errstate(divide="ignore"):
                log_nothing = np.log(self.nothing(dataset))
            laws.append(np.append(masses + (math.log1p(-self.nothing(dataset)) - logsumexp(masses)), log_nothing))
        return ExactDP.of_logs(laws[0], laws[1], relation=self.relation)

    def output_law(self) -> LogDensity | None:
        """Return the mechanism if the law of one run and the law of its score are known, else None."""
        known = self.run.output_law() is not None
        return self if known and self.run.chances(np.zeros(1), self.worst_case().d0) is not None else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of the published output: of one run, times the weight of being published.

        Returns:
            Shape `(size,)`; the log probability for the event that there is no output.

        Raises:
            ParameterError: the law of one run, or of its score, is not known.
        """
        law, chances = known_law(self.run), self.run.chances(outputs.values[:, -1], dataset)
        if chances is None:
            raise unknown_law(self)
        density = law.log_density(Outputs(outputs.values), dataset) + self.log_weight(outputs, dataset, *chances)
        if outputs.events is None:
            return np.asarray(density)
        with np.errstate(divide="ignore"):
            return np.where(outputs.events == "", density, np.log(self.nothing(dataset)))

    @abstractmethod
    def log_weight(self, outputs: Outputs, dataset: Dataset, worse: Floats, better: Floats) -> Floats:
        """Return the log ratio of the density of the published run and of one run.

        `worse` and `better` are the probabilities that another run has a lower and a higher score.
        """

    def nothing(self, dataset: Dataset) -> float:
        """Return the probability that nothing is published."""
        del dataset
        return 0.0

    def worst_case(self) -> Neighbours:
        """Return the worst case of one run."""
        return self.run.worst_case()

    def bind(self, neighbours: Neighbours) -> Mechanism:
        """Return the mechanism with the run fitted to the pair."""
        fitted = self.run.bind(neighbours)
        assert isinstance(fitted, TuningTrial)
        return self if fitted is self.run else replace(self, base=fitted)


def best_of(base: TuningTrial, times: Ints, dataset: Dataset, rng: np.random.Generator) -> Outputs:
    """Return the best of `times[i]` runs for each i, from one sorted batch of all runs.

    Ties of the score are broken by the other numbers of the output, so that the best value does not depend on the order
    of the runs.

    Returns:
        `(size, k)` values, zeros and the event "no run" where `times` is 0.
    """
    runs = base.release(dataset, max(int(times.sum()), 1), rng)
    if runs.events is not None:
        raise ParameterError("base gave an exceptional output, which has no score.", argument="base")
    values = runs.values[: int(times.sum())]
    owner = np.repeat(np.arange(len(times)), times)
    order = np.lexsort((*values[:, :-1].T, values[:, -1], owner))
    last = np.cumsum(times) - 1
    best = np.zeros((len(times), values.shape[1]))
    nonempty = times > 0
    best[nonempty] = values[order[last[nonempty]]]
    return Outputs(best) if nonempty.all() else Outputs(best, np.where(nonempty, "", "no run"))


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

    _example = example(n_candidates=4, repetitions=NegativeBinomialRepetitions(1.0, 0.5))

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


NO_RESULT = "none was good enough"


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

    _example = example(n_candidates=4, threshold=-2.0, stopping=0.001)

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
        waiting, events = np.arange(size), np.full(size, NO_RESULT)
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
