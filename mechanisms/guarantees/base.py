"""The interface of a guarantee: three views of one promise.

    epsilon(delta)     least epsilon at which (epsilon, delta)-DP holds
    delta(epsilon)     least delta at which it holds: the privacy profile (hockey-stick divergence)
    tradeoff(fpr)      least false negative rate of any attack with that false positive rate

Each is accurate in the tails: delta to 1e-12, epsilon to 50, computed in logarithms. Where a guarantee is only
an upper bound, the numbers err on the safe side: epsilon and delta never too small, `tradeoff` never too large.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..relation import Relation
from ..validation import Options

Floats = NDArray[np.float64]


class Guarantee(metaclass=Options):
    """What theory promises about one mechanism, for one run on one neighbouring pair.

    Attributes:
        relation: the neighbouring relation that the promise holds for; None means "whichever the pair has".
        exact: True when the whole curve is attained on the worst-case pair, False when it is only an upper bound.
        calibrated_delta: the delta that the noise was calibrated to, if it was: see `ProfileGuarantee.calibrated_at`.
        default_delta: the delta at which the promise is usually quoted (0 for a pure guarantee, `calibrated_delta` for
            others); None when there is no such value and the user has to choose.
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
        """Least epsilon >= 0 at each delta in [0, 1); inf where there is none. Shape as `delta`."""

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> float | Floats: ...
    @abstractmethod
    def delta(self, epsilon: ArrayLike) -> float | Floats:
        """Least delta at each epsilon >= 0. Shape as `epsilon`."""

    @abstractmethod
    def tradeoff(self, fpr: ArrayLike) -> Floats:
        """Least false negative rate at each false positive rate in [0, 1]. Shape as `fpr`."""
