"""Matrix mechanism with Laplace noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from ...accounting import LaplaceDP, LaplaceVectorDP
from ...core.constraints import Positive
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.laplace import Laplace
from ...noise.queries.workload import Workload
from .base import MatrixMechanism, sixteen_prefixes
from .strategies import Optimised, Strategy


@dataclass(frozen=True)
class LaplaceMatrix(MatrixMechanism):
    """Matrix mechanism with Laplace noise on a strategy of queries, and answers to the workload by least squares.

    The noise has the scale b = D / epsilon, where D is the L1 sensitivity of the measured queries: the largest L1 norm
    of a column of A under add_remove, the largest L1 distance of two columns under replace_one.

    Args:
        epsilon: the claim, > 0.
        workload: the linear queries that are answered.
        strategy: the queries that are measured; they must span the workload.
        view: "answers", or "measurements", from which the answers are computed; an audit should use these.
        relation: the neighbouring relation.

    Raises:
        ParameterError: a strategy that does not span the workload, or a matrix too large for memory.

    Guarantees:
        * epsilon-DP: by the measurements (Dwork, McSherry, Nissim and Smith 2006), of which the answers are a function.
        * `squared_error` is exact: 2 b^2 ||W A^+||_F^2. (Li, Miklau, Hay, McGregor and Rastogi 2015.)
        * The law of the outputs is exact for measurements, and for answers that determine the measurements; for other
          answers it is not known.

    Example:
        >>> from dpassay.mechanisms.query_release.matrix import Identity
        >>> ranges = Workload.ranges({"age": 64})
        >>> round(LaplaceMatrix(1.0, workload=ranges, strategy=Identity()).squared_error)
        91520
        >>> round(LaplaceMatrix(1.0, workload=ranges).squared_error)
        64589
    """

    epsilon: Positive
    _: KW_ONLY
    workload: Workload = field(default_factory=sixteen_prefixes)
    strategy: Strategy = field(default_factory=Optimised)
    view: str = "answers"
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 1.0

    @property
    def noise_variance(self) -> float:
        """Variance 2 b^2 of the noise on each measurement."""
        return 2.0 * (self.noise_sensitivity / self.epsilon) ** 2

    def guarantee(self) -> Guarantee:
        """Return `LaplaceDP(epsilon)`: the worst change of the measurements is a change of one of them by D."""
        return LaplaceDP(self.epsilon, relation=self.relation, exact=False)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the measurements on the worst case; None if the law of the answers is unknown."""
        if self.output_law() is None:
            return None
        scale = self.noise_sensitivity / self.epsilon
        return LaplaceVectorDP((np.abs(self._moves()) / scale).tolist(), relation=self.relation)

    def _noise(self, sensitivity: float, n_queries: int) -> Laplace:
        return Laplace(self.epsilon, sensitivity=sensitivity, n_queries=n_queries, relation=self.relation)
