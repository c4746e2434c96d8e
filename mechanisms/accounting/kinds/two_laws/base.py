"""Base class of the exact curves of two laws: two centres, two scales, and the worse of two directions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....core.arrays import Floats
from ....core.relation import Relation
from ....core.validation import finite, positive
from ..profile import ProfileGuarantee

Law = tuple[float, float]
"""Centre and scale."""


@dataclass(frozen=True, init=False, repr=False)
class TwoLawsDP(ProfileGuarantee):
    """The exact curve of two laws of the same family, in both directions.

    Args:
        centre0, scale0: centre and scale of the law on side 0; the scale is > 0.
        centre1, scale1: centre and scale of the law on side 1; the scale is > 0.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: False if the curve is only an upper bound for the mechanism.

    Raises:
        ParameterError: a centre that is not finite, a scale that is not a finite number > 0.
    """

    centre0: float
    scale0: float
    centre1: float
    scale1: float
    relation: Relation | None
    exact: bool

    def __init__(
        self,
        centre0: float,
        scale0: float,
        centre1: float,
        scale1: float,
        relation: str | Relation | None = None,
        *,
        exact: bool = True,
    ) -> None:
        finite(centre0=centre0, centre1=centre1)
        positive(scale0=scale0, scale1=scale1)
        self._set(centre0=float(centre0), scale0=float(scale0), centre1=float(centre1), scale1=float(scale1))
        self._set(relation=relation, exact=exact)

    @property
    def laws(self) -> tuple[Law, Law]:
        """Centre and scale of side 0, and of side 1."""
        return (self.centre0, self.scale0), (self.centre1, self.scale1)

    def _parameters(self) -> Mapping[str, float]:
        return {name: getattr(self, name) for name in ("centre0", "scale0", "centre1", "scale1")}

    def _delta(self, epsilon: Floats) -> Floats:
        law0, law1 = self.laws
        return np.maximum(self._excess(law0, law1, epsilon), self._excess(law1, law0, epsilon))

    @abstractmethod
    def _excess(self, upper: Law, lower: Law, epsilon: Floats) -> Floats:
        """Return the integral of (p - e^epsilon q)+ for p = `upper`, q = `lower`, at each epsilon."""
