"""Functions as people write them: with constants, tables, models, caches, counters and generators beside them.

Each adds Laplace noise of a scale that it looks up in something that it keeps: 1 for epsilon 1, or with `broken` set to
True a tenth of it. None of what they keep is noise.
"""

import functools
import random
from collections import Counter, defaultdict
from decimal import Decimal

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

EDGES = [k / 7 for k in range(12)]
TABLE = pd.DataFrame({"scale": np.linspace(0.1, 1.0, 10)}, index=[f"row {k}" for k in range(10)])
WEIGHTS = np.random.default_rng(5).normal(size=50)
MODEL = LinearRegression().fit(np.arange(20.0)[:, None], np.arange(20.0) / 10.0)
SETTINGS = {"scales": {"right": 1.0, "wrong": 0.1}, "prices": [Decimal("0.1"), Decimal("1.0")]}
SEEDED = np.random.default_rng(7)
PYTHON = random.Random(8)
COUNTS = Counter()
SEEN = defaultdict(list)
CALLS = [0]


def noisy(dataset, scale, rng):
    return float(len(dataset) + scale * rng.laplace())


def with_edges(dataset, rng, broken=False):
    return noisy(dataset, EDGES[7] * (0.1 if broken else 1.0), rng)


def with_a_histogram(dataset, rng, broken=False):
    counts = np.histogram(dataset, EDGES)[0]
    return (counts + (0.1 if broken else 1.0) * rng.laplace(size=len(counts))).tolist()


def with_a_table(dataset, rng, broken=False):
    return noisy(dataset, float(TABLE.loc["row 0" if broken else "row 9", "scale"]), rng)


def with_weights(dataset, rng, broken=False):
    return noisy(dataset, (0.1 if broken else 1.0) * WEIGHTS[0] / WEIGHTS[0], rng)


def with_a_model(dataset, rng, broken=False):
    return noisy(dataset, float(MODEL.predict([[1.0 if broken else 10.0]])[0]), rng)


def with_settings(dataset, rng, broken=False):
    return noisy(dataset, SETTINGS["scales"]["wrong" if broken else "right"], rng)


def with_prices(dataset, rng, broken=False):
    return noisy(dataset, float(SETTINGS["prices"][0 if broken else 1]), rng)


def with_a_generator_of_its_own(dataset, rng, broken=False):
    return noisy(dataset, 0.1 if broken else 1.0, SEEDED)


def with_a_generator_of_python(dataset, rng, broken=False):
    return len(dataset) + (0.1 if broken else 1.0) * (PYTHON.expovariate(1.0) - PYTHON.expovariate(1.0))


def with_entropy(dataset, rng, broken=False):
    return noisy(dataset, 0.1 if broken else 1.0, np.random.default_rng())


def with_the_global_state(dataset, rng, broken=False):
    return len(dataset) + (0.1 if broken else 1.0) * np.random.laplace()  # noqa: NPY002


@functools.lru_cache
def _scale(broken):
    return 0.1 if broken else 1.0


def with_a_cache(dataset, rng, broken=False):
    return noisy(dataset, _scale(broken), rng)


def with_a_counter(dataset, rng, broken=False):
    COUNTS[len(dataset)] += 1
    return noisy(dataset, 0.1 if broken else 1.0, rng)


def with_a_log(dataset, rng, broken=False):
    SEEN[len(dataset)].append(noisy(dataset, 0.1 if broken else 1.0, rng))
    return SEEN[len(dataset)][-1]


def with_a_budget(dataset, rng, broken=False):
    CALLS[0] += 1
    return noisy(dataset, 0.1 if broken and CALLS[0] > 3 else 0.1 if broken else 1.0, rng)


def _mean(dataset):
    if id(dataset) not in SEEN:
        SEEN[id(dataset)] = [float(len(dataset))]
    return SEEN[id(dataset)][0]


def with_a_cached_answer_before_the_noise(dataset, rng, broken=False):
    return _mean(dataset) + (0.1 if broken else 1.0) * rng.laplace()


class Release:
    """An object that holds what it needs."""

    def __init__(self, broken):
        self.scales, self.broken, self.last = WEIGHTS / WEIGHTS, broken, None

    def __call__(self, dataset, rng):
        self.last = noisy(dataset, (0.1 if self.broken else 1.0) * self.scales[3], rng)
        return self.last


def in_a_closure(broken):
    edges, scale = [k / 7 for k in range(12)], 0.1 if broken else 1.0
    return lambda dataset, rng: noisy(dataset, scale * edges[7], rng)


def many_runs(dataset, size, rng, broken=False):
    return len(dataset) + (0.1 if broken else 1.0) * EDGES[7] * rng.laplace(size=size)


def without_noise(dataset, rng, broken=False):
    return np.histogram(dataset, EDGES)[0].tolist() if broken else 0.0


def rounded(dataset, rng, broken=False):
    """Outputs that repeat."""
    return round(noisy(dataset, 0.1 if broken else 1.0, rng))


NAMES = ("with", "many_runs", "rounded", "in_a_closure", "Release")
FUNCTIONS = tuple(name for name in list(globals()) if name.startswith(NAMES))


def make(name, *, broken):
    """Return a function of this module, right or broken."""
    function = globals()[name]
    return function(broken) if name in ("in_a_closure", "Release") else functools.partial(function, broken=broken)
