"""Randomized response with k possible answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ..accounting import ExactDP
from ..core.constraints import Positive, at_least
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from .base import SymmetricRandomizer
from .frequency import FrequencyOracle

_LEAST = 1e-300
"""Least probability of a false answer: below it none is drawn, since uniform draws are 0 or at least 2^-53."""


@dataclass(frozen=True)
class KAryRandomizedResponse(SymmetricRandomizer, FrequencyOracle):
    """k-ary randomized response: the true value with probability e^epsilon / (e^epsilon + k - 1), else another one.

    The other k - 1 values are equally likely. The dataset is one user's value in 0..k-1, or `(n_users,)` values.
    (Kairouz, Bonawitz and Ramage 2016, "k-RR"; also called direct encoding.)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.

    Guarantees:
        * epsilon-DP for each user under `replace_one`; the claim is the exact curve of two different values, in which
          all other answers are merged.

    Example:
        >>> mechanism = KAryRandomizedResponse(epsilon=1.0, k=4)
        >>> round(mechanism.p_true, 6), round(mechanism.p_other, 6)
        (0.475367, 0.174878)
        >>> KAryRandomizedResponse(epsilon=9.0, k=3).estimate_frequencies([0, 2, 2, 2]).round(2).tolist()
        [0.25, -0.0, 0.75]
    """

    epsilon: Positive
    k: Annotated[int, at_least(2)]
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    def n_categories(self) -> int:
        return self.k

    @property
    def p_true(self) -> float:
        return 1.0 / (1.0 + (self.k - 1) * math.exp(-self.epsilon))

    @property
    def p_other(self) -> float:
        return math.exp(-self.epsilon) * self.p_true

    def guarantee(self) -> Guarantee:
        """Return the exact curve, from the law of (first value, second value, any other)."""
        p_true, p_other = math.log(self.p_true), math.log(self.p_true) - self.epsilon
        rest = [math.log(self.k - 2) + p_other] if self.k > 2 else []
        return ExactDP.of_logs([p_true, p_other, *rest], [p_other, p_true, *rest], relation=self.relation)

    @property
    def p_support(self) -> float:
        """Probability `p_true`: an answer supports itself."""
        return self.p_true

    @property
    def q_support(self) -> float:
        """Probability `p_other`."""
        return self.p_other

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        rows = messages.reshape(-1, messages.shape[-1]).astype(np.int64)
        offset = self.k * np.arange(len(rows))[:, None]
        counts = np.bincount((rows + offset).ravel(), minlength=self.k * len(rows))
        return counts.reshape(*messages.shape[:-1], self.k)

    def _randomize(
        self, values: NDArray[np.int64], shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Move each value by each of 1..k-1 with probability q, else by k, which is no move; one draw per answer."""
        draws = rng.random(shape)
        draws /= max(self.p_other, _LEAST)
        move = np.minimum(draws, self.k - 1).astype(np.int64) + 1
        move += values
        return np.remainder(move, self.k, out=move)
