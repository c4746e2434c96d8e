"""Unary encoding: a value is one bit of k, and each bit is flipped independently."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ..core.constraints import Positive, at_least, one_of_names
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from .bits import BitReports
from .frequency import FrequencyOracle


@dataclass(frozen=True)
class UnaryEncoding(BitReports, FrequencyOracle):
    """Unary encoding: k bits, of which the bit of the user's value is 1; a 1 is sent as 1 with p, a 0 with q.

        symmetric   p = e^(epsilon/2) / (e^(epsilon/2) + 1), q = 1 - p: RAPPOR's, without a filter
        optimized   p = 1/2, q = 1 / (e^epsilon + 1): estimates of rare values have the least variance

    The dataset is one user's value in 0..k-1, or `(n_users,)` values; a message is `(k,)` bits. (Wang, Blocki, Li and
    Jha 2017: SUE and OUE.)

    Args:
        epsilon: the claim, per user, > 0.
        k: number of possible values, >= 2.
        kind: "optimized" or "symmetric".

    Guarantees:
        * epsilon-DP for each user under `replace_one`, e^epsilon = p (1 - q) / (q (1 - p)); the claim is the exact
          curve of two different values, the same for all pairs.

    Example:
        >>> mechanism = UnaryEncoding(epsilon=1.0, k=8)
        >>> round(mechanism.p_one, 6), round(mechanism.q_one, 6)
        (0.5, 0.268941)
        >>> UnaryEncoding(epsilon=8.0, k=3).estimate_frequencies([[1, 0, 0], [0, 0, 1], [0, 0, 1]]).round(1).tolist()
        [0.7, -0.0, 1.3]
    """

    epsilon: Positive
    k: Annotated[int, at_least(2)]
    _: KW_ONLY
    kind: Annotated[str, one_of_names("optimized", "symmetric")] = "optimized"
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    @property
    def n_categories(self) -> int:
        return self.k

    @cached_property
    def codes(self) -> NDArray[np.bool_]:
        """Identity matrix: value v sets bit v."""
        return np.eye(self.k, dtype=np.bool_)

    @property
    def p_one(self) -> float:
        return 0.5 if self.kind == "optimized" else 1.0 / (1.0 + math.exp(-0.5 * self.epsilon))

    @property
    def q_one(self) -> float:
        below = math.exp(-self.epsilon * (1.0 if self.kind == "optimized" else 0.5))
        return below / (1.0 + below)

    @property
    def log_odds_one(self) -> float:
        return 0.0 if self.kind == "optimized" else 0.5 * self.epsilon

    @property
    def log_odds_zero(self) -> float:
        return -self.epsilon if self.kind == "optimized" else -0.5 * self.epsilon

    @property
    def p_support(self) -> float:
        """Probability `p_one`: a bit 1 supports its value."""
        return self.p_one

    @property
    def q_support(self) -> float:
        """Probability `q_one`."""
        return self.q_one

    def guarantee(self) -> Guarantee:
        """Return the exact curve: two bits, one of which is set on each side."""
        return self.exact_guarantee()

    def _support(self, messages: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.asarray(messages.sum(axis=-2, dtype=np.int64))
