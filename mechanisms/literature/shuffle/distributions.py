"""Estimators of a distribution and tests of uniformity, in each trust model: the tasks of `sample_sizes`.

oracle_for        the local mechanism with the smallest variance, at the epsilon that the trust model allows
FrequencyLearner  estimates a distribution from the values of n users
UniformityTest    decides whether the values of n users come from the uniform distribution
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy.special import bdtr

from ...accounting.amplification import local_epsilon_for
from ...core import Floats, Ints, OpenUnit, ParameterError, PositiveInt, at_least, check_fields
from ...local.base import FrequencyOracle
from ...local.randomized_response import KAryRandomizedResponse
from ...noise.laplace import draw_laplace
from ..local.hadamard import HadamardResponse
from ..local.subset_selection import SubsetSelection
from .sample_sizes import check_model

Values = Ints


def oracle_for(epsilon: float, k: int, n_users: int) -> FrequencyOracle:
    """Return the oracle with the smallest variance at frequency 1 / k: k-ary, subset selection or Hadamard response."""
    oracles: list[FrequencyOracle] = [KAryRandomizedResponse(epsilon, k)]
    if k > 2:
        oracles += [SubsetSelection(epsilon, k), HadamardResponse(epsilon, k)]
    return min(oracles, key=lambda oracle: oracle.frequency_variance(1.0 / k, n_users))


@dataclass(frozen=True)
class _TrustModel:
    """Options of both tasks.

    Args:
        k: number of values, >= 2.
        n_users: number of users, each of whom holds one value, >= 2.
        model: "non-private", "central", "local" or "shuffle".
        epsilon: epsilon of the release, > 0; only for the private models.
        delta: delta of the release, strictly between 0 and 1; only for "shuffle".
    """

    k: Annotated[int, at_least(2)]
    n_users: Annotated[int, at_least(2)]
    _: KW_ONLY
    model: str
    epsilon: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_model(self.model, self.epsilon, self.delta)

    @cached_property
    def local_epsilon(self) -> float | None:
        """Epsilon of one user's message: for "shuffle" the largest that the theorem for shuffled messages allows."""
        if self.model == "local":
            return self.epsilon
        if self.model == "shuffle" and self.epsilon is not None and self.delta is not None:
            return local_epsilon_for(self.epsilon, self.delta, self.n_users)
        return None

    def _checked(self, values: Values) -> Values:
        """Return the values of one dataset, checked, shape `(n_users,)`."""
        array = np.asarray(values)
        if array.shape != (self.n_users,) or array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= self.k:
            raise ParameterError(
                f"values must be {self.n_users} whole numbers from 0 to {self.k - 1}, one a user, but have shape "
                f"{array.shape} and type {array.dtype}.",
                argument="values",
            )
        return array


@dataclass(frozen=True)
class FrequencyLearner(_TrustModel):
    """Estimator of the frequencies of k values.

        non-private     the frequencies
        central         the counts with Laplace noise of scale 2 / epsilon, divided by n
        local, shuffle  the unbiased estimate from the messages of `oracle_for` at the local epsilon

    Args:
        k, n_users, model, epsilon, delta: as for both tasks; the guarantee is under replace_one.

    Example:
        >>> learner = FrequencyLearner(8, 10_000, model="shuffle", epsilon=0.5, delta=1e-6)
        >>> type(learner.oracle).__name__, round(learner.local_epsilon, 3)
        ('KAryRandomizedResponse', 3.702)
    """

    @cached_property
    def oracle(self) -> FrequencyOracle | None:
        """The local mechanism of each user; None where users send their value."""
        return None if self.local_epsilon is None else oracle_for(self.local_epsilon, self.k, self.n_users)

    def estimate(self, values: Values, rng: np.random.Generator) -> Floats:
        """Return the estimated frequencies of the `values` `(n_users,)`, shape `(k,)`; entries may be negative."""
        checked = self._checked(values)
        if self.oracle is not None:
            return self.oracle.estimate_frequencies(self.oracle.release(checked, 1, rng).values[0])
        counts = np.bincount(checked, minlength=self.k).astype(np.float64)
        if self.epsilon is not None:
            counts += draw_laplace(2.0 / self.epsilon, (self.k,), rng)
        return np.asarray(counts / self.n_users)

    def mean_error(self, n_runs: int, rng: np.random.Generator) -> float:
        """Return the mean distance in total variation from the uniform distribution, over runs on samples of it."""
        errors = [
            0.5 * np.abs(self.estimate(rng.integers(self.k, size=self.n_users), rng) - 1.0 / self.k).sum()
            for _ in range(n_runs)
        ]
        return float(np.mean(errors))


@dataclass(frozen=True)
class UniformityTest(_TrustModel):
    """A test of the uniform distribution on k values against all distributions at total variation distance alpha.

        non-private, central   1/2 sum over v of |N_v / n - 1/k|, which a replaced value moves by at most min(1/n, 1/k);
                               central with Laplace noise (the statistic of Diakonikolas, Gouleakis, Peebles and Price
                               2019, privately Acharya, Sun and Zhang 2018)
        local, shuffle         the unbiased estimate of the squared distance sum over v of (p_v - 1/k)^2 from all pairs
                               of messages of `oracle_for` at the local epsilon (Acharya, Canonne, Freitag and Tyagi
                               2019)

    With public coins the users are split into groups, each with a random partition of the values into `n_parts` equal
    parts, and each user sends only the part of their value. A partition keeps the share (k - k / n_parts) / (k - 1) of
    the squared distance on average, which is averaged over the groups (RAPTOR of the same authors, with n_parts = 2).

    The threshold of the test is halfway between the expected statistics of the uniform distribution and of the
    distribution at distance alpha that is hardest to detect (`hardest`): half of the values at (1 + 2 alpha) / k, and
    half at (1 - 2 alpha) / k (Paninski 2008).

    Args:
        k, n_users, model, epsilon, delta: as for both tasks; the guarantee is under replace_one.
        alpha: distance > 0, at most 1/2, or (k - 1) / (2 k) if k is odd.
        coins: "private" or "public"; only for "local" and "shuffle".
        n_parts: number of parts, a divisor of k, >= 2; only with public coins.
        n_groups: number of groups, >= 1; only with public coins.

    Guarantees:
        * The privacy of the model for all values: the decision is computed from a private release.
        * No guarantee on the error rates, which depend on `n_users`: `error_rates` measures them.

    Example:
        >>> test = UniformityTest(16, 2000, alpha=0.25, model="central", epsilon=1.0)
        >>> test.error_rates(200, np.random.default_rng(0))
        (0.0, 0.0)
    """

    alpha: OpenUnit = 0.25
    coins: str | None = None
    n_parts: Annotated[int, at_least(2)] = 2
    n_groups: PositiveInt = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        check_model(self.model, self.epsilon, self.delta, coins=self.coins, needs_coins=True)
        if self.alpha > (self.k // 2) / self.k:
            raise ParameterError(
                argument="alpha", value=self.alpha, allowed=f"be at most {(self.k // 2) / self.k:g} with k = {self.k}"
            )
        if self.coins == "public" and (self.k % self.n_parts or self.n_users < 2 * self.n_groups):
            raise ParameterError(
                f"n_parts must divide k = {self.k}, and each of the n_groups must have two users, but n_parts is "
                f"{self.n_parts}, n_groups {self.n_groups} and n_users {self.n_users}.",
                argument="n_parts",
            )

    @cached_property
    def oracle(self) -> FrequencyOracle | None:
        """The local mechanism of each user; None where users send their value."""
        if self.local_epsilon is None:
            return None
        return oracle_for(self.local_epsilon, self.n_parts if self.coins == "public" else self.k, self.n_users)

    @cached_property
    def sensitivity(self) -> float:
        """Largest change of the statistic by a replaced value, for "central"."""
        return 1.0 / max(self.n_users, self.k)

    @cached_property
    def hardest(self) -> Floats:
        """Distribution at distance alpha that is hardest to detect, up to the order of the values, `(k,)`."""
        half = self.k // 2
        return 1.0 / self.k + self.alpha / half * np.repeat([1.0, 0.0, -1.0], [half, self.k % 2, half])

    @cached_property
    def threshold(self) -> float:
        """Threshold of the statistic, above which the test rejects."""
        if self.oracle is not None:
            share = 1.0 if self.coins == "private" else (self.k - self.k / self.n_parts) / (self.k - 1.0)
            return 0.5 * share * float(((self.hardest - 1.0 / self.k) ** 2).sum())
        return 0.5 * (self._mean_distance(np.full(self.k, 1.0 / self.k)) + self._mean_distance(self.hardest))

    def _mean_distance(self, p: Floats) -> float:
        """Return the mean of 1/2 sum over v of |N_v / n - 1/k| over samples from p; equal entries are computed once."""
        total = 0.0
        for value, times in zip(*np.unique(p, return_counts=True), strict=True):
            at = np.arange(self.n_users + 1)
            law = np.diff(bdtr(at, self.n_users, value), prepend=0.0)
            total += times * float((law * np.abs(at / self.n_users - 1.0 / self.k)).sum())
        return 0.5 * total

    def statistic(self, values: Values, rng: np.random.Generator) -> float:
        """Return the private statistic of the `values` `(n_users,)`, which is large if they are not uniform."""
        checked = self._checked(values)
        if self.oracle is None:
            counts = np.bincount(checked, minlength=self.k)
            distance = 0.5 * float(np.abs(counts / self.n_users - 1.0 / self.k).sum())
            return distance + (
                0.0 if self.epsilon is None else float(draw_laplace(self.sensitivity / self.epsilon, (), rng))
            )
        if self.coins == "private":
            return _squared_distance(self.oracle, checked, rng)
        groups = np.array_split(rng.permutation(checked), self.n_groups)
        parts = np.repeat(np.arange(self.n_parts), self.k // self.n_parts)
        return float(np.mean([_squared_distance(self.oracle, rng.permutation(parts)[group], rng) for group in groups]))

    def rejects(self, values: Values, rng: np.random.Generator) -> bool:
        """Return whether the test rejects uniformity for the `values` `(n_users,)`."""
        return self.statistic(values, rng) > self.threshold

    def error_rates(self, n_runs: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return the rejection rate of the uniform distribution, and the acceptance rate of the hardest one."""
        errors = np.zeros(2)
        for _ in range(n_runs):
            uniform = rng.integers(self.k, size=self.n_users)
            other = rng.choice(self.k, self.n_users, p=rng.permutation(self.hardest))
            errors += self.rejects(uniform, rng), not self.rejects(other, rng)
        return float(errors[0] / n_runs), float(errors[1] / n_runs)


def _squared_distance(oracle: FrequencyOracle, values: Values, rng: np.random.Generator) -> float:
    """Return the unbiased estimate of sum over v of (p_v - 1/k)^2 from all pairs of messages."""
    n, p, q, k = len(values), oracle.p_support, oracle.q_support, oracle.n_categories
    support = oracle.support(oracle.release(values, 1, rng).values[0]).astype(np.float64)
    mean = q + (p - q) / k
    pairs = (support * (support - 1.0)).sum() / (n * (n - 1.0))
    return float((pairs - 2.0 * mean * support.sum() / n + k * mean**2) / (p - q) ** 2)
