"""Curve of Laplace noise on a vector whose entries all differ between the sides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...core import Floats, Guarantee, ParameterError, Relation, positive
from ..kinds.laplace import LaplaceDP
from ..kinds.profile import ProfileGuarantee
from .compose import compose


@dataclass(frozen=True, init=False, repr=False)
class LaplaceVectorDP(ProfileGuarantee):
    """The curve of Laplace noise on a vector whose entries differ by known amounts between the sides.

    At delta 0 epsilon is the sum of the moves, as for one number that moves by the sum. At a larger delta epsilon is
    smaller, since the losses of the entries rarely all have the same sign: `LaplaceDP` of the sum is the largest curve
    of all vectors.

    Args:
        moves: |difference| / noise scale of each entry, >= 0 and at least one > 0; zeros have no effect.
        relation: the neighbouring relation; None adopts the relation of the pair.

    Raises:
        ParameterError: a move that is not a finite number >= 0, or no move > 0.

    Guarantees:
        * An upper bound, above the exact curve by less than the grid of `PrivacyLossDP` per entry, and never above
          `LaplaceDP` of the sum; exact for one entry.

    Example:
        >>> vector = LaplaceVectorDP([0.5, 0.5, 0.0])
        >>> vector.epsilon(0.0), round(vector.epsilon(0.1), 3), round(LaplaceDP(1.0).epsilon(0.1), 3)
        (1.0, 0.598, 0.789)
    """

    moves: tuple[float, ...]
    relation: Relation | None
    exact: bool
    default_delta = 0.0

    def __init__(self, moves: Sequence[float], relation: str | Relation | None = None, *, exact: bool = True) -> None:
        nonzero = tuple(sorted(float(move) for move in moves if move != 0.0))
        if not nonzero:
            raise ParameterError(argument="moves", value=moves, allowed="hold a number > 0")
        positive(**{f"moves[{index}]": move for index, move in enumerate(nonzero)})
        self._set(moves=nonzero, relation=relation, exact=exact)

    def _parameters(self) -> Mapping[str, object]:
        return {"epsilon": math.fsum(self.moves), "n_moves": len(self.moves)}

    @property
    def _largest(self) -> LaplaceDP:
        """Curve of one number that moves by the sum: it bounds what the grid of the composition adds."""
        return LaplaceDP(math.fsum(self.moves))

    def _delta(self, epsilon: Floats) -> Floats:
        delta: Floats = np.minimum(self._largest.delta(epsilon), _composed(self.moves).delta(epsilon))
        return delta

    def _epsilon(self, delta: Floats) -> Floats:
        epsilon: Floats = np.minimum(self._largest.epsilon(delta), _composed(self.moves).epsilon(delta))
        return epsilon


@lru_cache(maxsize=64)
def _composed(moves: tuple[float, ...]) -> Guarantee:
    """Return the composition of the privacy losses of the entries."""
    return compose([LaplaceDP(move) for move in moves], accounting="privacy-loss")
