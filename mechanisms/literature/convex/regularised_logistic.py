"""Regularised logistic regression without intercept, minimised exactly for many linear terms at once.

    J(f) = (1/n) sum over i of log(1 + exp(-w_i f)) + (strength / 2) |f|^2 + (1/n) b f,   w_i = (2 y_i - 1) x_i

Private versions that perturb the minimiser or the objective need |x_i| <= 1: then the gradient of one example has norm
at most 1, and the curvature is at most 1/4.

    our name         Chaudhuri, Monteleoni, Sarwate (2011)
    strength         Lambda
    linear           b
    MAX_CURVATURE    c
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, gammaln

from ...accounting import PureMechanism
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours
from ...core.constraints import Positive
from ...core.errors import ParameterError, ReleaseError, plural
from ...core.records import check_records, check_worst_case
from ...core.relation import Relation
from ...learning.base import TrainingData

MAX_CURVATURE = 0.25
"""Largest second derivative of log(1 + e^-m)."""
GRADIENT_TOLERANCE = 1e-12
"""Newton's method stops when the gradient of J is at most this times 1 + |b| / n."""
_ITERATIONS = 200
_MAX_BLOCK_ENTRIES = 4_000_000  # numbers in the largest array of a block of runs
_NORM = 1.0 + 1e-9  # rounding in rows that were scaled to norm 1


@dataclass(frozen=True, eq=False)
class SignedExamples:
    """Distinct signed examples of a logistic regression, with their counts.

    Args:
        rows: `(k, n_features)`, the distinct w = (2 y - 1) x.
        counts: `(k,)`, number of occurrences of each row.
    """

    rows: Floats
    counts: Floats

    @classmethod
    def of(cls, dataset: Dataset) -> SignedExamples:
        """Return the signed examples of `(X, y)` or `TrainingData`.

        Raises:
            ParameterError: labels other than 0 and 1, or rows longer than 1.
        """
        data = TrainingData.of(dataset)
        if data.n_gradients:
            raise ParameterError(
                f"the dataset holds {plural(data.n_gradients, 'gradient record')}, which have no loss "
                "to minimise. Give examples (X, y)."
            )
        if not data.n_examples:
            raise ParameterError("the dataset is empty. Give at least one example.")
        labels = np.unique(data.y)
        if not np.isin(labels, (0, 1)).all():
            raise ParameterError(
                f"y must hold labels 0 and 1, but holds {labels[~np.isin(labels, (0, 1))][:5].tolist()}.", argument="y"
            )
        with np.errstate(over="ignore"):
            longest = float(np.linalg.norm(data.X, axis=1).max())
        if longest > _NORM:
            raise ParameterError(
                f"the rows of X must have norm at most 1, but the longest has {longest:.6g}. Divide X by a bound on "
                "the norm that does not come from the data, or clip each row."
            )
        signed = (2.0 * data.y[:, None] - 1.0) * data.X + 0.0
        rows, counts = np.unique(signed, axis=0, return_counts=True)
        return cls(rows, counts.astype(np.float64))

    @property
    def n_examples(self) -> int:
        return int(self.counts.sum())

    @property
    def n_features(self) -> int:
        return int(self.rows.shape[1])

    def gradient_sums(self, points: Floats) -> Floats:
        """Return the sum of the gradients of the examples' losses at each point, `(n_points, n_features)`."""
        return np.asarray(-(self.counts * expit(-points @ self.rows.T)) @ self.rows)

    def hessian_sums(self, points: Floats) -> Floats:
        """Return the sum of the second derivatives at each point, `(n_points, n_features, n_features)`."""
        probability, d = expit(points @ self.rows.T), self.n_features
        weights = self.counts * probability * (1.0 - probability)
        if not self.wide:
            return np.asarray((weights @ self.squares).reshape(-1, d, d))
        return np.asarray(np.matmul(self.rows.T[None] * weights[:, None, :], self.rows))

    @property
    def wide(self) -> bool:
        """True if the products of the entries of all rows are too many to store."""
        return len(self.rows) * self.n_features**2 > _MAX_BLOCK_ENTRIES

    @cached_property
    def squares(self) -> Floats:
        """Products of the entries of each row, `(k, n_features ** 2)`."""
        return np.asarray((self.rows[:, :, None] * self.rows[:, None, :]).reshape(len(self.rows), -1))

    def loss_sums(self, points: Floats) -> Floats:
        """Return the sum of the losses at each point, `(n_points,)`."""
        return np.asarray(np.logaddexp(0.0, -points @ self.rows.T) @ self.counts)

    def blocks(self, size: int) -> list[slice]:
        """Return slices of the runs, such that the arrays of a block stay small."""
        numbers_per_run = max(len(self.rows), self.n_features) * (self.n_features if self.wide else 1)
        step = max(1, _MAX_BLOCK_ENTRIES // numbers_per_run)
        return [slice(start, start + step) for start in range(0, size, step)]


def minimise(examples: SignedExamples, strength: float, linear: Floats) -> Floats:
    """Return the minimiser of J for each linear term.

    Newton's method for all runs at once. Along v the second derivative of J changes by at most the factor e^|v| (Bach
    2010, Proposition 1), so that a full step decreases J if its length m is at most 1, and the fraction log(1 + m) / m
    of a step always does; in between, longer steps are tried.

    Args:
        examples: the data.
        strength: > 0.
        linear: `(n_runs, n_features)`.

    Returns:
        `(n_runs, n_features)`, each within GRADIENT_TOLERANCE (1 + |b| / n) / strength of the minimiser, because J is
        strongly convex.

    Raises:
        ReleaseError: some run has not converged.
    """
    minimisers = np.empty_like(linear)
    for block in examples.blocks(len(linear)):
        minimisers[block] = _minimise(examples, strength, linear[block] / examples.n_examples)
    return minimisers


def _minimise(examples: SignedExamples, strength: float, linear: Floats) -> Floats:
    n = examples.n_examples
    points, ridge = _starts(examples, strength, linear), strength * np.eye(examples.n_features)
    limits = GRADIENT_TOLERANCE * (1.0 + np.linalg.norm(linear, axis=1))
    active = np.arange(len(points))
    for _ in range(_ITERATIONS):
        current, linear_terms = points[active], linear[active]
        gradients = examples.gradient_sums(current) / n + strength * current + linear_terms
        open_runs = np.linalg.norm(gradients, axis=1) > limits[active]
        active, current, linear_terms, gradients = (
            active[open_runs],
            current[open_runs],
            linear_terms[open_runs],
            gradients[open_runs],
        )
        if not len(active):
            return points
        steps = -np.linalg.solve(examples.hessian_sums(current) / n + ridge, gradients[..., None])[..., 0]
        points[active] = current + _shares(examples, strength, linear_terms, current, steps, gradients)[:, None] * steps
    raise ReleaseError(
        f"{len(active)} of {len(points)} minimisations have not converged after {_ITERATIONS} steps of Newton's "
        f"method. Use more regularisation than {strength:g}."
    )


def _starts(examples: SignedExamples, strength: float, tilt: Floats) -> Floats:
    """Return the minimiser without the examples, or 0, whichever has the lower J."""
    without_examples = -tilt / strength
    value = examples.loss_sums(without_examples) / examples.n_examples - 0.5 * strength * np.einsum(
        "rd,rd->r", without_examples, without_examples
    )
    return np.where(value[:, None] < math.log(2.0), without_examples, 0.0)


def _shares(
    examples: SignedExamples, strength: float, tilt: Floats, points: Floats, steps: Floats, gradients: Floats
) -> Floats:
    """Return the fraction of Newton's step that each run takes.

    The fraction starts at 1 and is halved until J decreases by a tenth of the linear prediction, or until it reaches
    log(1 + m) / m, which always decreases J.
    """
    m = np.linalg.norm(steps, axis=1)
    safe, slopes = np.log1p(m) / np.maximum(m, 1e-300), np.einsum("rd,rd->r", gradients, steps)
    shares, pending = np.ones(len(m)), np.flatnonzero(m > 1.0)

    def value(candidates: Floats) -> Floats:
        added = 0.5 * strength * candidates + tilt[pending]
        return np.asarray(
            examples.loss_sums(candidates) / examples.n_examples + np.einsum("rd,rd->r", added, candidates)
        )

    start = np.zeros(len(m))
    start[pending] = value(points[pending])
    while len(pending):
        values = value(points[pending] + shares[pending, None] * steps[pending])
        pending = pending[values > start[pending] + 0.1 * shares[pending] * slopes[pending]]
        shares[pending] *= 0.5
        too_short = shares[pending] <= safe[pending]
        shares[pending[too_short]] = safe[pending[too_short]]
        pending = pending[~too_short]
    return shares


# --- private versions -------------------------------------------------------------------------------------------------

WORST_CASE_WEIGHT = 30.0
"""Records times regularisation in the worst-case pair; with more, its privacy loss approaches half of the claim."""


@dataclass(frozen=True)
class PerturbedRegression(PureMechanism):
    """Base class of private logistic regression.

    Args:
        epsilon: the claim, > 0.
        regularisation: Lambda of the paper, > 0.
        relation: replace_one, the only one for which the theorems are stated.
    """

    _dataset = Data.TRAINING

    epsilon: Positive
    _: KW_ONLY
    regularisation: Positive = 0.01
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", replace_one_only(self.relation, type(self).__name__))

    @property
    def n_worst(self) -> int:
        """Number of records of the worst case."""
        return math.ceil(WORST_CASE_WEIGHT / self.regularisation)

    def worst_case(self) -> Neighbours:
        """Return a pair with one feature and all records blank except one, labelled 0 on side 0 and 1 on side 1.

        The number of records is so large that the regularisation outweighs them.
        """
        check_worst_case(WORST_CASE_WEIGHT / self.regularisation, regularisation=self.regularisation)
        return opposite_labels(self.n_worst, 1.0)

    def _check_pair(self, neighbours: Neighbours) -> None:
        for side in (0, 1):
            SignedExamples.of(neighbours.side(side))
        check_one_example(neighbours)


def replace_one_only(relation: str | Relation, name: str) -> Relation:
    """Return the relation if it is replace_one; raise `ParameterError` otherwise."""
    if Relation.of(relation) is not Relation.REPLACE_ONE:
        raise ParameterError(
            f"relation is {Relation.of(relation).value!r}, but the noise of {name} is computed from the number of "
            "records and a sensitivity under 'replace_one'. Leave relation out.",
            argument="relation",
        )
    return Relation.REPLACE_ONE


def opposite_labels(n_records: int, feature: float) -> Neighbours:
    """Return a pair with one feature; all records are blank except one, labelled 0 on side 0 and 1 on side 1."""
    X = np.zeros((n_records, 1))
    X[0] = feature
    y0, y1 = np.zeros((2, n_records), dtype=np.int64)
    y1[0] = 1
    return Neighbours(TrainingData(X, y0), TrainingData(X, y1), Relation.REPLACE_ONE)


def check_one_example(neighbours: Neighbours) -> None:
    """Raise `NeighboursError` unless the sides differ in one example."""
    data0, data1 = TrainingData.of(neighbours.d0), TrainingData.of(neighbours.d1)
    check_records(Neighbours((data0.X, data0.y), (data1.X, data1.y), neighbours.relation))


# --- noise with density proportional to exp(-rate |z|) ----------------------------------------------------------------


def spherical_noise(size: int, n_features: int, rate: float, rng: np.random.Generator) -> Floats:
    """Draw noise `(size, n_features)`: a uniform direction times a Gamma(n_features) radius of that rate."""
    direction = rng.standard_normal((size, n_features))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * rng.gamma(n_features, 1.0 / rate, size=(size, 1))


def spherical_log_density(noise: Floats, rate: float) -> Floats:
    """Return the log density of each row, shape `(size,)`: -rate |z| minus the log normalising constant."""
    d = noise.shape[1]
    log_area = math.log(2.0) + 0.5 * d * math.log(math.pi) - gammaln(0.5 * d)
    return np.asarray(d * math.log(rate) - rate * np.linalg.norm(noise, axis=1) - log_area - gammaln(d))
