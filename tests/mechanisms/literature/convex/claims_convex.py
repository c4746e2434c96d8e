"""Laws of private regression with one parameter, by hand."""

import math
from itertools import combinations_with_replacement, product

import numpy as np
from scipy import optimize, stats
from scipy.special import expit
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import CUT, FINE, case

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.literature.convex.objective_perturbation import ObjectivePerturbation
from dpassay.mechanisms.literature.convex.output_perturbation import OutputPerturbation
from dpassay.mechanisms.literature.convex.projected_sgd import NoisyProjectedSGD


def regression_pairs(n_pairs=3):
    rng = np.random.default_rng(1)
    for _ in range(n_pairs):
        n = int(rng.integers(1, 6))
        X, y = rng.uniform(-1, 1, size=(n, 1)), rng.integers(0, 2, n)
        X2, y2 = X.copy(), y.copy()
        X2[0], y2[0] = rng.choice([-1.0, 1.0]), 1 - y[0]
        X[0] = 1.0
        yield Neighbours((X, y), (X2, y2), "replace_one")


def signed(dataset):
    """w of the examples of one feature, and how many of them there are."""
    data = TrainingData.of(dataset)
    return (2.0 * data.y - 1.0) * data.X[:, 0]


def output_perturbation():
    for epsilon, strength in product((0.5, 3.0), (0.02, 1.0)):
        mechanism = OutputPerturbation(epsilon, regularisation=strength)
        for pair in (mechanism.worst_case(), *regression_pairs()):
            w = [signed(pair.side(side)) for side in (0, 1)]
            rate = len(w[0]) * strength * epsilon / 2
            results = [
                optimize.brentq(lambda f, w=w, c=strength: c * f - np.mean(w * expit(-w * f)), -99, 99, xtol=1e-13)
                for w in w
            ]
            distance = rate * abs(results[1] - results[0])
            two = laws.laplace(0.0, 1.0), laws.laplace(distance, 1.0)
            yield case(mechanism, pair, *two, FINE, worst=len(w[0]) == math.ceil(30 / strength))


def objective_perturbation():
    """A coefficient is at most x where -b is at most the sum of gradients at x plus n strength x."""
    for epsilon, regularisation in product((0.5, 3.0), (0.02, 1.0)):
        mechanism = ObjectivePerturbation(epsilon, regularisation=regularisation)
        for pair in (mechanism.worst_case(), *regression_pairs()):
            w = [np.unique(signed(pair.side(side)), return_counts=True) for side in (0, 1)]
            n = w[0][1].sum()
            left, strength = epsilon - 2 * math.log1p(0.25 / (n * regularisation)), regularisation
            if left <= 0:
                left, strength = epsilon / 2, 0.25 / (n * math.expm1(epsilon / 4))

            def slopes(x, w, total=n * strength):
                values, counts = w
                return total * x - expit(-np.multiply.outer(x, values)) @ (values * counts)

            span = 60.0 / (left * n * strength)
            wide = np.linspace(-span, span, 20_001)
            edges = np.interp(np.linspace(-60.0, 60.0, 4001) / left, slopes(wide, w[0]), wide)  # even in b
            noise = stats.laplace(scale=2 / left)
            two = [laws.cells(lambda x, w=w, noise=noise, b=slopes: noise.cdf(b(x, w)), edges) for w in w]
            yield case(mechanism, pair, *two, 2e-4, worst=n == math.ceil(30 / regularisation))


def noisy_projected_sgd():
    """Linear loss: every step adds n w of a random record; the sums of all steps, and their total."""
    for options in (
        {"epsilon": 1.0, "n_records": 3},
        {"epsilon": 6.0, "delta": 0.01, "n_records": 2},
        {"epsilon": 1.0, "n_records": 3, "standard_deviation": 3.0, "claim": "renyi", "steps": 2},
        {"epsilon": 1.0, "n_records": 2, "standard_deviation": 1.0, "claim": "renyi", "steps": 1},
        {"epsilon": 1.0, "n_records": 4, "standard_deviation": 30.0, "claim": "renyi", "steps": 2},
    ):
        for view, lipschitz in (("last", 1.0), ("all", 2.0)):
            deviation = options.get("standard_deviation")
            scaled = {} if deviation is None else {"standard_deviation": deviation * lipschitz}
            mechanism = NoisyProjectedSGD(**options | scaled, view=view, lipschitz=lipschitz)
            n, steps = mechanism.n_records, min(2, mechanism.n_steps)
            for others in combinations_with_replacement((-1, 0, 1), n - 1):
                ways = [
                    [(n**-steps, way) for way in product(np.multiply(n, (side, *others)), repeat=steps)]
                    for side in (-1, 1)
                ]
                if view == "last":
                    ways = [[(w, (sum(c) / math.sqrt(steps),)) for w, c in way] for way in ways]
                noise = mechanism.sigma / lipschitz
                two = [laws.noisy_sums(way, noise) for way in ways]
                X = np.array([[lipschitz], *([lipschitz * abs(o)] for o in others)])
                y = np.array([0, *(int(o > 0) for o in others)])
                other = y.copy()
                other[0] = 1
                worst = not any(others)
                yield case(mechanism, Neighbours((X, y), (X, other), "replace_one"), *two, CUT, worst=worst)


CLAIMS = {
    "output-perturbation": output_perturbation,
    "objective-perturbation": objective_perturbation,
    "noisy-projected-sgd": noisy_projected_sgd,
}
