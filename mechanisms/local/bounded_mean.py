"""A local mechanism for the mean of numbers in [-1, 1]: each user sends one of two messages."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..accounting import ExactDP
from ..accounting.claims import PureMechanism
from ..core.arrays import Floats
from ..core.base import Dataset, Mechanism, Neighbours, Outputs
from ..core.constraints import Positive
from ..core.errors import NeighboursError, ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation


@dataclass(frozen=True)
class Duchi(PureMechanism):
    """Unbiased one-bit message: +C with probability 1/2 + x / (2 C), else -C, with C = (e^epsilon + 1)/(e^epsilon - 1).

    The dataset is the number x of one user, or `(n_users,)` numbers; each output is one message, or one per user.

    Args:
        epsilon: the claim, per user, > 0.

    Guarantees:
        * epsilon-DP for each user under `replace_one`, attained by x = -1 and x = 1;
        * a message has mean x and variance C^2 - x^2.

    Example:
        >>> mechanism = Duchi(epsilon=1.0)
        >>> round(mechanism.magnitude, 4)
        2.164
        >>> mechanism.release([0.5, -0.5], 1, np.random.default_rng(0)).values.round(3).tolist()
        [[2.164, -2.164]]

    References:
        Duchi, Jordan and Wainwright (2018), "Minimax optimal procedures for locally private estimation", JASA 113,
        section 4.1 in one dimension.
    """

    limit = 1.0
    """Largest absolute value of a number."""

    epsilon: Positive
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    def magnitude(self) -> float:
        """Absolute value C of a message."""
        return 1.0 / math.tanh(0.5 * self.epsilon)

    def values(self, dataset: Dataset) -> Floats:
        """Return the numbers of the users, checked: shape `()` or `(n_users,)`, in [-1, 1]."""
        values = np.asarray(dataset)
        fits = values.dtype.kind in "biuf" and values.ndim <= 1 and values.size > 0
        if not fits or not (np.abs(values) <= self.limit).all():
            raise ParameterError(
                f"the dataset of {type(self).__name__} must be numbers in [-{self.limit:g}, {self.limit:g}], one or "
                f"shape (n_users,), but is {dataset!r}. Scale and clip the numbers.",
                argument="dataset",
            )
        return values.astype(np.float64)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Perform `size` independent rounds, shape `(size,)` or `(size, n_users)`."""
        values = self.values(dataset)
        positive = rng.random((size, *values.shape)) >= np.exp(self._log_probability(-values))
        return Outputs(np.where(positive, self.magnitude, -self.magnitude))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output, summed over the users, shape `(size,)`; -inf if impossible."""
        values, messages = self.values(dataset), outputs.values
        log_p = self._log_probability(np.where(messages > 0.0, values, -values))
        log_p[np.abs(messages) != self.magnitude] = -np.inf
        return log_p if log_p.ndim == 1 else np.asarray(log_p.sum(axis=1))

    def _log_probability(self, values: Floats) -> Floats:
        """Return the log probability of +C, exact at every epsilon; that of -C is `_log_probability(-values)`."""
        with np.errstate(divide="ignore"):
            log_odds = np.logaddexp(np.log1p(values), np.log1p(-values) - self.epsilon)
        return np.asarray(log_odds - math.log(2.0) - math.log1p(math.exp(-self.epsilon)))

    def worst_case(self) -> Neighbours:
        """Return the pair of one user, who holds the smallest or the largest number."""
        return Neighbours(-self.limit, self.limit, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`, that of randomized response."""
        log_p = -math.log1p(math.exp(-self.epsilon))
        return ExactDP.of_logs([log_p, log_p - self.epsilon], [log_p - self.epsilon, log_p], relation=self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        values0, values1 = self.values(neighbours.d0), self.values(neighbours.d1)
        if values0.shape != values1.shape or np.count_nonzero(values0 != values1) > 1:
            raise NeighboursError(
                "both datasets must hold numbers of the same users, and differ in one of them, but have shapes "
                f"{values0.shape} and {values1.shape}, and {np.count_nonzero(values0 != values1)} differences.",
                argument="neighbours",
            )
        return self

    def estimate_mean(self, messages: ArrayLike) -> Floats:
        """Return the unbiased estimate of the mean over the users, along the last axis."""
        return np.asarray(np.mean(np.asarray(messages, dtype=np.float64), axis=-1))[()]
