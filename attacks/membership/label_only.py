"""Label-only membership: models that answer with a class and nothing else.

    noise-robustness     share of noisy copies of the record that the model gives the label of the record
    boundary-distance    L2 distance from the record to the nearest point with another predicted class, found by
                         HopSkipJump; 0 for a record that is predicted wrong

A model is more certain of the records that it was trained on, so that the boundary is further from them. Neither signal
reads probabilities: they are signals for any attack that takes one, such as `LiRA(signal="boundary-distance")`. Noise
and directions are the same for all models, so that a record is compared between models without their variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.adapters.estimator import fit_clones
from ...mechanisms.core.arrays import Bools, Floats, Ints
from ...mechanisms.core.constraints import NonNegativeInt, Positive, at_least, check_fields
from ...mechanisms.core.errors import ParameterError
from ...mechanisms.core.relation import Relation
from ...mechanisms.core.root_finding import bisect_all
from ...mechanisms.learning.base import TrainingData

Predict = Callable[[Floats], NDArray[Any]]
"""Features `(n, n_features)` -> predicted classes `(n,)`."""
MAX_CALL_POINTS = 200_000
"""Largest number of points in one call of a model."""
MAX_HALVINGS = 12
"""Largest number of times that a step is halved to stay beyond the boundary."""


@dataclass(frozen=True, eq=False)
class LabelOnlyLearner:
    """Learner that trains clones of any scikit-learn classifier, of which only `predict` is used.

    Args:
        estimator: a classifier with `fit` and `predict`; it is cloned, never changed.
        noise: > 0, standard deviation of the noisy copies, in standard deviations of each feature.
        n_copies: number of noisy copies of each record.
        n_steps: number of steps of HopSkipJump; 0 leaves out "boundary-distance".
        n_directions: number of random directions in the first step; step t takes sqrt(t) as many.
        seed: of noise and directions.

    Raises:
        ParameterError: no `fit` or `predict`, or a value out of range.

    Example:
        >>> from sklearn.svm import LinearSVC
        >>> from dpassay.audit.games import train_shadows
        >>> from dpassay.attacks.membership.thresholds import LossThreshold
        >>> rng = np.random.default_rng(0)
        >>> records = rng.normal(size=(40, 60)), np.arange(40) % 2  # labels at random: all must be memorised
        >>> shadows = train_shadows(LabelOnlyLearner(LinearSVC(C=100.0)), records, 4, seed=0)
        >>> scores = LossThreshold(signal="boundary-distance").score(shadows)
        >>> bool(scores[shadows.inclusion].mean() > 2 * scores[~shadows.inclusion].mean())
        True
    """

    estimator: Any
    noise: Positive = 0.5
    n_copies: Annotated[int, at_least(2)] = 50
    n_steps: NonNegativeInt = 5
    n_directions: Annotated[int, at_least(2)] = 20
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_fields(self)
        unusable = isinstance(self.estimator, type) or not all(hasattr(self.estimator, f) for f in ("fit", "predict"))
        if unusable:
            raise ParameterError(
                argument="estimator",
                value=self.estimator,
                allowed="be a scikit-learn classifier with fit and predict, such as LinearSVC()",
            )

    @property
    def relation(self) -> Relation:
        """Relation between training with a record and without it: add_remove."""
        return Relation.ADD_REMOVE

    def fit_subsets(self, records: TrainingData, inclusion: Bools, rng: np.random.Generator) -> LabelOnlyModels:
        """Return one clone per row of `inclusion`, `(n_models, n_records)`; refuse an empty subset."""
        return LabelOnlyModels(fit_clones(self.estimator, records, inclusion, rng), self)


@dataclass(frozen=True, eq=False)
class LabelOnlyModels:
    """Fitted classifiers, and the options of the learner."""

    models: Sequence[Any]
    options: LabelOnlyLearner

    def __len__(self) -> int:
        return len(self.models)

    def signals(self, data: TrainingData) -> dict[str, Floats]:
        """Return correctness, robustness to noise, and distance to the boundary, each `(n_models, n_records)`."""
        per_model = [self._signals_of(model.predict, data) for model in self.models]
        return {name: np.stack([signals[name] for signals in per_model]) for name in per_model[0]}

    def _signals_of(self, predict: Predict, data: TrainingData) -> dict[str, Floats]:
        o, y = self.options, data.y.astype(np.int64)
        spread = np.asarray(data.X, dtype=np.float64).std(axis=0)
        X = data.X / np.where(spread > 0.0, spread, 1.0)  # both signals are in standard deviations

        def scaled(points: Floats) -> NDArray[Any]:
            return predict(points * np.where(spread > 0.0, spread, 1.0))

        noise, directions = np.random.default_rng([o.seed, 0]), np.random.default_rng([o.seed, 1])
        signals = {
            "correct": (_in_batches(scaled, X) == y).astype(np.float64),
            "noise-robustness": _noise_robustness(scaled, X, y, noise, scale=o.noise, n_copies=o.n_copies),
        }
        if o.n_steps:
            signals["boundary-distance"] = _boundary_distance(
                scaled, X, y, directions, n_steps=o.n_steps, n_directions=o.n_directions
            )
        return signals


def _noise_robustness(
    predict: Predict, X: Floats, y: Ints, rng: np.random.Generator, *, scale: float, n_copies: int
) -> Floats:
    """Return the share of copies of each record, with N(0, scale^2) added to each feature, that get its label.

    Args:
        predict: the model.
        X: `(n_records, n_features)`.
        y: `(n_records,)` labels.
        rng: of the noise.
        scale: standard deviation, > 0.
        n_copies: number of copies of each record, >= 1.

    Returns:
        `(n_records,)` in [0, 1].

    References:
        Choquette-Choo, Tramer, Carlini and Papernot (2021), "Label-only membership inference attacks", ICML, section
        3.3.

    Example:
        >>> right = lambda points: (points[:, 0] > 0).astype(int)
        >>> _noise_robustness(right, np.array([[9.0], [0.0]]), np.array([1, 0]), np.random.default_rng(0), scale=1.0,
        ...                  n_copies=400).round(1)
        array([1. , 0.5])
    """
    hits = np.zeros(len(X))
    for _ in range(n_copies):
        hits += _in_batches(predict, X + scale * rng.normal(size=X.shape)) == y
    return hits / n_copies


def _boundary_distance(
    predict: Predict, X: Floats, y: Ints, rng: np.random.Generator, *, n_steps: int = 5, n_directions: int = 20
) -> Floats:
    """Return an upper bound on the L2 distance of each record to another predicted class, by HopSkipJump.

    Each record starts from the nearest of the records with another predicted class, or from uniform noise if there is
    none. A step estimates the normal of the boundary from the classes of random points around it, moves along it, and
    returns to the boundary by bisection towards the record.

    Args:
        predict: the model.
        X: `(n_records, n_features)`, features of comparable scale.
        y: `(n_records,)` labels.
        rng: of the directions.
        n_steps: number of steps, >= 1.
        n_directions: number of directions in the first step, >= 2.

    Returns:
        `(n_records,)`, 0 where the predicted class is not `y`; the diameter of the records where no other class was
        found.

    Guarantees:
        * the segment from the record, of this length in some direction, ends at a point with another predicted class:
          the exact distance is not larger.

    References:
        Chen, Jordan and Wainwright (2020), "HopSkipJumpAttack: a query-efficient decision-based attack", IEEE S&P,
        algorithm 2, L2; Li and Zhang (2021), "Membership leakage in label-only exposures", CCS, section 5.
    """
    X = np.asarray(X, dtype=np.float64)
    predicted = _in_batches(predict, X)
    diameter = float(np.linalg.norm(np.ptp(X, axis=0)))
    start, has_start = _starts(predict, X, y, predicted, rng)
    attacked = has_start & (predicted == y)
    distance = np.where(predicted == y, diameter, 0.0)
    if not attacked.any():
        return distance
    x, labels = X[attacked], y[attacked]

    def beyond(points: Floats) -> Bools:
        """Return whether points `(n, ..., d)` have another class than their record."""
        flat = _in_batches(predict, points.reshape(-1, points.shape[-1]))
        return np.asarray(flat.reshape(points.shape[:-1]) != labels.reshape(-1, *[1] * (points.ndim - 2)))

    point = _bisected(beyond, x, start[attacked])
    best = np.linalg.norm(point - x, axis=1)
    for step in range(1, n_steps + 1):
        point = _stepped(beyond, x, point, rng, step, int(n_directions * np.sqrt(step)))
        best = np.minimum(best, np.linalg.norm(point - x, axis=1))
    distance[attacked] = best
    return distance


def _starts(
    predict: Predict, X: Floats, y: Ints, predicted: NDArray[Any], rng: np.random.Generator
) -> tuple[Floats, Bools]:
    """Return a point of another predicted class for each record, and whether there is one."""
    noise = rng.uniform(X.min(axis=0), X.max(axis=0), size=(200, X.shape[1]))
    pool, classes = np.concatenate([X, noise]), np.concatenate([predicted, _in_batches(predict, noise)])
    start, has_start = X.copy(), np.zeros(len(X), dtype=np.bool_)
    for label in np.unique(y):
        mine, others = np.flatnonzero(y == label), np.flatnonzero(classes != label)
        if not len(others):
            continue
        gaps = (X[mine] ** 2).sum(axis=1)[:, None] - 2.0 * X[mine] @ pool[others].T + (pool[others] ** 2).sum(axis=1)
        start[mine], has_start[mine] = pool[others[gaps.argmin(axis=1)]], True
    return start, has_start


def _bisected(beyond: Callable[[Floats], Bools], x: Floats, outside: Floats) -> Floats:
    """Return points just beyond the boundary on the segments from `outside` to `x`."""

    def at(share: Floats) -> Floats:
        return np.asarray(x + share[:, None] * (outside - x))

    steps = max(10, int(1.5 * np.log2(x.shape[1])) + 1)  # the paper's tolerance is d^(-3/2)
    return at(bisect_all(lambda share: beyond(at(share)), np.zeros(len(x)), np.ones(len(x)), steps=steps)[1])


def _stepped(
    beyond: Callable[[Floats], Bools], x: Floats, point: Floats, rng: np.random.Generator, step: int, n_directions: int
) -> Floats:
    """Return points of the boundary after one step of HopSkipJump."""
    reach = np.linalg.norm(point - x, axis=1)
    u = rng.normal(size=(n_directions, x.shape[1]))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    radius = reach / x.shape[1]
    signs = 2.0 * beyond(point[:, None, :] + radius[:, None, None] * u) - 1.0
    mean = signs.mean(axis=1, keepdims=True)
    weights = np.where(np.abs(mean) == 1.0, signs, signs - mean)  # the baseline of the paper reduces the variance
    normal = weights @ u
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    size, moved, open_ = reach / np.sqrt(step), point.copy(), np.ones(len(x), dtype=np.bool_)
    for _ in range(MAX_HALVINGS):
        trial = point + size[:, None] * normal
        good = open_ & beyond(trial)
        moved[good] = trial[good]
        open_ &= ~good
        size = 0.5 * size
    return _bisected(beyond, x, moved)


def _in_batches(predict: Predict, points: Floats) -> NDArray[Any]:
    return np.concatenate(
        [np.asarray(predict(points[i : i + MAX_CALL_POINTS])) for i in range(0, len(points), MAX_CALL_POINTS)]
    )
