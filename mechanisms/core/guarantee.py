"""Interface of a privacy guarantee: three equivalent views.

    epsilon(delta)     least epsilon at which (epsilon, delta)-DP holds
    delta(epsilon)     least delta at which it holds: the privacy profile (hockey-stick divergence)
    tradeoff(fpr)      least false negative rate of any attack with that false positive rate

Each is accurate in the tails: delta to 1e-12, epsilon to 50, computed in logarithms. Where a guarantee is only
an upper bound, the numbers err on the safe side: epsilon and delta never too small, `tradeoff` never too large.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import overload

from numpy.typing import ArrayLike

from .arrays import Floats
from .constraints import Options
from .relation import Relation


class Guarantee(Options):
    """A privacy guarantee of a mechanism, for one run on one neighbouring pair.

    Attributes:
        relation: the neighbouring relation for which the guarantee holds; None adopts the relation of the pair.
        exact: True if the whole curve is attained on the worst-case pair, False if it is only an upper bound.
        calibrated_delta: the delta to which the noise was calibrated, or None: see `ProfileGuarantee.calibrated_at`.
        default_delta: the delta at which the guarantee is usually stated (0 for a pure guarantee, `calibrated_delta`
            for others); None if there is no such value and the user has to choose.
    """

    relation: Relation | None
    exact: bool
    calibrated_delta: float | None = None

    @property
    def default_delta(self) -> float | None:
        return self.calibrated_delta

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike) -> float | Floats: ...
    @abstractmethod
    def epsilon(self, delta: ArrayLike) -> float | Floats:
        """Return the least epsilon >= 0 at each delta in [0, 1), inf if there is none; same shape as `delta`."""

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> float | Floats: ...
    @abstractmethod
    def delta(self, epsilon: ArrayLike) -> float | Floats:
        """Return the least delta at each epsilon >= 0; same shape as `epsilon`."""

    @abstractmethod
    def tradeoff(self, fpr: ArrayLike) -> Floats:
        """Return the least false negative rate at each false positive rate in [0, 1]; same shape as `fpr`."""
