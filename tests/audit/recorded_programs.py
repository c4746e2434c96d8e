"""Programs of the shape that people write, correct and wrong, for the recorder; each with its pair and its claim."""

import math
import random

import numpy as np
import pandas as pd

from dpassay.mechanisms import ApproximateDP, GaussianDP, Neighbours, PureDP

ONE, TWO = PureDP(1.0), PureDP(2.0)
VALUES = Neighbours([0.2, 0.9, 0.4, 0.7, 0.6], [0.2, 0.9, 0.4, 0.7, 0.6, 1.0], "add_remove")
CHANGED = Neighbours([0.2, 0.9, 0.4, 0.7, 0.0], [0.2, 0.9, 0.4, 0.7, 1.0], "replace_one")
LABELS = Neighbours([0, 1, 1, 2, 0, 1], [0, 1, 1, 2, 0, 1, 2], "add_remove")
VECTORS = Neighbours(np.eye(3)[[0, 1, 2, 1]], np.eye(3)[[0, 1, 2, 1, 1]], "add_remove")
BITS = Neighbours([1, 0, 1, 1], [1, 0, 1, 0], "replace_one")
TABLE = Neighbours(
    pd.DataFrame({"city": ["a", "b", "a"], "paid": [0.5, 1.0, 0.2]}),
    pd.DataFrame({"city": ["a", "b", "a", "b"], "paid": [0.5, 1.0, 0.2, 0.9]}),
    "add_remove",
)


def counts(d, k=3):
    return np.bincount(np.asarray(d, dtype=int), minlength=k)


def clipped(d):
    return float(np.clip(d, 0.0, 1.0).sum())


# correct


def noisy_mean(d, rng):
    return (clipped(d) + rng.laplace(scale=2.0)) / max(1.0, len(d) + rng.laplace(scale=2.0))


def ratio(d, rng):
    return (clipped(d) + rng.laplace(scale=2.0)) / (len(d) + rng.laplace(scale=2.0))


def softmax_of_counts(d, rng):
    noisy = counts(d) + rng.laplace(scale=1.0, size=3)
    weights = np.exp(noisy - noisy.max())
    return weights / weights.sum()


def log1p_of_count(d, rng):
    return math.log1p(max(0.0, len(d) + rng.laplace()))


def square(d, rng):
    return (len(d) + rng.laplace()) ** 2


def root(d, rng):
    return np.sqrt(np.abs(clipped(d) + rng.laplace()))


def normalised_histogram(d, rng):
    noisy = np.maximum(counts(d) + rng.laplace(size=3), 0.0)
    return noisy / max(noisy.sum(), 1e-9)


def rounded_histogram(d, rng):
    return [round(max(0, c + rng.laplace())) for c in counts(d)]


def thresholded_histogram(d, rng):
    return {k: c for k, c in ((k, d.count(k) + rng.laplace()) for k in range(3)) if c > 1.5}


def sorted_counts(d, rng):
    return sorted((d.count(k) + rng.laplace() for k in range(3)), reverse=True)


def numpy_sorted(d, rng):
    return np.sort(counts(d) + rng.laplace(size=3))


def shuffled_release(d, rng):
    noisy = counts(d) + rng.laplace(size=3)
    rng.shuffle(noisy)
    return noisy


def permuted_release(d, rng):
    return rng.permutation([d.count(k) + rng.laplace() for k in range(3)])


def shuffled_records(d, rng):
    d = list(d)
    rng.shuffle(d)
    return sum(min(1.0, x) for x in d) + rng.laplace()


def plain_shuffle(d, rng):
    noisy = [d.count(k) + rng.laplace() for k in range(3)]
    random.shuffle(noisy)
    return noisy


def above_threshold(d, rng):
    threshold = 2.0 + rng.laplace(scale=2.0)
    for i, query in enumerate((clipped(d), len(d), sum(x > 0.5 for x in d), 100)):
        if query + rng.laplace(scale=4.0) >= threshold:
            return i
    return -1


def above_threshold_by_differences(d, rng):
    rho = rng.laplace(scale=2.0)
    return [bool(q - 3.0 + rng.laplace(scale=4.0) > rho) for q in (clipped(d), len(d))][:1]


def report_noisy_max(d, rng):
    return int(np.argmax(counts(d) + rng.laplace(scale=1.0, size=3)))


def gumbel_top_2(d, rng):
    return np.argsort(counts(d) / 2.0 + rng.gumbel(scale=2.0, size=3))[::-1][:2].tolist()


def top_k_then_counts(d, rng):
    noisy = [d.count(k) + rng.laplace(scale=2.0) for k in range(3)]
    best = max(range(3), key=lambda k: noisy[k])
    return {"best": best, "count": d.count(best) + rng.laplace(scale=2.0)}


def exponential_mechanism(d, rng):
    utilities = counts(d).astype(float)
    weights = np.exp(0.5 * (utilities - utilities.max()))
    return int(rng.choice(3, p=weights / weights.sum()))


def median(d, rng):
    grid = np.linspace(0, 1, 11)
    utilities = -np.abs(np.array([np.sum(np.asarray(d) < g) for g in grid]) - len(d) / 2)
    weights = np.exp(utilities - utilities.max())
    return float(grid[rng.choice(11, p=weights / weights.sum())])


def iterative_mean(d, rng):
    low, high = 0.0, 1.0
    for _ in range(4):
        middle = (low + high) / 2
        below = sum(x < middle for x in d) + rng.laplace(scale=8.0)
        above = sum(x >= middle for x in d) + rng.laplace(scale=8.0)
        low, high = (low, middle) if below > above else (middle, high)
    return (low + high) / 2


def early_stopping(d, rng):
    total = 0.0
    for step in range(1, 5):
        noisy = clipped(d) + rng.laplace(scale=4.0)
        total += noisy
        if abs(noisy) > 3.0:
            return total / step
    return total / 4


def dictionary(d, rng):
    count, total = len(d) + rng.laplace(scale=3.0), clipped(d) + rng.laplace(scale=3.0)
    return {"n": count, "sum": total, "mean": total / max(count, 1.0), "note": "ok" if count > 3 else "few"}


def variance(d, rng):
    count = max(1.0, len(d) + rng.laplace(scale=3.0))
    first, second = clipped(d) + rng.laplace(scale=3.0), float(np.square(d).sum()) + rng.laplace(scale=3.0)
    return max(0.0, second / count - (first / count) ** 2)


def gradient_descent(d, rng):
    x, w = np.asarray(d, dtype=float), np.zeros(3)
    for _ in range(3):
        g = x - w
        g /= np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True))
        w = w + 0.1 * (g.sum(axis=0) + rng.normal(scale=math.sqrt(3.0), size=3))
    return w


def sampled_gradient_descent(d, rng):
    x, w = np.asarray(d, dtype=float), np.zeros(3)
    for _ in range(3):
        g = x[rng.random(len(x)) < 0.5] - w
        g /= np.maximum(1.0, np.linalg.norm(g, axis=1, keepdims=True))
        w = w + 0.1 * (g.sum(axis=0) + rng.standard_normal(3) * 2.0)
    return w


def minibatch(d, rng):
    x = np.asarray(d)
    batch = x[rng.choice(len(x), size=2, replace=False)]
    return np.clip(batch, 0, 1).sum() + rng.laplace()


def noise_first(d, rng):
    noise = rng.laplace(scale=1.0, size=3)
    result = counts(d).astype(float)
    result += noise
    return result.tolist()


def scaled_standard_normal(d, rng):
    sigma = 2.0
    return clipped(d) + sigma * rng.standard_normal()


def distributed_noise(d, rng):
    return sum(x + rng.normal(scale=1.0 / math.sqrt(len(d))) for x in d)


def two_sided_geometric(d, rng):
    p = 1.0 - math.exp(-1.0)
    return [c + rng.geometric(p) - rng.geometric(p) for c in counts(d)]


def randomized_response(d, rng):
    p = math.e / (1.0 + math.e)
    return [x if rng.random() < p else 1 - x for x in d]


def shuffled_response(d, rng):
    p = math.e / (1.0 + math.e)
    reports = np.where(rng.random(len(d)) < p, d, 1 - np.asarray(d))
    return rng.permutation(reports)


def response_by_probability(d, rng):
    p = math.e / (1.0 + math.e)
    return [int(rng.binomial(1, p if x else 1.0 - p)) for x in d]


def range_tree(d, rng):
    leaves = [d.count(k) + rng.laplace(scale=2.0) for k in range(3)]
    total = len(d) + rng.laplace(scale=2.0)
    return [leaf + (total - sum(leaves)) / 4 for leaf in leaves] + [total]


def cumulative(d, rng):
    return np.cumsum(counts(d) + rng.laplace(size=3))


def synthetic_records(d, rng):
    noisy = np.maximum(counts(d) + rng.laplace(size=3), 1e-3)
    return rng.choice(3, size=10, p=noisy / noisy.sum()).tolist()


def group_by(d, rng):
    paid = d.groupby("city")["paid"].sum().reindex(["a", "b", "c"], fill_value=0.0)
    return paid + rng.laplace(scale=1.0, size=3)


def frame(d, rng):
    result = d["city"].value_counts().reindex(["a", "b"], fill_value=0).to_frame("n").astype(float)
    result["n"] += rng.laplace(size=2)
    result["share"] = result["n"] / result["n"].sum()
    return result


def formatted(d, rng):
    return f"about {len(d) + rng.laplace():.1f} people"


def as_float(d, rng):
    return float(clipped(d)) + float(rng.laplace())


def fsum_of_noise(d, rng):
    return clipped(d) + math.fsum([rng.normal(), rng.normal()]) / math.sqrt(2.0)


def laplace_by_inverse(d, rng):
    u = rng.random() - 0.5
    return clipped(d) - math.copysign(math.log(1.0 - 2.0 * abs(u)), u)


def truncated_noise(d, rng):
    return len(d) + min(max(rng.laplace(scale=0.5), -20.0), 20.0)


def confidence_interval(d, rng):
    noisy = clipped(d) + rng.normal(scale=1.0)
    return noisy - 1.96, noisy, noisy + 1.96


def correlated_normal(d, rng):
    return np.asarray(d).sum(axis=0) + rng.multivariate_normal(np.zeros(3), 4.0 * np.eye(3))


def sorted_in_place(d, rng):
    noisy = counts(d) + rng.laplace(size=3)
    noisy.sort()
    np.maximum(noisy, 0.0, out=noisy)
    return noisy / noisy.sum()


def large_histogram(d, rng):
    return np.bincount(d, minlength=100_001) + rng.laplace(size=100_001)


def propose_test_release(d, rng):
    if len(d) + rng.laplace(scale=2.0) < 2.0:
        return None
    return clipped(d) + rng.laplace(scale=2.0)


RIGHT = [
    (noisy_mean, VALUES, ONE),
    (ratio, VALUES, ONE),
    (ratio, CHANGED, ONE),
    (softmax_of_counts, LABELS, ONE),
    (log1p_of_count, VALUES, ONE),
    (square, VALUES, ONE),
    (root, VALUES, ONE),
    (normalised_histogram, LABELS, ONE),
    (rounded_histogram, LABELS, ONE),
    (thresholded_histogram, LABELS, ONE),
    (sorted_counts, LABELS, ONE),
    (numpy_sorted, LABELS, ONE),
    (shuffled_release, LABELS, ONE),
    (permuted_release, LABELS, ONE),
    (shuffled_records, VALUES, ONE),
    (plain_shuffle, LABELS, ONE),
    (above_threshold, VALUES, ONE),
    (above_threshold_by_differences, VALUES, ONE),
    (report_noisy_max, LABELS, ONE),
    (gumbel_top_2, LABELS, ONE),
    (top_k_then_counts, LABELS, ONE),
    (exponential_mechanism, LABELS, ONE),
    (median, VALUES, ONE),
    (iterative_mean, VALUES, ONE),
    (early_stopping, VALUES, ONE),
    (dictionary, VALUES, ONE),
    (variance, VALUES, ONE),
    (gradient_descent, VECTORS, GaussianDP(1.0)),
    (sampled_gradient_descent, VECTORS, GaussianDP(0.6)),
    (minibatch, VALUES, ONE),
    (noise_first, LABELS, ONE),
    (scaled_standard_normal, VALUES, GaussianDP(0.5)),
    (distributed_noise, CHANGED, GaussianDP(1.0)),
    (two_sided_geometric, LABELS, ONE),
    (randomized_response, BITS, ONE),
    (shuffled_response, BITS, ONE),
    (response_by_probability, BITS, ONE),
    (range_tree, LABELS, ONE),
    (cumulative, LABELS, ONE),
    (synthetic_records, LABELS, ONE),
    (group_by, TABLE, ONE),
    (frame, TABLE, ONE),
    (formatted, VALUES, ONE),
    (as_float, VALUES, ONE),
    (fsum_of_noise, VALUES, GaussianDP(1.0)),
    (laplace_by_inverse, VALUES, ONE),
    (truncated_noise, VALUES, ApproximateDP(2.0, 1e-6)),
    (confidence_interval, VALUES, GaussianDP(1.0)),
    (correlated_normal, VECTORS, GaussianDP(0.5)),
    (sorted_in_place, LABELS, ONE),
    (large_histogram, LABELS, ONE),
    (propose_test_release, VALUES, ONE),
]


# wrong


def true_count_below(d, rng):
    return (clipped(d) + rng.laplace()) / len(d)


def one_release_bare(d, rng):
    return {"n": len(d) + rng.laplace(), "sum": clipped(d)}


def scale_of_data(d, rng):
    return clipped(d) + rng.laplace(scale=max(d))


def scale_of_count(d, rng):
    return np.mean(d) + rng.laplace(scale=1.0 / len(d))


def noise_times_data(d, rng):
    return clipped(d) + len(d) * rng.laplace()


def threshold_without_noise(d, rng):
    return len(d) + rng.laplace() if len(d) > 5 else None


def branch_on_data(d, rng):
    if clipped(d) > 3.0:
        return clipped(d) + rng.laplace()
    return clipped(d) + rng.laplace() + rng.normal()


def same_noise_twice(d, rng):
    noise = rng.laplace(scale=2.0)
    return [clipped(d) + noise, len(d) - 2.0 * clipped(d) + noise]


def noise_itself(d, rng):
    noise = rng.laplace()
    return [len(d) + noise, noise]


def clipped_after_noise(d, rng):
    return float(np.clip(100.0 * sum(d) + rng.laplace(), -1e4, 1e4))


def wrong_sensitivity(d, rng):
    return 2.0 * clipped(d) + rng.laplace()


def epsilon_for_scale(d, rng):
    return counts(d) + rng.laplace(scale=0.5, size=3)


def budget_spent_twice(d, rng):
    return [clipped(d) + rng.laplace(), len(d) + rng.laplace()]


def ratio_over_budget(d, rng):
    return (clipped(d) + rng.laplace()) / (len(d) + rng.laplace())


def too_little_noise_then_rounded(d, rng):
    return [round(c + rng.laplace(scale=0.5)) for c in counts(d)]


def domain_of_data(d, rng):
    return {k: d.count(k) + rng.laplace() for k in sorted({*d, len(d)})}


def noise_only_where_positive(d, rng):
    return [c + rng.laplace() if c > 1 else c for c in counts(d)]


def bare_softmax(d, rng):
    weights = np.exp(counts(d))
    return weights / weights.sum() + 0.0 * rng.laplace(size=3)


def wrong_probabilities(d, rng):
    weights = np.exp(2.0 * counts(d).astype(float))
    return int(rng.choice(3, p=weights / weights.sum()))


def noise_of_records(d, rng):
    return clipped(d) + sum(rng.normal() for _ in d) / 2.0


def noise_taken_back(d, rng):
    noise = rng.laplace()
    noisy = clipped(d) + noise
    return noisy - noise


def exact_total_beside_noisy_parts(d, rng):
    noisy = counts(d) + rng.laplace(size=3)
    return noisy * (len(d) / noisy.sum())


def nan_in_clip(d, rng):
    return np.clip(np.log(np.asarray(d) - 1.0 + 1e-12), -1, 1).sum() / 2 + rng.laplace() if d else 0.0


def shuffled_raw(d, rng):
    values = np.asarray(d)
    rng.shuffle(values)
    return values[:3] + 0.0


def branch_of_output(d, rng):
    noisy = len(d) + rng.laplace()
    return noisy if sum(d) > 2.5 else -1.0


def unclipped_gradient(d, rng):
    x = 10.0 * np.asarray(d, dtype=float)
    return x.sum(axis=0) + rng.normal(size=3)


WRONG = [
    (true_count_below, VALUES, ONE, "parameters"),
    (one_release_bare, VALUES, ONE, "no noise"),
    (scale_of_data, VALUES, ONE, "parameters"),
    (scale_of_count, VALUES, ONE, "parameters"),
    (noise_times_data, VALUES, ONE, "parameters"),
    (threshold_without_noise, VALUES, ONE, "control flow"),
    (branch_on_data, VALUES, ONE, "control flow"),
    (same_noise_twice, VALUES, ONE, "no noise"),
    (noise_itself, VALUES, ONE, "no noise"),
    (clipped_after_noise, VALUES, ONE, "spent"),
    (wrong_sensitivity, VALUES, ONE, "spent"),
    (epsilon_for_scale, LABELS, ONE, "spent"),
    (budget_spent_twice, VALUES, ONE, "spent"),
    (ratio_over_budget, VALUES, ONE, "spent"),
    (too_little_noise_then_rounded, LABELS, ONE, "spent"),
    (domain_of_data, LABELS, ONE, "no noise"),
    (noise_only_where_positive, LABELS, ONE, "control flow"),
    (bare_softmax, LABELS, ONE, "no noise"),
    (wrong_probabilities, LABELS, ONE, "spent"),
    (noise_of_records, VALUES, ONE, "control flow"),
    (noise_taken_back, VALUES, ONE, "no noise"),
    (exact_total_beside_noisy_parts, LABELS, ONE, "parameters"),
    (shuffled_raw, CHANGED, ONE, "no noise"),
    (branch_of_output, CHANGED, ONE, "no noise"),
    (unclipped_gradient, VECTORS, GaussianDP(1.0), "spent"),
]
