"""A trade-off curve on the scale of pooled ranks: how likely a canary is in, between two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....mechanisms.core import Floats

_NEAR_0 = np.geomspace(1e-9, 0.5, 400)


@dataclass(frozen=True, eq=False)
class CurveOfRanks:
    """Share of included canaries below each pooled rank, of canaries half of which are in; interpolated.

    Args:
        rank: `(m,)` pooled rank in [0, 1], increasing with the score.
        included: `(m,)` half the distribution function of included canaries there.
    """

    rank: Floats
    included: Floats

    @classmethod
    def of(cls, curve: Callable[[Floats], Floats]) -> CurveOfRanks:
        """Return the scale of a symmetric curve, from fpr `(m,)` to fnr `(m,)`."""
        fpr = np.unique(np.concatenate([[0.0], _NEAR_0, 1.0 - _NEAR_0, curve(_NEAR_0), [1.0]]))[::-1]
        fnr = curve(fpr)
        return cls(np.append(0.5 * (1.0 - fpr + fnr), 1.0), np.append(0.5 * fnr, 0.5))

    def rates_between(self, cuts: Floats) -> Floats:
        """Return the share of included canaries between neighbouring cuts `(..., m + 1)`, shape `(..., m)`."""
        included = np.diff(np.interp(cuts, self.rank, self.included), axis=-1)
        return np.clip(included / np.maximum(np.diff(cuts, axis=-1), 1e-300), 0.0, 1.0)
