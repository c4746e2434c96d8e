"""Report noisy max, and permute-and-flip, which has the law of report noisy max with exponential noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.special import log_softmax, logsumexp

from ..accounting import ExactDP, FiniteMechanism
from ..core import Dataset, Floats, Guarantee, Neighbours, Outputs, one_of_names
from ..noise.queries.answers import refuse_worst_case
from .base import Selection, rare_lead
from .exponential import Exponential
from .laws import log_largest_exponential, log_largest_laplace


@dataclass(frozen=True)
class SelectionNoise:
    """Noise of scale 1: its sampler, and the log probability of each score to be the largest with noise."""

    draw: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    log_largest: Callable[[Floats], Floats]


def _laplace(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    noise = rng.standard_exponential(shape)
    noise -= rng.standard_exponential(shape)
    return noise


def _gumbel(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return -np.log(rng.standard_exponential(shape))


NOISES = {
    "laplace": SelectionNoise(_laplace, log_largest_laplace),
    "gumbel": SelectionNoise(_gumbel, log_softmax),
    "exponential": SelectionNoise(np.random.Generator.standard_exponential, log_largest_exponential),
}
"""Noises by the values of the option `noise`."""


@dataclass(frozen=True)
class ReportNoisyMax(Selection, FiniteMechanism):
    """Report noisy max: add independent noise to each utility, and release the index of the largest sum.

    The noise has scale 2 sensitivity / epsilon, or sensitivity / epsilon if `monotone`. (Dwork and Roth 2014, section
    3.3.) It is one of

        laplace        scale b has density e^-|z|/b / (2 b)
        exponential    one-sided: density e^-z/b / b for z > 0; the law of `PermuteAndFlip` (Ding, Kifer, Steinke, Wang,
                       Xiao and Zhang 2021)
        gumbel         distribution function e^-e^-z/b; the law of `Exponential`, and the only one of the three with
                       losses in an interval of length epsilon (Durfee and Rogers 2019)

    Gaussian noise is not offered: no scale makes this epsilon-DP.

    Args:
        noise: "laplace", "exponential" or "gumbel".
        epsilon, n_candidates, sensitivity, monotone, query, relation: as for `Exponential`.

    Guarantees:
        * epsilon-DP. Exponential noise attains it; the others approach it, see `worst_case`.
        * Probabilities are exact up to rounding: closed forms, and quadrature between the scores for Laplace noise.

    Example:
        >>> mechanism = ReportNoisyMax(epsilon=1.0, n_candidates=3)
        >>> mechanism.probabilities([0.0, 0.0, 2.0]).round(6)
        array([0.204907, 0.204907, 0.590186])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 3)
        0.87
    """

    _: KW_ONLY
    noise: Annotated[str, one_of_names(*NOISES)] = "laplace"

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each candidate, shape `(n_candidates,)`."""
        return NOISES[self.noise].log_largest(self.scores(dataset))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of the largest noisy utilities of `size` runs, shape `(size,)`."""
        noisy = NOISES[self.noise].draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        return Outputs(noisy.argmax(axis=1))

    def curve(self, neighbours: Neighbours) -> Guarantee:
        """Return the exact curve of a pair."""
        log0, log1 = (self.log_probabilities(side) for side in (neighbours.d0, neighbours.d1))
        return ExactDP.of_logs(log0 - logsumexp(log0), log1 - logsumexp(log1), self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair on which candidate 0 gains and the others lose as much as possible.

        With exponential noise its utility reaches theirs: its probability grows from e^-epsilon / n to 1 / n. With
        Gumbel noise the pair is that of `Exponential`. With Laplace noise its log ratio approaches epsilon as its
        utility falls; it is placed where its probability is that of `event_log_odds`.
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
        """Return the lead of candidate 0 at which its probability is that of `event_log_odds`."""

        def log_probability(lead: float) -> float:
            scores = np.zeros(self.n_candidates)
            scores[0] = lead
            return float(log_largest_laplace(scores)[0])

        return rare_lead(log_probability, self.epsilon, largest=60.0, steps=30)


@dataclass(frozen=True)
class PermuteAndFlip(Selection, FiniteMechanism):
    """Permute-and-flip: visit the candidates in random order, and choose the first that passes its coin toss.

    Candidate y passes with probability exp(epsilon (u_y - u*) / (2 sensitivity)), where u* is the largest utility, so
    that a best candidate is chosen when it is visited. With `monotone=True` the factor 2 is dropped. (McKenna and
    Sheldon 2020, algorithm 1.) Its law is that of report noisy max with exponential noise (Ding, Kifer, Steinke, Wang,
    Xiao and Zhang 2021), and its expected utility is never below that of `Exponential`.

    Args:
        epsilon, n_candidates, sensitivity, monotone, query, relation: as for `Exponential`.

    Guarantees:
        * epsilon-DP, attained by the pair of `worst_case`.
        * Not of bounded range epsilon: the log ratios of two candidates that are equal on one side, with the largest
          possible lead of one on the other side, differ by epsilon + log(2 - e^-epsilon).

    Example:
        >>> mechanism = PermuteAndFlip(epsilon=1.0, n_candidates=2, monotone=True)
        >>> mechanism.probabilities([0.0, 1.0]).round(6)  # e^-1 / 2
        array([0.18394, 0.81606])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 9)
        1.0
    """

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each candidate, shape `(n_candidates,)`.

        The average over all orders of the product of (1 - w_j) over the candidates before y, times w_y, with w the
        probability to pass: an integral of a polynomial, see `laws`.
        """
        return log_largest_exponential(self.scores(dataset))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of `size` runs, shape `(size,)`: the first in random order that passes its coin toss."""
        passes = rng.random((size, self.n_candidates)) < np.exp(self.scores(dataset))
        turn = rng.random((size, self.n_candidates))
        return Outputs(np.where(passes, turn, np.inf).argmin(axis=1))

    def worst_case(self) -> Neighbours:
        """Return a pair on which the probability of candidate 0 grows from e^-epsilon / n to 1 / n."""
        return self.leading(1, -self.epsilon)
