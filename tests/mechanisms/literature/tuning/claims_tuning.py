"""Output laws of tuning worked out again: a sum over the number of runs, cell by cell.

CLAIMS: name of the catalogue -> function that yields (mechanism, pair, p0, p1, options of `Case`).
"""

import numpy as np
from scipy import stats

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.tuning import (
    BestOfRepetitions,
    FirstGoodEnough,
    NegativeBinomialRepetitions,
    NoisyCandidate,
    PoissonRepetitions,
)
from dpassay.mechanisms.literature.tuning.broken import BestOfK

EDGES = np.concatenate([[-np.inf], np.linspace(-14.0, 14.0, 1401), [np.inf]])
HIDDEN = 6e-3


def each_candidate(scores, scale, noise):
    """`(n_candidates, n_cells)` probability of a candidate and a cell of its score, and the chance of a lower score in
    the middle of each cell."""
    law = {"laplace": stats.laplace, "gaussian": stats.norm}[noise]
    below = np.mean([law.cdf(EDGES, s, scale) for s in scores], axis=0)
    return np.array([np.diff(law.cdf(EDGES, s, scale)) for s in scores]) / len(scores), below


def best(mechanism, dataset, masses):
    """`masses`: probability of each number of runs, from 0. All of the mass of a cell, shared among candidates as one
    run shares it."""
    once, below = each_candidate(np.asarray(dataset), mechanism.run.scale, mechanism.run.noise)
    steps = np.diff(np.polynomial.polynomial.polyval(below, masses))
    shares = once / np.maximum(once.sum(axis=0), 1e-300)
    return np.append((shares * steps).ravel(), masses[0])


def negative_binomial(shape, stopping, most=3_000):
    k = np.arange(1.0, most)
    weights = np.cumprod((1.0 - stopping) * (np.append(1.0, (k[:-1] + shape) / (k[:-1] + 1.0))))
    return np.append(0.0, weights / weights.sum())


def pairs(mechanism, n):
    yield mechanism.worst_case(), {"worst": True, "beyond": True}
    moved = np.where(np.arange(n) % 2, 1.0, -1.0)
    start = np.linspace(0.0, 2.0, n)
    yield Neighbours(start, start + moved, "replace_one"), {"beyond": True}


def noisy_candidate():
    for noise, epsilon in (("laplace", 0.7), ("gaussian", 1.2)):
        mechanism = NoisyCandidate(epsilon, 3, noise=noise)
        for pair, options in pairs(mechanism, 3):
            two = (each_candidate(pair.side(side), 1.0 / epsilon, noise)[0].ravel() for side in (0, 1))
            yield mechanism, pair, *two, {"worst": options.get("worst", False), "hidden": HIDDEN, "beyond": True}


def best_of_repetitions():
    laws = (
        (NegativeBinomialRepetitions(1.0, 0.2), negative_binomial(1.0, 0.2)),
        (NegativeBinomialRepetitions(0.0, 0.05), negative_binomial(0.0, 0.05)),
        (NegativeBinomialRepetitions(-0.5, 0.1), negative_binomial(-0.5, 0.1)),
        (PoissonRepetitions(4.0), stats.poisson.pmf(np.arange(60), 4.0)),
    )
    for (repetitions, masses), noise in ((law, noise) for law in laws for noise in ("laplace", "gaussian")):
        mechanism = BestOfRepetitions(NoisyCandidate(0.8, 5, noise=noise), repetitions=repetitions)
        for pair, options in pairs(mechanism, 5):
            two = (best(mechanism, pair.side(side), masses) for side in (0, 1))
            yield mechanism, pair, *two, {**options, "hidden": HIDDEN}


def first_good_enough():
    """In rounds: what is good enough ends it, and so does the coin."""
    for threshold, stopping in ((0.0, 0.01), (1.5, 0.3)):
        mechanism = FirstGoodEnough(NoisyCandidate(0.8, 5), threshold=threshold, stopping=stopping)
        for pair, options in pairs(mechanism, 5):
            two = []
            for side in (0, 1):
                once, _ = each_candidate(np.asarray(pair.side(side)), 1.25, "laplace")
                once = np.where(EDGES[:-1] >= threshold - 1e-9, once, 0.0)
                rounds = ((1.0 - once.sum()) * (1.0 - stopping)) ** np.arange(4_000)
                good = once.ravel() * rounds.sum()
                two.append(np.append(good, (1.0 - once.sum()) * stopping * rounds.sum()))
            yield mechanism, pair, *two, {**options, "hidden": HIDDEN}


def best_of_k():
    for k in (1, 3, 12):
        mechanism = BestOfK(NoisyCandidate(0.5, 4), k=k)
        for pair, options in pairs(mechanism, 4):
            masses = np.append(np.zeros(k), 1.0)
            yield (
                mechanism,
                pair,
                *(best(mechanism, pair.side(s), masses) for s in (0, 1)),
                {**options, "hidden": HIDDEN},
            )


CLAIMS = {
    "noisy-candidate": noisy_candidate,
    "best-of-repetitions": best_of_repetitions,
    "first-good-enough": first_good_enough,
    "broken-best-of-k": best_of_k,
}
