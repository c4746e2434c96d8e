"""Membership games whose exact epsilon is known; each draws `(repeats, n_runs, m)` bits and scores at once."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats
from tests.audit import calls
from tests.audit.coverage import Coverage

from dpassay.audit.bounds.bits.one_run import _guess_p_value
from dpassay.audit.evidence.scores import BitScores
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP
from dpassay.mechanisms.core import Guarantee


@dataclass(frozen=True)
class BitLaw:
    """`channel(bits, rng)` gives the scores; `curve` is the exact guarantee for one bit."""

    name: str
    channel: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    curve: Guarantee

    def draws(self, repeats, shape, seed):
        rng = np.random.default_rng(seed)
        bits = rng.random((repeats, *shape)) < 0.5
        scores = self.channel(bits, rng)
        return [BitScores(*one) for one in zip(bits, scores, strict=True)]


def response(epsilon):
    """Local randomised response: +1 or -1, the truth with probability e^epsilon / (1 + e^epsilon)."""

    def channel(bits, rng):
        return np.where(bits ^ (rng.random(bits.shape) < special.expit(-epsilon)), 1.0, -1.0)

    return BitLaw(f"response {epsilon}", channel, PureDP(epsilon))


def hesitant_response(epsilon):
    """A third answers at epsilon (score 2), the rest at epsilon / 3 (score 1): it pays to abstain."""

    def channel(bits, rng):
        sure = rng.random(bits.shape) < 1 / 3
        lies = rng.random(bits.shape) < np.where(sure, special.expit(-epsilon), special.expit(-epsilon / 3))
        return np.where(bits ^ lies, 1.0, -1.0) * np.where(sure, 2.0, 1.0)

    return BitLaw(f"hesitant response {epsilon}", channel, PureDP(epsilon))


def leaky_response(epsilon, delta):
    """Says the bit outright (score 2) with probability delta, else randomised response."""

    def channel(bits, rng):
        leaks = rng.random(bits.shape) < delta
        lies = (rng.random(bits.shape) < special.expit(-epsilon)) & ~leaks
        return np.where(bits ^ lies, 1.0, -1.0) * np.where(leaks, 2.0, 1.0)

    return BitLaw(f"leaky response {epsilon}, {delta}", channel, ApproximateDP(epsilon, delta))


def gaussian(mu):
    """Normal noise; independent for each bit."""
    return BitLaw(f"gaussian {mu}", lambda bits, rng: rng.normal(size=bits.shape) + mu * bits, GaussianDP(mu))


def gaussian_together(mu):
    """Normal noise of every bit, and a swing of the whole run with it: scores are far from independent."""

    def channel(bits, rng):
        swing = rng.normal(scale=3.0, size=(*bits.shape[:-1], 1))
        return rng.normal(size=bits.shape) + mu * bits + swing

    return BitLaw(f"gaussian {mu} together", channel, GaussianDP(mu))


def worst_case(epsilon, delta, m, r, v):
    """The mechanism that attains the bound: r random bits are guessed; now and then at least v of them are right."""
    rate = special.expit(epsilon)
    tail = stats.binom.sf(v - 1, r, rate)
    often = m * delta * tail / (v * stats.binom.pmf(v, r, rate))
    assert often <= 1.0

    def channel(bits, rng):
        flat = bits.reshape(-1, m)
        level = rng.random(len(flat))
        level[rng.random(len(flat)) < often] *= tail
        n_correct = stats.binom.isf(level, r, rate)
        place = rng.random(flat.shape).argsort(axis=1).argsort(axis=1)  # 0 .. r - 1 are guessed, the first ones right
        say = np.where(place < n_correct[:, None], flat, ~flat)
        return np.where(place < r, np.where(say, 1.0, -1.0), 0.0).reshape(bits.shape)

    return BitLaw(f"worst case {epsilon}, {delta}, {m}, {r}, {v}", channel, ApproximateDP(epsilon, delta))


def worst_level(epsilon, delta, m, r, v):
    """The probability of at least v right guesses under `worst_case`."""
    return _guess_p_value(m, r, v, epsilon=epsilon, delta=delta)


def bit_misses(bound, law, *, shape, repeats, confidence, delta=0.0, seed=1):
    """As `tests.audit.coverage.count_misses`, for bits."""
    level = {"delta": delta, "confidence": confidence}
    fixed = calls.fixed(bound, (math.prod(shape),), **level)
    result = np.array([fixed.lower_bound(one).epsilon for one in law.draws(repeats, shape, seed)])
    truth = float(law.curve.epsilon(delta))
    above = int(np.count_nonzero(result > truth * (1.0 + 1e-12)))
    return Coverage(bound.name, law.name, truth, repeats, above, 1.0 - confidence, float(result.mean()))


def quantile_scores(mu, n=10_000):
    """`n` bits out and `n` in, scores at exact normal quantiles: nothing is random."""
    normal = special.ndtri((np.arange(n) + 0.5) / n)
    return BitScores(np.repeat([[False, True]], n, axis=1), np.concatenate([normal, normal + mu])[None, :])


def hull_vertices(scores):
    """(false positives, true positives) at the vertices of the upper hull of the ROC of all scores."""
    bits, flat = scores.bits.ravel(), scores.scores.ravel()
    order = np.argsort(-flat, kind="stable")
    last = np.append(np.diff(flat[order]) != 0, True)
    points = zip(
        np.append(0, np.cumsum(~bits[order])[last]).tolist(),
        np.append(0, np.cumsum(bits[order])[last]).tolist(),
        strict=True,
    )
    hull = []
    for x, y in points:
        while len(hull) > 1 and _bends_up(*hull[-2], *hull[-1], x, y):
            hull.pop()
        hull.append((x, y))
    return hull


def _bends_up(x0, y0, x1, y1, x2, y2):
    return (x1 - x0) * (y2 - y0) >= (y1 - y0) * (x2 - x0)


def worst_probability(profile, m, r, v, epsilons):
    """Largest Pr[V >= v] over all mechanisms with this privacy profile on `epsilons`, by linear programming.

    A mechanism may be averaged over sign flips and permutations of the bits, so that only the law h of the number of
    right guesses is left. Flipping one bit turns k right into k - 1: DP bounds the hockey-stick divergence of
    (k h_k) and ((r - k + 1) h_(k-1)), both over m, in both directions.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    k = np.arange(1, r + 1)
    n_law, rows, cols, values, limits = r + 1, [], [], [], []
    row = 0
    for g, (epsilon, delta) in enumerate(zip(epsilons, profile, strict=True)):
        for way in (0, 1):
            slack = n_law + (2 * g + way) * r + k - 1
            factor = -math.exp(epsilon)
            high, low = (1.0, factor) if way == 0 else (factor, 1.0)
            at = row + k - 1
            rows += [at, at, at]
            cols += [k, k - 1, slack]
            values += [high * k / r, low * (r - k + 1) / r, -np.ones(r)]
            limits += [0.0] * r
            row += r
        rows.append(np.full(2 * r, row))
        cols.append(n_law + 2 * g * r + np.arange(2 * r))
        values.append(np.ones(2 * r))
        limits.append(m * delta / r)
        row += 1
    size = n_law + 2 * r * len(epsilons)
    matrix = coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=(row, size))
    gain = np.zeros(size)
    gain[v : r + 1] = -1.0
    whole = np.zeros((1, size))
    whole[0, :n_law] = 1.0
    return -linprog(gain, A_ub=matrix.tocsr(), b_ub=limits, A_eq=whole, b_eq=[1.0], method="highs").fun


def random_game(seed, n_runs=1, m=200, mu=1.5):
    """Bits by the toss of a coin, and scores with normal noise that lie `mu` higher where a bit is 1."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n_runs, m)) < 0.5
    return BitScores(bits, rng.normal(size=bits.shape) + mu * bits)


def check_p_value(bound, epsilon):
    """The p-value at `epsilon` is the significance at which the bound passes it."""
    scores = random_game(3)
    p = calls.p_value(bound, scores, epsilon=epsilon, delta=1e-5)
    assert 1e-12 < p < 1
    above, below = (
        calls.lower_bound(bound, scores, delta=1e-5, confidence=1 - p * factor).epsilon for factor in (1.001, 0.999)
    )
    assert below <= epsilon < above
