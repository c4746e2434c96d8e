"""Intentionally broken local mechanisms: a biased coin, an assumed range of the data, and ties in two sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..accounting import ExactDP, PureDP
from ..accounting.broken import Broken
from ..core import Floats, Guarantee, Ints, OpenUnit, Relation
from .base import LocalMechanism


@dataclass(frozen=True)
class BiasedCoinResponse(Broken, LocalMechanism):
    """Broken: two-coin randomised response (Warner 1965) with a biased coin.

    Heads: the user reports the true bit. Tails: the user tosses again and reports yes on heads, no on tails. With a
    fair coin this is ln 3-DP, which is the claim. With heads of probability h,

        Pr[yes | 1] = h + (1 - h) h       Pr[yes | 0] = (1 - h) h,

    and the true epsilon is the larger of ln((2 - h) / (1 - h)), the loss of "yes", and ln(1 + h / (1 - h)^2), the loss
    of "no". It exceeds ln 3 for h > 1/2: the true bit is reported too often. For h < 1/2 the claim holds, but the usual
    estimator is biased.

    Args:
        heads: probability h of heads, strictly between 0 and 1.

    Example:
        >>> broken = BiasedCoinResponse(heads=0.6)
        >>> round(broken.guarantee().epsilon(0.0), 4), round(broken.exact_guarantee().epsilon(0.0), 4)
        (1.0986, 1.5581)
    """

    cause = "The coin is biased."
    source = "Warner (1965), for the fair coin."

    heads: OpenUnit = 0.6
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def twin(self) -> BiasedCoinResponse:
        """Return randomised response with a fair coin."""
        return BiasedCoinResponse(heads=0.5)

    @property
    def n_categories(self) -> int:
        return 2

    @property
    def p_yes(self) -> tuple[float, float]:
        """Pr[yes | 0] and Pr[yes | 1]."""
        h = self.heads
        return h * (1.0 - h), h * (2.0 - h)

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(ln 3)`, which is correct for a fair coin."""
        return PureDP(math.log(3.0), relation=self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of one user's answer."""
        law0, law1 = (np.array([1.0 - p, p]) for p in self.p_yes)
        return ExactDP(law0, law1, relation=self.relation)

    def _randomize(self, values: Ints, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.integer]:
        return (rng.random(shape) < np.asarray(self.p_yes)[values]).view(np.int8)

    def _message_log_probability(self, messages: NDArray[np.integer], values: Ints) -> Floats:
        p_yes: Floats = np.asarray(self.p_yes)[values]
        return np.where(messages == 1, np.log(p_yes), np.log1p(-p_yes))
