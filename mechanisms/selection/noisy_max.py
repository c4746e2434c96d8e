"""Report noisy max: add noise to every utility, and tell which is largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.special import log_softmax

from ..base import Dataset, Neighbours, Outputs
from ..guarantees.base import Guarantee
from ..guarantees.exact import exact_from_logs
from ..queries.answers import refuse_worst_case
from ..queries.base import Floats
from ..validation import one_of
from .base import ChoosesOne
from .exponential import Exponential
from .laws import log_largest_exponential, log_top_set_laplace

RARE = 0.01
"""Probability on `d0` of the event of the worst case."""


@dataclass(frozen=True)
class Noise:
    """Noise of scale 1: how it is drawn, and how likely each score is to be the largest after it."""

    draw: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    log_largest: Callable[[Floats], Floats]


def _laplace(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    noise = rng.standard_exponential(shape)
    noise -= rng.standard_exponential(shape)
    return noise


def _gumbel(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return -np.log(rng.standard_exponential(shape))


def _exponential(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_exponential(shape)


def _log_largest_laplace(scores: Floats) -> Floats:
    return log_top_set_laplace(scores, np.arange(len(scores))[:, np.newaxis])


def _log_softmax(scores: Floats) -> Floats:
    return np.asarray(log_softmax(scores))


NOISES = {
    "laplace": Noise(_laplace, _log_largest_laplace),
    "gumbel": Noise(_gumbel, _log_softmax),
    "exponential": Noise(_exponential, log_largest_exponential),
}
"""The values of `noise`."""


@dataclass(frozen=True)
class ReportNoisyMax(ChoosesOne):
    """Report noisy max: add independent noise to each utility, and return the position of the largest sum.

    The noise has scale 2 sensitivity / epsilon, or sensitivity / epsilon when `monotone`. (Dwork and Roth 2014, section
    3.3.) It is one of

        laplace        scale b has density e^-|z|/b / (2 b)
        exponential    one-sided: density e^-z/b / b for z > 0; the law of `PermuteAndFlip` (Ding, Kifer, Steinke, Wang,
                       Xiao and Zhang 2021)
        gumbel         distribution function e^-e^-z/b; the law of `Exponential`, and the only one of the three whose
                       losses lie in an interval of length epsilon (Durfee and Rogers 2019)

    Gaussian noise is left out: no scale makes this epsilon-DP.

    Args:
        noise: "laplace", "exponential" or "gumbel".
        epsilon, n_candidates, sensitivity, monotone, query, relation: as for `Exponential`.

    Guarantees:
        * epsilon-DP. Exponential noise attains it; the others approach it, as for `worst_case`.
        * Probabilities are exact to rounding: closed forms, for Laplace noise quadrature between the scores.

    Example:
        >>> mechanism = ReportNoisyMax(epsilon=1.0, n_candidates=3)
        >>> mechanism.probabilities([0.0, 0.0, 2.0]).round(6)
        array([0.204907, 0.204907, 0.590186])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 3)
        0.992
    """

    _: KW_ONLY
    noise: str = "laplace"

    def __post_init__(self) -> None:
        one_of(NOISES, noise=self.noise)
        super().__post_init__()

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Log probability of each candidate, shape `(n_candidates,)`."""
        return NOISES[self.noise].log_largest(self.scores(dataset))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Positions of the largest noisy utilities of `size` runs, shape `(size,)`."""
        noisy = NOISES[self.noise].draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        return Outputs(noisy.argmax(axis=1))

    def curve(self, neighbours: Neighbours) -> Guarantee:
        """The exact curve of a pair."""
        log_p0, log_p1 = (_log_softmax(self.log_probabilities(side)) for side in (neighbours.d0, neighbours.d1))
        return exact_from_logs(log_p0, log_p1, self.relation)

    def worst_case(self) -> Neighbours:
        """Candidate 0 gains as much as it may while the others lose as much as they may.

        With exponential noise it catches up with them: its probability grows from e^-epsilon / n to 1 / n. With Gumbel
        noise as for `Exponential`. With Laplace noise its log ratio approaches epsilon as it falls behind; it is placed
        where it is chosen once in 100 runs on `d0`.
        """
        refuse_worst_case(type(self).__name__, self.query)
        if self.noise == "gumbel":
            return Exponential(
                self.epsilon,
                self.n_candidates,
                sensitivity=self.sensitivity,
                monotone=self.monotone,
                relation=self.relation,
            ).worst_case()
        return self.leading(1, -self.epsilon if self.noise == "exponential" else self._rare_lead())

    def _rare_lead(self) -> float:
        """How far candidate 0 stands above the others where its probability is `RARE`: by bisection."""
        low, high = -60.0, 60.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            scores = np.zeros(self.n_candidates)
            scores[0] = middle
            rare = log_top_set_laplace(scores, np.zeros((1, 1), dtype=np.int64))[0] < math.log(RARE)
            low, high = (middle, high) if rare else (low, middle)
        return high
