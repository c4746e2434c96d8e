"""Intentionally broken second moments: Wishart noise."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from scipy.special import multigammaln

from ....accounting import ExactDP, LaplaceDP
from ....accounting.broken import BrokenPureDP
from ....accounting.numerics.laplace import laplace_log_density
from ....core.arrays import Floats
from ....core.base import Dataset, Neighbours, Outputs
from ....core.constraints import Flag, Positive, PositiveInt
from ....core.errors import ParameterError
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.relation import Relation
from ....noise.laplace import draw_laplace


@dataclass(frozen=True)
class WishartNoise(BrokenPureDP, RecordsMechanism):
    """Broken: a second-moment matrix plus a Wishart matrix.

    release = sum of x x^T + G G^T, with G of shape (d, d + 1) and independent normal entries of standard deviation
    norm_bound / (2 epsilon). An output that is not above the matrix with the record is possible only without the
    record, so that epsilon is infinite. A Wishart density with d + 1 degrees of freedom is proportional to
    exp(-tr(W) / (2 s^2)) on its support, so that elsewhere the likelihood ratio is constant, and the event has
    probability 1 - e^(-2 epsilon^2) on one side and 0 on the other, for every d.

    The correct twin adds Laplace noise of scale (d + 1) norm_bound^2 / (2 epsilon) to each entry on and above the
    diagonal, whose L1 sensitivity is ((sum |x_i|)^2 + sum x_i^2) / 2 <= (d + 1) norm_bound^2 / 2.

    Args:
        epsilon: the claim, > 0, at delta 0.
        n_features: number of features d, >= 1.
        norm_bound: largest L2 norm of a record, > 0; longer ones are scaled down.
        correct: True for the correct twin.

    Example:
        >>> broken = WishartNoise(epsilon=1.0)
        >>> curve = broken.exact_guarantee()
        >>> curve.epsilon(0.0), round(curve.delta(50.0), 4)
        (inf, 0.8647)
        >>> broken.twin().exact_guarantee().epsilon(0.0)
        1.0
    """

    cause = "The noise is one-sided."
    source = (
        "Imtiaz, Sarwate (2016) (the mechanism); IBM/differential-privacy-library, issues 23, 25 and 42 (where it was "
        "removed)."
    )

    epsilon: Positive = 1.0
    _: KW_ONLY
    n_features: PositiveInt = 1
    norm_bound: Positive = 1.0
    correct: Flag = False
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the entries of G."""
        return self.norm_bound / (2.0 * self.epsilon)

    @property
    def laplace_scale(self) -> float:
        """Scale of the noise of the correct twin."""
        return 0.5 * (self.n_features + 1) * self.norm_bound**2 / self.epsilon

    def statistic(self, dataset: Dataset) -> Floats:
        """Return the sum of x x^T, shape `(d, d)`, of records of shape `(n_records, d)`."""
        records = np.asarray(dataset, dtype=np.float64)
        if records.ndim != 2 or records.shape[1] != self.n_features:
            raise ParameterError(
                f"the dataset must have shape (n_records, {self.n_features}), but has {records.shape}.",
                argument="dataset",
            )
        norms = np.linalg.norm(records, axis=1, keepdims=True)
        clipped = records / np.maximum(1.0, norms / self.norm_bound)
        return np.asarray(clipped.T @ clipped)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy matrices, shape `(size, d, d)`."""
        d = self.n_features
        if self.correct:
            noise = np.triu(draw_laplace(self.laplace_scale, (size, d, d), rng))
            noise += np.triu(noise, 1).swapaxes(1, 2)
        else:
            factors = self.standard_deviation * rng.standard_normal((size, d, d + 1))
            noise = factors @ factors.swapaxes(1, 2)
        return Outputs(noise + self.statistic(dataset))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        noise = outputs.values.astype(np.float64) - self.statistic(dataset)
        d = self.n_features
        if self.correct:
            entries = laplace_log_density(noise, self.laplace_scale)[(slice(None), *np.triu_indices(d))]
            return np.asarray(entries.sum(axis=1))
        variance = self.standard_deviation**2
        density = -0.5 * np.trace(noise, axis1=1, axis2=2) / variance
        density -= 0.5 * d * (d + 1) * math.log(2.0 * variance) + float(multigammaln(0.5 * (d + 1), d))
        return np.where(np.linalg.eigvalsh(noise)[:, 0] > 0.0, density, -np.inf)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of two outcomes: above the matrix with the record, or not."""
        if self.correct:
            return LaplaceDP(self.norm_bound**2 / self.laplace_scale, self.relation)
        above = math.exp(-2.0 * self.epsilon**2)
        return ExactDP([1.0 - above, above], [0.0, 1.0], self.relation)

    def worst_case(self) -> Neighbours:
        """Return no record, and one record of norm norm_bound along the first feature."""
        d1 = np.zeros((1, self.n_features))
        d1[0, 0] = self.norm_bound
        return Neighbours(np.zeros((0, self.n_features)), d1, self.relation)
