"""Causes of false claims in released libraries, each rebuilt as a small function, with its right twin.

The functions are written from a description of the cause; none is code of a library. `Cause.example` and
`Cause.bounds` are what a documentation says: no pair is made by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

VALUES = np.array([0.2, 0.7, 0.5, 0.4, 0.9, 0.1, 0.6, 0.3, 0.8, 0.5])


def known(dataset, low=0.0, high=1.0):
    """Return the values in the bounds; whatever is no number becomes the middle."""
    values = np.array([math.nan if value is None else value for value in dataset], dtype=float)
    return np.where(np.isnan(values), (low + high) / 2, values).clip(low, high)


# --- numbers ----------------------------------------------------------------------------------------------------------


def nan_mean(dataset, rng):
    """The noise is scaled by the number of all records, NaN included; the mean is that of the others."""
    return np.nanmean(dataset.clip(0, 1)) + rng.laplace(scale=1 / dataset.size)


def mean(dataset, rng):
    return known(dataset).mean() + rng.laplace(scale=1 / len(dataset))


def nan_variance(dataset, rng):
    n = dataset.size
    return np.nanvar(dataset.clip(0, 1)) + rng.laplace(scale=(n - 1) / n**2)


def variance(dataset, rng):
    n = len(dataset)
    return known(dataset).var() + rng.laplace(scale=max(n - 1, 1) / n**2)


def nan_sum_far_from_0(dataset, rng):
    """A NaN counts as a 0, which is outside of the bounds."""
    return np.nansum(dataset.clip(100, 101)) + rng.laplace(scale=1)


def sum_far_from_0(dataset, rng):
    return known(dataset, 100, 101).sum() + rng.laplace(scale=1)


def sum_of_nan(dataset, rng):
    """NaN passes both clip and noise."""
    return dataset.clip(0, 1).sum() + rng.laplace(scale=1)


def bounded_sum(dataset, rng):
    return known(dataset).sum() + rng.laplace(scale=1)


def mean_of_nan(dataset, rng):
    """Two noisy sums; NaN passes clip."""
    total = (np.clip(dataset, 0, 1) - 0.5).sum() + rng.laplace(scale=1)
    count = max(len(dataset) + rng.laplace(scale=2), 1)
    return 0.5 + total / count


def mean_of_two_sums(dataset, rng):
    total = (known(dataset) - 0.5).sum() + rng.laplace(scale=1)
    return 0.5 + total / max(len(dataset) + rng.laplace(scale=2), 1)


def _ranks(values):
    edges = np.sort(np.concatenate([[0.0], values, [1.0]]))
    return edges, np.diff(edges), -np.abs(np.arange(len(values) + 1) - len(values) / 2)


def median_that_underflows(dataset, rng):
    """All weights of the exponential mechanism are 0 for many equal values, and the choice raises."""
    edges, widths, utility = _ranks(known(dataset))
    weights = widths * np.exp(utility / 2)
    place = rng.choice(len(widths), p=weights / weights.sum())
    return rng.uniform(edges[place], edges[place + 1])


def median(dataset, rng):
    edges, widths, utility = _ranks(known(dataset))
    with np.errstate(divide="ignore"):
        logits = np.log(widths) + utility / 2
    place = int(np.argmax(logits + rng.gumbel(size=len(logits))))
    return rng.uniform(edges[place], edges[place + 1])


def histogram_of_data_bins(dataset, rng):
    """The number of bins is that of the data."""
    edges = np.histogram_bin_edges(dataset, "auto")
    return np.histogram(dataset, edges)[0] + rng.laplace(scale=2, size=len(edges) - 1)


def histogram(dataset, rng):
    return np.histogram(known(dataset), 5, (0, 1))[0] + rng.laplace(scale=2, size=5)


def one_sided_count(dataset, rng):
    return len(dataset) + rng.geometric(1 - math.exp(-1))


def count(dataset, rng):
    p = 1 - math.exp(-1)
    return len(dataset) + rng.geometric(p) - rng.geometric(p)


def mean_without_clamp(dataset, rng):
    return np.nan_to_num(dataset, nan=0.5).mean() + rng.laplace(scale=1 / len(dataset))


# --- rows -------------------------------------------------------------------------------------------------------------

ROWS = np.array([[100.2, 0.0], [100.7, 1.0], [100.5, 1.0], [100.9, 0.0]])


def _classes(dataset, middle):
    rows = np.array([row if row is not None else [math.nan] * 2 for row in dataset], dtype=float).reshape(-1, 2)
    x, label = known(rows[:, 0], 100, 101) - middle, rows[:, 1] == 1
    return np.array([x[~label].sum(), x[label].sum()]), np.array([(~label).sum(), label.sum()])


def naive_bayes(dataset, rng):
    """A changed label moves a class sum by the value itself, and the noise is for the width of the bounds."""
    sums, counts = _classes(dataset, 0.0)
    return np.concatenate([sums + rng.laplace(scale=2, size=2), counts + rng.laplace(scale=4, size=2)])


def centred_naive_bayes(dataset, rng):
    sums, counts = _classes(dataset, 100.5)
    return np.concatenate([sums + rng.laplace(scale=2, size=2), counts + rng.laplace(scale=4, size=2)])


POINTS = np.array([[0.2, 0.4], [0.7, 0.6], [0.5, 0.9]])


def _moments(dataset):
    rows = np.array([row if row is not None else [0.5, 0.5] for row in dataset], dtype=float).reshape(-1, 2)
    x, y = known(rows[:, 0]), known(rows[:, 1])
    return np.array([(x * y).sum(), (x * x).sum()])


def regression(dataset, rng, low=0.0):
    """The sensitivity is a difference of the lower bound and itself."""
    return _moments(dataset) + rng.laplace(scale=2 * (low - low), size=2)


def noisy_regression(dataset, rng):
    return _moments(dataset) + rng.laplace(scale=2, size=2)


WEIGHTED = np.array([[0.2, 1.0], [0.7, 0.5], [0.5, 0.8]])


def _weighted(dataset, limit):
    rows = np.array([row if row is not None else [0.5, 0.0] for row in dataset], dtype=float).reshape(-1, 2)
    weights = np.nan_to_num(rows[:, 1], nan=0.0, posinf=1.0, neginf=0.0).clip(0, limit)
    return np.histogram(known(rows[:, 0]), 4, (0, 1), weights=weights)[0]


def weighted_histogram(dataset, rng):
    """Weights are not in the sensitivity."""
    return _weighted(dataset, math.inf) + rng.laplace(scale=1, size=4)


def clipped_weights(dataset, rng):
    return _weighted(dataset, 1.0) + rng.laplace(scale=1, size=4)


VECTORS = np.array([[0.2, 0.4, 0.1], [0.7, 0.6, 0.3], [0.5, 0.9, 0.8]])


def _mean_of_rows(dataset):
    rows = np.array([row if row is not None else [0.5] * 3 for row in dataset], dtype=float).reshape(-1, 3)
    return np.stack([known(column) for column in rows.T]).mean(axis=1)


def one_noise_for_all(dataset, rng):
    return _mean_of_rows(dataset) + rng.laplace(scale=3 / len(dataset))


def noise_for_each(dataset, rng):
    return _mean_of_rows(dataset) + rng.laplace(scale=3 / len(dataset), size=3)


UPDATES = np.array([[0.6, 0.2], [-0.3, 0.5]])


def _clipped_mean(dataset):
    rows = np.array([row if row is not None else [0.0] * 2 for row in dataset], dtype=float).reshape(-1, 2)
    rows = np.nan_to_num(rows, nan=0.0, posinf=1.0, neginf=-1.0).clip(-1, 1)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)).mean(axis=0)


def federated_mean(dataset, rng):
    """A replaced update moves the mean by twice the clipping norm / n."""
    return _clipped_mean(dataset) + rng.normal(scale=4 / len(dataset), size=2)


def right_federated_mean(dataset, rng):
    return _clipped_mean(dataset) + rng.normal(scale=8 / len(dataset), size=2)


# --- one value of one user --------------------------------------------------------------------------------------------

UPDATE = np.array([0.6, 0.2, -0.3])


def clipped_update(update, rng):
    """The norm of a zero vector divides."""
    update = np.nan_to_num(np.array([0.0] * 3 if update is None else update, dtype=float), posinf=1, neginf=-1).ravel()
    update = np.resize(np.append(update, [0.0] * 3), 3).clip(-1, 1)
    norm = float(np.abs(update).sum())
    return update * min(1.0, 1.0 / norm) + rng.laplace(scale=2, size=3)


def right_clipped_update(update, rng):
    update = np.nan_to_num(np.array([0.0] * 3 if update is None else update, dtype=float), posinf=1, neginf=-1).ravel()
    update = np.resize(np.append(update, [0.0] * 3), 3).clip(-1, 1)
    return update / max(1.0, float(np.abs(update).sum())) + rng.laplace(scale=2, size=3)


def sparse_vector_that_waits(update, rng):
    """Draws again until enough coordinates are above a threshold, which NaN never is."""
    while True:
        noisy = np.abs(np.atleast_1d(update)).clip(0, 1) + rng.laplace(scale=12, size=np.size(update))
        if (noisy > 0).any():
            return rng.laplace(scale=12, size=3)


def scalars_without_noise(update, rng):
    """A number in the place of a vector is returned as it is."""
    if update is not None and np.ndim(update) == 0:
        return np.full(3, float(update))
    return right_clipped_update(update, rng)


def _category(value, n):
    number = 0.0 if value is None else float(np.ravel(value)[0])
    return int(np.clip(np.nan_to_num(number, posinf=n - 1, neginf=0), 0, n - 1))


def bits_set_only(value, rng):
    """Bits are set to 1, never to 0."""
    return (np.arange(8) == _category(value, 8)) | (rng.random(8) < 0.25)


def bits_flipped(value, rng):
    return (np.arange(8) == _category(value, 8)) ^ (rng.random(8) < 0.25)


def _subset(value, rng):
    value, keep = _category(value, 20), 5 * math.e / (5 * math.e + 15)
    others = rng.permutation([other for other in range(20) if other != value])
    return np.append(value, others[:4]) if rng.random() < keep else others[:5]


def subset_in_order(value, rng):
    """The true value is the first element, or absent."""
    return _subset(value, rng)


def sorted_subset(value, rng):
    return np.sort(_subset(value, rng))


def _sampled_attribute(record, rng, epsilon):
    values = np.resize([0] if record is None or np.size(record) == 0 else np.ravel(record), 3).astype(float)
    record = np.array([_category(value, 4) for value in values])
    place, answers = rng.integers(3), rng.integers(4, size=3)
    keep = math.exp(epsilon) / (math.exp(epsilon) + 3)
    other = (record[place] + rng.integers(1, 4)) % 4
    answers[place] = record[place] if rng.random() < keep else other
    return answers


def sampled_attribute(record, rng):
    """The amplification is that of a record that is left out; all attributes of a replaced record differ."""
    return _sampled_attribute(record, rng, math.log(3 * (math.e - 1) + 1))


def right_sampled_attribute(record, rng):
    return _sampled_attribute(record, rng, 1.0)


# --- relations --------------------------------------------------------------------------------------------------------


def histogram_for_add_remove(dataset, rng):
    return np.histogram(known(dataset), 5, (0, 1))[0] + rng.laplace(scale=1, size=5)


def sum_for_replace(dataset, rng):
    return known(dataset, 1, 2).sum() + rng.laplace(scale=1)


def mean_with_exact_number(dataset, rng):
    n = max(len(dataset), 1)
    return known(dataset).sum() / n + rng.laplace(scale=1 / n)


def sum_of_clipped(dataset, rng):
    return known(dataset, -1, 1).sum() + rng.laplace(scale=1)


@dataclass(frozen=True)
class Cause:
    """A false claim that data show.

    Args:
        function: with the false claim.
        twin: the same with the cause repaired; None where there is none.
        example, bounds: an ordinary dataset, and the documented bounds.
        relation: the documented relation; None where none is stated.
        epsilon, delta: the claim.
        records: False if the dataset is one value.
    """

    function: Callable[..., Any]
    twin: Callable[..., Any] | None
    example: Any = field(default_factory=VALUES.copy)
    bounds: Any = (0.0, 1.0)
    relation: str | None = "replace_one"
    epsilon: float = 1.0
    delta: float = 0.0
    records: bool = True

    @property
    def name(self) -> str:
        return self.function.__name__


BY_DATA = (
    Cause(nan_mean, mean),
    Cause(nan_variance, variance),
    Cause(nan_sum_far_from_0, sum_far_from_0, VALUES + 100, (100.0, 101.0)),
    Cause(sum_of_nan, bounded_sum, relation=None),
    Cause(median_that_underflows, median, relation=None),
    Cause(naive_bayes, centred_naive_bayes, ROWS, ((100.0, 101.0), (0.0, 1.0))),
    Cause(regression, noisy_regression, POINTS, (0.0, 1.0)),
    Cause(weighted_histogram, clipped_weights, WEIGHTED, None, "add_remove"),
    Cause(histogram_of_data_bins, histogram),
    Cause(bits_set_only, bits_flipped, 3, (0, 7), epsilon=2.2, records=False),
    Cause(subset_in_order, sorted_subset, 3, (0, 19), records=False),
    Cause(sampled_attribute, right_sampled_attribute, [0, 2, 1], (0, 3), records=False),
    Cause(mean_of_nan, mean_of_two_sums, relation="add_remove", epsilon=1.5),
    Cause(federated_mean, right_federated_mean, UPDATES, (-1.0, 1.0), epsilon=0.36, delta=0.01),
    Cause(clipped_update, right_clipped_update, UPDATE, (-1.0, 1.0), records=False),
    Cause(sparse_vector_that_waits, None, UPDATE, (-1.0, 1.0), records=False),
    Cause(scalars_without_noise, right_clipped_update, UPDATE, (-1.0, 1.0), records=False),
    Cause(one_sided_count, count, relation="add_remove"),
    Cause(mean_without_clamp, mean),
    Cause(one_noise_for_all, noise_for_each, VECTORS, (0.0, 1.0)),
)
"""The twenty claims that data can show; in the order of the libraries."""
BY_RELATION = (
    Cause(histogram_for_add_remove, histogram, relation=None),
    Cause(sum_for_replace, None, VALUES + 1, (1.0, 2.0), None),
    Cause(mean_with_exact_number, None, relation=None),
    Cause(sum_of_clipped, None, VALUES, (-1.0, 1.0), None),
)
"""Claims that are true for one relation, and are stated without one."""
