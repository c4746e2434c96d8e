"""Exposure: the rank of a record among candidates, in bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...mechanisms.core.arrays import Floats
from .base import MembershipAttack
from .shadows import Shadows


@dataclass(frozen=True)
class Exposure(MembershipAttack):
    """log2 of the number of candidates minus log2 of the rank of the record among them, by loss.

    The candidates are the record and the population, which no model was trained on. For a canary drawn uniformly from
    a space the population must be the rest of that space, or a sample of it.

    Args:
        signal: any signal, such as the loss (log perplexity).

    Guarantees:
        * the first of 1024 candidates has 10 bits; a canary that was never in has 1 / ln 2 = 1.443 bits on average,
          for many candidates.

    References:
        Carlini, Liu, Erlingsson, Kos and Song (2019), "The secret sharer", USENIX Security, definition 5.
    """

    name: ClassVar[str] = "exposure"
    needs_population: ClassVar[bool] = True

    signal: str = "loss"

    def scores_of(self, shadows: Shadows) -> Floats:
        assert shadows.population is not None  # `score` has checked
        return exposure(shadows.signal(self.signal), shadows.population.signal(self.signal))


def exposure(canaries: ArrayLike, alternatives: ArrayLike) -> Floats:
    """Return the exposure in bits of each canary among alternatives; higher signal = more likely.

    Args:
        canaries: `(..., n_canaries)` signals.
        alternatives: `(..., n_alternatives)` signals of candidates that were never in; in a tie the canary ranks lower.

    Returns:
        Exposure, `(..., n_canaries)`, from 0 to log2(n_alternatives + 1).

    Example:
        >>> exposure([5.0, -1.0], np.arange(3.0))
        array([2., 0.])
    """
    values, others = (np.asarray(a, dtype=np.float64) for a in (canaries, alternatives))
    size = others.shape[-1]
    flat = zip(values.reshape(-1, values.shape[-1]), others.reshape(-1, size), strict=True)
    above = np.array([size - np.searchsorted(np.sort(other), value, side="left") for value, other in flat])
    return np.asarray(np.log2(size + 1.0) - np.log2(1.0 + above.reshape(values.shape)))
