"""Laws of synthetic tables: clamped geometric noise around counts by hand, and every table that records can give."""

from itertools import product

import numpy as np
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.synthetic_data import NoisyHistogramTable
from dpassay.mechanisms.literature.synthetic_data.broken import Resampled

PAIRS = (
    ("add_remove", [0], [0, 1], True),
    ("add_remove", [0, 0, 0], [0, 0], False),
    ("replace_one", [0, 0], [0, 1], True),
    ("replace_one", [1, 1, 0], [0, 1, 0], False),
)
"""Values of the only attribute on both sides; whether it is the worst case."""


def noisy_histogram_table():
    """A third value is impossible."""
    for epsilon, (relation, side0, side1, worst) in product((0.7, 2.0), PAIRS):
        rate = epsilon / 2 if relation == "replace_one" else epsilon
        two = [
            laws.joint(*(laws.geometric(side.count(value), rate, lower=0, reach=90) for value in (0, 1)))
            for side in (side0, side1)
        ]
        pair = Neighbours(np.array(side0)[:, None], np.array(side1)[:, None], relation)
        options = {"impossible": ((2,),), "relation": relation}
        yield NoisyHistogramTable(epsilon, {"a": 3}, **options), pair, *two, 1e-9, worst
        table = NoisyHistogramTable(epsilon, {"a": 3}, view="table", n_rows=1, **options)
        yield table, pair, *(first_rows(side, rate) for side in (side0, side1)), 1e-9, False


def first_rows(side, rate):
    """Law of the one row that is drawn: a share of the counts, a coin where all are 0."""
    both = [laws.geometric(side.count(value), rate, lower=0, reach=90)[90:] for value in (0, 1)]
    counts = np.arange(91)
    total = np.maximum(1, counts[:, None] + counts)
    share = np.where((counts[:, None] + counts) > 0, counts[:, None] / total, 0.5)
    zero = float((share * np.outer(*both)).sum())
    return np.array([zero, 1.0 - zero])


def broken_resampled():
    """All tables of two rows."""
    for side0, side1, worst in (([0, 1, 2], [0, 1, 3], True), ([0, 0, 1], [0, 1, 1], False)):
        mechanism = Resampled(1.0, n_records=3, n_rows=2)
        rows = list(product(range(4), repeat=2))
        two = [np.array([side.count(a) * side.count(b) / 9 for a, b in rows]) for side in (side0, side1)]
        pair = Neighbours(np.array(side0)[:, None], np.array(side1)[:, None], "replace_one")
        yield mechanism, pair, *two, 1e-12, worst


CLAIMS = {"noisy-histogram-table": noisy_histogram_table, "broken-resampled": broken_resampled}
