"""Output laws worked out again from the papers, cut into cells, and what they show: nothing here asks a mechanism.

A law is a vector of probabilities. Cutting a continuous law into cells loses a little, so that divergences are never
too large: what exceeds a claim refutes it.
"""

import math
from itertools import combinations, product

import numpy as np
from scipy import special, stats

EDGES = np.linspace(-40.0, 40.0, 8001)
COARSE = np.linspace(-12.0, 12.0, 145)


def cells(cdf, edges=EDGES):
    """Masses of (-inf, e_0], (e_0, e_1], ..., (e_k, inf)."""
    return np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))


def laplace(centre, scale, edges=EDGES):
    away = (edges - centre) / scale
    return cells(lambda _: np.where(away < 0, 0.5 * np.exp(-np.abs(away)), 1.0 - 0.5 * np.exp(-np.abs(away))), edges)


def normal(centre, scale, edges=EDGES):
    return cells(lambda x: special.ndtr((x - centre) / scale), edges)


def mixture(weights, laws):
    return np.einsum("w,w...->...", np.asarray(weights), np.asarray(list(laws)))


def joint(*laws):
    """Of independent outputs."""
    result = laws[0]
    for law in laws[1:]:
        result = np.multiply.outer(result, law)
    return np.ravel(result)


def geometric(centre, rate, lower=None, upper=None, reach=400):
    """Two-sided geometric noise on whole numbers, clamped."""
    values = np.arange(-reach, reach + 1)
    masses = math.tanh(rate / 2.0) * np.exp(-rate * np.abs(values - centre))
    clamped = np.clip(values, lower, upper)
    return np.bincount(clamped + reach, masses, minlength=2 * reach + 1) / masses.sum()


def discrete_gaussian(centre, sigma, reach=400):
    """Gaussian weights on whole numbers."""
    weights = np.exp(-0.5 * ((np.arange(-reach, reach + 1) - centre) / sigma) ** 2)
    return weights / weights.sum()


def staircase(edges, epsilon, gamma, width):
    """Masses between edges that hold all steps: Geng and Viswanath (2016)."""
    b = math.exp(-epsilon)
    middle = np.abs(0.5 * (edges[1:] + edges[:-1])) / width
    a = (1 - b) / (2 * width * (gamma + b * (1 - gamma)))
    return np.diff(edges) * a * b ** (np.floor(middle) + (middle % 1.0 > gamma))


def shown(p0, p1, epsilon):
    """delta at each of increasing epsilons: the larger of the two hockey-stick divergences.

    The outputs are sorted into the intervals of privacy loss between the epsilons and their opposites.
    """
    epsilon, p0, p1 = np.asarray(epsilon, dtype=float), np.ravel(p0), np.ravel(p1)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(p1 / p0)  # of outputs of mass 0 on both sides NaN, in the last interval
    places = np.searchsorted(np.concatenate([-epsilon[::-1], epsilon]), losses)
    k = len(epsilon)
    mass0, mass1 = (np.bincount(places, p, minlength=2 * k + 1) for p in (p0, p1))
    forward = np.cumsum(mass1[:k:-1])[::-1] - np.exp(epsilon) * np.cumsum(mass0[:k:-1])[::-1]
    backward = (np.cumsum(mass0[:k]) - np.exp(epsilon[::-1]) * np.cumsum(mass1[:k]))[::-1]
    return np.maximum(0.0, np.maximum(forward, backward))


def gaussian_shown(distance, epsilon):
    """The same for N(0, 1) and N(distance, 1), in closed form: Balle and Wang (2018), Theorem 8."""
    t = np.asarray(epsilon, dtype=float)
    if distance == 0.0:
        return np.zeros(t.shape)
    return stats.norm.cdf(distance / 2 - t / distance) - np.exp(t + stats.norm.logcdf(-distance / 2 - t / distance))


def sampled_sums(shifts, sampling, size, rate, steps):
    """(weight, centres of all steps) for every way in which batches of records that add `shifts` can be drawn."""
    n = len(shifts)
    if sampling == "full-batch":
        return [(1.0, (sum(shifts),) * steps)]
    if sampling in ("cyclic", "shuffled"):
        return _ordered(shifts, sampling, size, steps)
    if sampling == "random-allocation":
        return _allocated(shifts, size, steps)
    if sampling == "cyclic-poisson":
        visits = [sampled_sums(shifts[step % size :: size], "poisson", size, rate, 1) for step in range(steps)]
        return [(math.prod(w for w, _ in way), tuple(c for _, (c,) in way)) for way in product(*visits)]
    if sampling == "truncated-poisson":
        once = _truncated(shifts, size, rate)
        return [(math.prod(w for w, _ in way), tuple(c for _, c in way)) for way in product(once, repeat=steps)]
    if sampling == "poisson":
        drawn = [np.array(bits, dtype=bool) for bits in product((0, 1), repeat=n)]
        once = [(float(np.prod(np.where(d, rate, 1.0 - rate))), float(np.dot(d, shifts))) for d in drawn]
    else:
        drawn = [np.array(bits, dtype=bool) for bits in product((0, 1), repeat=n) if sum(bits) == size]
        once = [(1.0 / len(drawn), float(np.dot(d, shifts))) for d in drawn]
    return [(math.prod(w for w, _ in way), tuple(c for _, c in way)) for way in product(once, repeat=steps)]


def _allocated(shifts, size, steps):
    """Each record in one of `size` steps of each epoch."""
    n, results = len(shifts), []
    for places in product(range(size), repeat=n * -(-steps // size)):
        sums = np.zeros(size * -(-steps // size))
        for index, place in enumerate(places):
            sums[size * (index // n) + place] += shifts[index % n]
        results.append((float(size) ** -len(places), tuple(sums[:steps])))
    return results or [(1.0, (0.0,) * steps)]


def _truncated(shifts, size, rate):
    """(weight, sum) for every sample of one step and every subset of it that is kept."""
    once = []
    for bits in product((0, 1), repeat=len(shifts)):
        chosen = [s for s, bit in zip(shifts, bits, strict=True) if bit]
        kept = list(combinations(chosen, min(size, len(chosen))))
        weight = rate ** len(chosen) * (1.0 - rate) ** (len(shifts) - len(chosen)) / len(kept)
        once += [(weight, float(sum(subset))) for subset in kept]
    return once


def _ordered(shifts, sampling, size, steps):
    """One epoch at a time, each in its own order."""
    from itertools import permutations

    n_batches = -(-len(shifts) // size)
    orders = list(permutations(shifts)) if sampling == "shuffled" else [tuple(shifts)]
    epochs = -(-steps // n_batches)
    results = []
    for way in product(orders, repeat=epochs):
        sums = [sum(order[i : i + size]) for order in way for i in range(0, len(shifts), size)]
        results.append((len(orders) ** -epochs, tuple(sums[:steps])))
    return results


def noisy_sums(ways, deviation):
    """The joint law of all steps: a mixture of products of Gaussians. Equal ways are counted together."""
    together, edges = {}, EDGES if len(ways[0][1]) == 1 else COARSE
    for weight, centres in ways:
        key = tuple(np.round(centres, 9))
        together[key] = together.get(key, 0.0) + weight
    return sum(w * joint(*(normal(c / deviation, 1.0, edges) for c in centres)) for centres, w in together.items())
