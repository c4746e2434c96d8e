"""The algorithms of the papers run by run and query by query, and how often they give what the fast ones give."""

import numpy as np
from scipy import stats


def one_run(queries, threshold, rho, nu, stop_after, rng, *, redraw=False, tested=False, fresh=None):
    """Algorithms 1 to 6 of Lyu, Su and Li (2017) by their scales: a list with one entry a query."""
    bar, above, out = threshold + rng.laplace(0.0, rho), 0, []
    for query in queries:
        if above == stop_after:
            out.append(-1.0)
            continue
        seen = query + (rng.laplace(0.0, nu) if nu else 0.0)
        if seen < bar:
            out.append(0.0)
            continue
        above += 1
        out.append(seen if tested else 1.0 if fresh is None else query + rng.laplace(0.0, fresh))
        if redraw:
            bar = threshold + rng.laplace(0.0, rho)
    return out


def runs(size, seed, *arguments, **options):
    rng = np.random.default_rng(seed)
    return np.array([one_run(*arguments, rng, **options) for _ in range(size)])


def alike(first, second):
    """p-value of a chi-square test that two samples of rows of whole numbers have one law; rare rows are pooled."""
    rows, place = np.unique(np.vstack([first, second]), axis=0, return_inverse=True)
    side = np.repeat([0, 1], [len(first), len(second)])
    counts = np.zeros((2, len(rows)))
    np.add.at(counts, (side, place.reshape(-1)), 1)
    often = counts.sum(axis=0) >= 50
    pooled = counts[:, ~often].sum(axis=1, keepdims=True)
    table = np.hstack([counts[:, often], pooled[:, pooled.sum(axis=0) > 0]])
    return stats.chi2_contingency(table).pvalue
