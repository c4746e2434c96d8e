"""Output laws of sparse vector techniques by summing over a fine grid of thresholds: nothing here asks a mechanism.

Slow and plain: query after query, the probability of each history with each threshold of the grid.
"""

import numpy as np

N_CELLS = 12_000
"""Of the grid; the midpoint rule is then right within about 1e-6."""
REACH = 30.0


def laplace_cdf(x):
    return np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1.0 - 0.5 * np.exp(-np.abs(x)))


def grid(scale, n_cells=N_CELLS):
    """Edges and middles of cells of noise, with a corner of the density at an edge."""
    edges = np.linspace(-REACH * scale, REACH * scale, n_cells + 1)
    return edges, 0.5 * (edges[:-1] + edges[1:])


def answers(queries, threshold, threshold_scale, query_scale, stop_after, redraw=False):
    """Probability of each history of answers: a dictionary from text such as "001-" to a number."""
    edges, noise = grid(threshold_scale)
    fresh = np.diff(laplace_cdf(edges / threshold_scale))
    histories = {"": fresh}
    for query in queries:
        away = threshold + noise - query
        below = laplace_cdf(away / query_scale) if query_scale else np.where(away > 0, 1.0, 0.0)
        following = {}
        for history, weights in histories.items():
            if history.count("1") == stop_after:
                following[history + "-"] = weights
                continue
            following[history + "0"] = weights * below
            above = weights * (1.0 - below)
            following[history + "1"] = above.sum() * fresh if redraw else above
        histories = following
    return {history: weights.sum() for history, weights in histories.items()}


def answers_and_fresh_value(queries, threshold, threshold_scale, query_scale, value_scale):
    """At most one value: the law of the cells of (how many are below, value)."""
    values, law = grid(value_scale, 2000)[0], []
    for history, p in answers(queries, threshold, threshold_scale, query_scale, 1).items():
        if "1" not in history:
            law.append([p])
            continue
        released = laplace_cdf((values - queries[history.index("1")]) / value_scale)
        law.append(p * np.diff(released, prepend=0.0, append=1.0))
    return np.concatenate(law)


def answers_and_tested_value(queries, threshold, threshold_scale, query_scale, n_cells=6000):
    """At most one value, which is the one compared: it lies in a cell, and the threshold below it.

    In the cell of the value itself the threshold is below it half of the time.
    """
    edges, noise = grid(max(threshold_scale, query_scale), n_cells)
    edges, t = threshold + edges, threshold + noise
    weights, law = np.diff(laplace_cdf((edges - threshold) / threshold_scale)), []
    for query in queries:
        below = laplace_cdf((t - query) / query_scale)
        in_cell = np.diff(laplace_cdf((edges - query) / query_scale))
        law.append(in_cell * (np.cumsum(weights) - 0.5 * weights))
        weights = weights * below
    return np.concatenate([*law, [weights.sum()]])
