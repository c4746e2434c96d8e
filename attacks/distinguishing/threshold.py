"""The threshold attack: one number computed from the output, and its direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...mechanisms.core import AttackError, Floats, Outputs, one_of, whole
from ..base import Attack, Scorer, Target
from ..learners.features import as_matrix

STATISTICS: dict[str, Callable[[Floats], Floats]] = {
    "value": lambda rows: rows[:, 0],
    "sum": lambda rows: rows.sum(axis=1),
    "mean": lambda rows: rows.mean(axis=1),
    "norm": lambda rows: np.sqrt(np.einsum("ij,ij->i", rows, rows)),
    "max": lambda rows: rows.max(axis=1),
    "min": lambda rows: rows.min(axis=1),
}
"""Name -> statistic of `(size, n_coordinates)` rows."""


@dataclass(frozen=True, kw_only=True)
class Threshold(Attack):
    """Score of an output: one of its statistics, with the sign that makes side 1 higher on the pilot.

    The simplest attack. It detects only differences that shift the statistic; for others
    use "norm" (the size of the noise) or the classifier.

    Args:
        statistic: "value" (the output is one number), "sum", "mean", "norm" (Euclidean), "max" or "min" over the
            coordinates, or the index of a coordinate of the flattened output, 0 or above.

    Raises:
        ParameterError: an unknown statistic, or a negative index.
        AttackError: an empty pilot; "value" on outputs of several numbers; an index beyond the last coordinate.

    Guarantees:
        * the score is the statistic or its negative;
        * higher = side 1 on the pilot: the sign is the sign of Pr[T1 > T0] - Pr[T1 < T0] over pilot pairs, + when 0.

    Example:
        >>> import numpy as np
        >>> from dpassay.mechanisms.core.base import Outputs
        >>> from dpassay.mechanisms import Laplace
        >>> target = Target(Laplace(epsilon=1.0), Laplace(epsilon=1.0).worst_case())
        >>> rng = np.random.default_rng(0)
        >>> out, in_ = Outputs(rng.normal(0.0, 1.0, 500)), Outputs(rng.normal(-1.0, 1.0, 500))
        >>> Threshold().fit(target, out, in_, rng).score(Outputs(np.array([2.0, -3.0]))).tolist()
        [-2.0, 3.0]
    """

    statistic: str | int = "value"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.statistic, str):
            one_of(STATISTICS, statistic=self.statistic)
        else:
            whole(0, statistic=self.statistic)

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """Return the statistic, with its sign learned from the pilot outputs."""
        self._check_pilot(pilot0, pilot1)
        positive_scorer = ThresholdScorer(self.statistic, 1.0)
        higher = superiority(positive_scorer.score(pilot0), positive_scorer.score(pilot1))
        return positive_scorer if higher >= 0.0 else ThresholdScorer(self.statistic, -1.0)


@dataclass(frozen=True)
class ThresholdScorer:
    """Scorer that returns `sign` times a statistic of the output."""

    statistic: str | int
    sign: float

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, in the unit of the statistic."""
        rows = as_matrix(outputs.values)
        n_coordinates = rows.shape[1]
        if isinstance(self.statistic, str):
            if self.statistic == "value" and n_coordinates != 1:
                raise AttackError(
                    f"statistic 'value' reads outputs of one number, but these have shape {outputs.values.shape[1:]}. "
                    "Choose 'sum', 'mean', 'norm', 'max', 'min' or the index of a coordinate."
                )
            return self.sign * STATISTICS[self.statistic](rows)
        if self.statistic >= n_coordinates:
            raise AttackError(
                f"statistic {self.statistic} is the index of a coordinate, but the outputs have {n_coordinates}. "
                f"Choose an index from 0 to {n_coordinates - 1}."
            )
        return self.sign * rows[:, self.statistic]


def superiority(out: Floats, in_: Floats) -> float:
    """Return Pr[in > out] - Pr[in < out] over all pairs: 2 AUC - 1, by sorted search instead of all pairs."""
    out = np.sort(out)
    below = np.searchsorted(out, in_, side="left")
    not_above = np.searchsorted(out, in_, side="right")
    return float((below + not_above - len(out)).sum()) / (len(out) * len(in_))
