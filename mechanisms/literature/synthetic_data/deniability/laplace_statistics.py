"""Statistics of a table, each with Laplace noise and a small epsilon, accounted for by advanced composition."""

from __future__ import annotations

from abc import abstractmethod

from ....accounting import PureDP, compose
from ....accounting.kinds.profile import ProfileGuarantee
from ....combinators.repeated import Repeated
from ....core import Guarantee, RecordsMechanism
from ....noise.base import NoisyQuery
from ....noise.laplace import Laplace


class LaplaceStatistics(NoisyQuery, RecordsMechanism):
    """Release of `n_parts` statistics with `epsilon_each` each; claim of Dwork, Rothblum and Vadhan (2010).

    With slack delta the claim is epsilon_each sqrt(2 n_parts ln(1 / delta)) + n_parts epsilon_each (e^epsilon_each
    - 1), or n_parts epsilon_each if that is less.
    """

    epsilon_each: float
    delta: float

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """Number of statistics."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Scale of the noise of each number."""

    @property
    @abstractmethod
    def step(self) -> float:
        """Move of each of the `n_moved` numbers that the worst record moves, in units of the scale."""

    @property
    def noise(self) -> Laplace:
        """Laplace noise of this scale."""
        return Laplace(1.0, sensitivity=self.scale, relation=self.relation)

    def guarantee(self) -> Guarantee:
        """Return the advanced composition of `n_parts` times `PureDP(epsilon_each)`, quoted at delta."""
        parts = [PureDP(self.epsilon_each, self.relation)] * self.n_parts
        composed = compose(parts, accounting="advanced", form="drv10")
        return composed.calibrated_at(self.delta) if isinstance(composed, ProfileGuarantee) else composed

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of `worst_case()`, of the numbers that move; exact up to a grid of 1e-4 in epsilon."""
        return Repeated(Laplace(self.step, relation=self.relation), self.n_moved).exact_guarantee()
