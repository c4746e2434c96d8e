"""Laws of certified unlearning with one parameter, by hand: roots of gradients, and updates as formulas."""

import math
from itertools import product

import numpy as np
from scipy import optimize, stats
from scipy.special import expit
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import EPSILONS, FINE, Case

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.unlearning import CertifiedUnlearning
from dpassay.mechanisms.literature.unlearning.broken import NoiseForOneRecord


def pairs(mechanism):
    yield mechanism.worst_case(), True
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(-1, 1, size=(mechanism.n_records, 1)), rng.integers(0, 2, mechanism.n_records)
        X[-mechanism.n_forget :], y[-mechanism.n_forget :] = 1.0, int(X.sum() < 0)
        n = mechanism.n_records - mechanism.n_forget
        yield Neighbours((X[:n], y[:n]), (X, y), "add_remove"), False


def centres(mechanism, pair):
    """The models of both sides before noise."""
    strength = mechanism.regularisation
    rest, every = ((2.0 * y - 1.0) * X[:, 0] for X, y in (pair.d0, pair.d1))

    def slope(w, z):
        return strength * w - np.mean(z * expit(-w * z))

    out, w = (optimize.brentq(slope, -99, 99, args=(z,), xtol=1e-14) for z in (rest, every))
    if mechanism.method == "newton":
        w -= slope(w, rest) / (strength + np.mean(rest**2 * expit(w * rest) * expit(-w * rest)))
    elif mechanism.method == "descent":
        for _ in range(mechanism.descent_steps):
            w -= slope(w, rest) / (strength + 0.125)
    return out, w


def deviation(mechanism, k):
    """Noise for k forgotten records."""
    n, strength = mechanism.n_records, mechanism.regularisation
    distance = {
        "nothing": 2 * k / (n * strength),
        "newton": k**2 / (3 * math.sqrt(3) * n**2 * strength**3),
        "descent": 2 * k / (n * strength) * (1 + 8 * strength) ** -mechanism.descent_steps,
    }[mechanism.method] + 2e-12 / strength

    def excess(mu):
        near, far = mechanism.epsilon / mu - mu / 2, mechanism.epsilon / mu + mu / 2
        return stats.norm.sf(near) - math.exp(mechanism.epsilon) * stats.norm.sf(far) - mechanism.delta

    return distance / optimize.brentq(excess, 1e-2, 5.0, xtol=1e-14)


def cases(kind, k_of_noise=None):
    for method, strength, (n, k) in product(("nothing", "newton", "descent"), (0.1, 1.0), ((60, 12), (200, 1))):
        options = {"n_records": n, "n_forget": k, "regularisation": strength, "descent_steps": 2}
        mechanism = kind(0.8, method=method, **options)
        noise = deviation(mechanism, k_of_noise or k)
        for pair, worst in pairs(mechanism):
            out, in_ = centres(mechanism, pair)
            shown = laws.gaussian_shown(abs(in_ - out) / noise, EPSILONS)
            yield Case(mechanism, pair, shown, FINE, worst=worst, beyond=not worst)


CLAIMS = {
    "certified-unlearning": lambda: cases(CertifiedUnlearning),
    "broken-unlearning-one-record": lambda: cases(NoiseForOneRecord, k_of_noise=1),
}
