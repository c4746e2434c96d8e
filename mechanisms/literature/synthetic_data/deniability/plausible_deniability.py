"""Plausible deniability of one synthetic record: its definition, its test, and the guarantee of the noisy test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from ....accounting.kinds.approximate import ApproximateDP, response_delta, response_epsilon
from ....accounting.kinds.profile import ProfileGuarantee
from ....accounting.numerics.laplace import laplace_log_cdf
from ....core import Floats, Ints, ParameterError, Positive, Relation, at_least, positive, whole


def _check_gamma(gamma: float) -> None:
    """Raise `ParameterError` unless gamma is a finite number above 1; a gamma of 1 defines no buckets."""
    positive(gamma=gamma)
    if gamma <= 1.0:
        raise ParameterError(argument="gamma", value=gamma, allowed="be above 1", advice="Try gamma=2.0.")


def n_plausible_seeds(probabilities: ArrayLike, seed: int, gamma: float) -> int:
    """Return the largest number of records, including the seed, that are equally plausible as the source of an output.

    Records are equally plausible if the ratio of any two of their probabilities to give the output is at most gamma.
    Sorted by probability, such a set is a window; the largest window that contains the seed is found by two searches.

    Args:
        probabilities: Pr[y = M(d_i)] of the one output y, `(n_records,)`, each in [0, 1].
        seed: index of the record that y was generated from.
        gamma: >= 1.

    Returns:
        0 if the seed cannot give the output.

    Example:
        >>> n_plausible_seeds([0.1, 0.2, 0.4, 0.0], seed=1, gamma=2.0)
        2
    """
    positive(gamma=gamma)
    if gamma < 1.0:
        raise ParameterError(argument="gamma", value=gamma, allowed="be at least 1")
    likelihoods = np.asarray(probabilities, dtype=np.float64)
    if likelihoods.ndim != 1 or not np.all((likelihoods >= 0.0) & (likelihoods <= 1.0)):
        raise ParameterError(
            f"probabilities must have shape (n_records,) and lie in [0, 1], but are {probabilities!r}.",
            argument="probabilities",
        )
    if not 0 <= seed < len(likelihoods):
        raise ParameterError(argument="seed", value=seed, allowed=f"be a whole number from 0 to {len(likelihoods) - 1}")
    seed_likelihood = likelihoods[seed]
    if seed_likelihood == 0.0:
        return 0
    ordered = np.sort(likelihoods[likelihoods > 0.0])
    lowest = ordered[
        (ordered <= seed_likelihood) & (ordered * gamma >= seed_likelihood)
    ]  # possible starts of a window over the seed
    ends = np.searchsorted(ordered, lowest * gamma, side="right")
    return int((ends - np.searchsorted(ordered, lowest, side="left")).max())


def plausibly_deniable(probabilities: ArrayLike, seed: int, *, k: int, gamma: float) -> bool:
    """Return True if an output may be released with (k, gamma)-plausible deniability.

    There must be k - 1 further records such that the probabilities of all k records, including the seed, to give the
    output are within a factor gamma of each other. (Bindschaedler, Shokri and Gunter 2017, definition 1.) This is a
    statement on one dataset, and not differential privacy.

    Args:
        probabilities, seed, gamma: see `n_plausible_seeds`.
        k: number of records, including the seed, >= 1.

    Example:
        >>> plausibly_deniable([0.1, 0.2, 0.4], seed=1, k=3, gamma=2.0)
        False
        >>> plausibly_deniable([0.1, 0.2, 0.4], seed=1, k=3, gamma=4.0)
        True
    """
    whole(1, k=k)
    return n_plausible_seeds(probabilities, seed, gamma) >= k


def likelihood_buckets(log_probabilities: Floats, gamma: float) -> Ints:
    """Return the whole number i with gamma^-(i + 1) < p <= gamma^-i for each log p; -1 where p is 0.

    The shape is that of `log_probabilities`. Two probabilities in one bucket are within a factor gamma, so a bucket of
    k records satisfies `plausibly_deniable`; the converse does not hold.

    Example:
        >>> likelihood_buckets(np.log([1.0, 0.5, 0.3, 0.25]), gamma=2.0)
        array([0, 1, 1, 2])
    """
    possible = np.isfinite(log_probabilities)
    steps = np.floor(-np.where(possible, np.minimum(log_probabilities, 0.0), 0.0) / math.log(gamma))
    return np.where(possible, steps, -1.0).astype(np.int64)


@dataclass(frozen=True, repr=False)
class DeniabilityDP(ProfileGuarantee):
    """Guarantee of a synthetic record released if k' >= k + Laplace(1 / epsilon0) records could have produced it.

    For every whole number t from 1 to k - 1 the release is (epsilon_t, delta_t)-DP with

        epsilon_t = epsilon0 + ln(1 + gamma / t)        delta_t = e^(-epsilon0 (k - t))

    The curve is the best over all t at each point. (Bindschaedler, Shokri and Gunter 2017, theorem 1.)

    Args:
        k: number of records that could have produced a released record, >= 2.
        gamma: largest ratio of the probabilities of two of them, > 1.
        epsilon0: epsilon of the noise on the threshold, > 0.
        relation: the neighbouring relation; None takes the relation of the pair.

    Guarantees:
        * An upper bound (`exact` is False), for events of released records. The outcome that nothing is released is
          covered if half of all runs are withheld, whatever the data: see `DeniableRelease`.
        * Under add_remove both datasets must have at least k records; under replace_one there is no such condition.

    Example:
        >>> claim = DeniabilityDP(50, 4.0, 1.0)
        >>> [(round(claim.at(t).nominal_epsilon, 5), f"{claim.at(t).nominal_delta:.2e}") for t in (20, 30, 36, 40)]
        [(1.18232, '9.36e-14'), (1.12516, '2.06e-09'), (1.10536, '8.32e-07'), (1.09531, '4.54e-05')]
        >>> round(claim.epsilon(1e-6), 5)
        1.10536
    """

    k: Annotated[int, at_least(2)]
    gamma: float
    epsilon0: Positive
    relation: Relation | None = None
    exact = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_gamma(self.gamma)
        self._set(relation=self.relation)

    @cached_property
    def points(self) -> tuple[Floats, Floats]:
        """epsilon_t and delta_t for t = 1, ..., k - 1, each `(k - 1, 1)`."""
        t = np.arange(1.0, self.k)[:, np.newaxis]
        return self.epsilon0 + np.log1p(self.gamma / t), np.exp(-self.epsilon0 * (self.k - t))

    def at(self, t: int) -> ApproximateDP:
        """Return the statement for one t, 1 <= t < k."""
        whole(1, t=t)
        if t >= self.k:
            raise ParameterError(argument="t", value=t, allowed=f"be below k = {self.k}")
        epsilon, delta = (float(values[t - 1, 0]) for values in self.points)
        return ApproximateDP(epsilon, delta, self.relation)

    @property
    def default_delta(self) -> float:
        """delta_t of half of the records, t = k // 2."""
        return math.exp(-self.epsilon0 * (self.k - self.k // 2))

    def _parameters(self) -> Mapping[str, Any]:
        return {"k": self.k, "gamma": self.gamma, "epsilon0": self.epsilon0}

    def _delta(self, epsilon: Floats) -> Floats:
        epsilon_t, delta_t = self.points
        return np.asarray((delta_t + (1.0 - delta_t) * response_delta(epsilon_t, epsilon)).min(axis=0))

    def _epsilon(self, delta: Floats) -> Floats:
        epsilon_t, delta_t = self.points
        beyond = np.maximum(0.0, delta - delta_t) / np.maximum(1.0 - delta_t, np.finfo(np.float64).tiny)
        return np.asarray(np.where(delta < delta_t, np.inf, response_epsilon(epsilon_t, beyond)).min(axis=0))

    def _tradeoff(self, fpr: Floats) -> Floats:
        epsilon_t, delta_t = self.points
        rest = 1.0 - delta_t
        steep, flat = rest - np.exp(epsilon_t + np.log(fpr)), np.exp(-epsilon_t) * (rest - fpr)
        return np.asarray(np.maximum(steep, flat).max(axis=0))


def pass_log_probability(excess: Floats, epsilon0: float) -> Floats:
    """Return the log probability that k' >= k + Laplace(1 / epsilon0), for each excess k' - k.

    Example:
        >>> np.exp(pass_log_probability(np.array([-1.0, 0.0, 1.0]), 1.0)).round(6)
        array([0.18394, 0.5    , 0.81606])
    """
    return laplace_log_cdf(epsilon0 * np.asarray(excess, dtype=np.float64))
