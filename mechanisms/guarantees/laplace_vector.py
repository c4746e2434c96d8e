"""The curve of Laplace noise on several numbers that all move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import ParameterError
from ..relation import Relation
from ..validation import positive
from .base import Floats, Guarantee
from .laplace import LaplaceDP
from .profile import ProfileGuarantee


@dataclass(frozen=True, init=False, repr=False)
class LaplaceVectorDP(ProfileGuarantee):
    """The curve of Laplace noise on a vector whose entries move by known steps.

    At delta 0 epsilon is the sum of the steps, as for one number that moves by all of it. At a larger delta it is less,
    since the entries seldom all point the same way: `LaplaceDP` of the sum is the largest curve of all vectors.

    Args:
        moves: |step| / scale of the noise for each entry, >= 0; those that are 0 count for nothing, and one is not.
        relation: the neighbouring relation; None takes that of the pair it is compared on.

    Raises:
        ParameterError: a move that is not a finite number >= 0, or none above 0.

    Guarantees:
        * An upper bound, above the exact curve by less than the grid of `PrivacyLossDP` for each entry; exact for one.

    Example:
        >>> vector = LaplaceVectorDP([0.5, 0.5, 0.0])
        >>> vector.epsilon(0.0), round(vector.epsilon(0.1), 3), round(LaplaceDP(1.0).epsilon(0.1), 3)
        (1.0, 0.598, 0.789)
    """

    moves: tuple[float, ...]
    relation: Relation | None
    exact: bool

    def __init__(self, moves: Sequence[float], relation: str | Relation | None = None, *, exact: bool = True) -> None:
        kept = tuple(sorted(float(move) for move in moves if move != 0.0))
        if not kept:
            raise ParameterError(argument="moves", value=moves, allowed="hold a number > 0")
        positive(**{f"moves[{place}]": move for place, move in enumerate(kept)})
        self._set(moves=kept, relation=relation, exact=exact)

    @property
    def default_delta(self) -> float:
        return 0.0

    def _parameters(self) -> Mapping[str, object]:
        return {"epsilon": math.fsum(self.moves), "n_moves": len(self.moves)}

    def _delta(self, epsilon: Floats) -> Floats:
        beyond = epsilon >= math.fsum(self.moves)
        found: Floats = np.where(beyond, 0.0, _composed(self.moves).delta(epsilon))
        return found

    def _epsilon(self, delta: Floats) -> Floats:
        found: Floats = np.minimum(math.fsum(self.moves), _composed(self.moves).epsilon(delta))
        return found


@lru_cache(maxsize=64)
def _composed(moves: tuple[float, ...]) -> Guarantee:
    """One privacy loss for each entry, convolved."""
    from .composition.compose import compose

    return compose([LaplaceDP(move) for move in moves], accounting="privacy-loss")
