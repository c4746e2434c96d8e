"""Fine-tuning worked out again: components by eigenvectors, one step of logistic regression from zeros by hand."""

from dataclasses import replace

import numpy as np
from tests.mechanisms.claims import two_gaussians

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.broken.fine_tuning import ONE_STEP, EncoderOfPrivateRecords
from dpassay.mechanisms.learning.dp_sgd.fine_tuning import FineTuning


def features(fitted_on, X, k):
    """Unit vectors of the coordinates along the first k principal components, the largest entry of each positive."""
    mean = np.mean(fitted_on, axis=0)
    vectors = np.linalg.eigh(np.cov(np.asarray(fitted_on).T))[1][:, ::-1][:, :k]
    vectors = vectors * np.sign([column[np.abs(column).argmax()] for column in vectors.T])
    along = (X - mean) @ vectors
    return along / np.linalg.norm(along, axis=1, keepdims=True)


def first_sum(u, y, clip_norm):
    """Clipped gradients of log(1 + e^z) - y z at z = 0, summed."""
    gradients = (0.5 - y)[:, None] * u
    return (gradients * np.minimum(1.0, clip_norm / np.linalg.norm(gradients, axis=1, keepdims=True))).sum(axis=0)


def distance(mechanism, pair, pooled):
    """Between the means of the two sides, in standard deviations of the noise."""
    head, public, sums = mechanism.base, np.array(mechanism.public), []
    for side in (pair.d0, pair.d1):
        fitted_on = np.vstack([public, side.X]) if pooled else public
        sums.append(first_sum(features(fitted_on, side.X, head.network.n_features), side.y, head.clip_norm))
    return float(np.linalg.norm(sums[1] - sums[0])) / (head.noise_multiplier * head.clip_norm)


def record_pairs(n_pairs=4, largest=3.0):
    """Random records; the last is only on side 1."""
    rng = np.random.default_rng(0)
    for _ in range(n_pairs):
        X, y = rng.normal(size=(7, 4)) * (2.0, 2.0, 1.0, 1.0), rng.integers(0, 2, size=7)
        X[-1] *= largest
        yield Neighbours(TrainingData(X[:-1], y[:-1]), TrainingData(X, y), "add_remove")


def right():
    """(mechanism, pair, distance, whether it is the worst case)."""
    mechanism = FineTuning()
    yield mechanism, mechanism.worst_case(), 2.0 / mechanism.base.noise_multiplier, True  # 1 in each of 4 steps
    for noise in (1.0, 3.73):
        mechanism = FineTuning(replace(ONE_STEP, noise_multiplier=noise))
        for pair in record_pairs():
            yield mechanism, pair, distance(mechanism, pair, pooled=False), False


def pooled():
    """The same for components of all records."""
    mechanism = EncoderOfPrivateRecords()
    yield mechanism, mechanism.worst_case(), distance(mechanism, mechanism.worst_case(), pooled=True), True
    for pair in record_pairs(largest=20.0):
        yield mechanism, pair, distance(mechanism, pair, pooled=True), False


CLAIMS = {
    "fine-tuning": lambda: two_gaussians(right()),
    "broken-private-encoder": lambda: two_gaussians(pooled()),
}
