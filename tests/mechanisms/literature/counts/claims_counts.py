"""Laws of subset counts on every pair of three bits, as in claims_statistics: the answers that hold the record move."""

from itertools import product

import numpy as np
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.literature.statistics.claims_statistics import ROUNDING

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.counts import (
    BoundedNoiseSubsetCounts,
    GaussianSubsetCounts,
    GeometricSubsetCounts,
    LaplaceSubsetCounts,
    RoundedSubsetCounts,
)
from dpassay.mechanisms.literature.counts.broken import UncomposedSubsetCounts

QUERIES = ((1, 1, 0), (1, 0, 0))
"""Record 0 is in two of them, record 1 in one, record 2 in none."""
CUT = 4e-3


def pairs(mechanism):
    """Every column and every bit that is asked about, and the exact answers on both sides."""
    for column, place in product(product((0, 1), repeat=3), (0, 1)):
        d0 = np.array(column)
        d1 = d0.copy()
        d1[place] = 1 - d1[place]
        yield Neighbours(d0, d1, "replace_one"), *(np.array(QUERIES) @ side for side in (d0, d1))


def counted(kind, law, hidden, **options):
    mechanism = kind(n_records=3, n_queries=2, queries=QUERIES, **options)
    worst = mechanism.worst_case()
    for pair, counts0, counts1 in pairs(mechanism):
        is_worst = np.array_equal(pair.d0, worst.d0) and np.array_equal(pair.d1, worst.d1)
        two = [laws.joint(*(law(mechanism, count) for count in counts)) for counts in (counts0, counts1)]
        yield mechanism, pair, *two, hidden, is_worst


def laplace(kind, scale):
    for epsilon in (0.6, 2.0):
        yield from counted(kind, lambda m, c: laws.laplace(c / scale(m), 1.0, laws.COARSE), CUT, epsilon=epsilon)


def gaussian():
    for deviation in (0.8, 3.0):
        yield from counted(
            GaussianSubsetCounts, lambda m, c, s=deviation: laws.normal(c / s, 1.0, laws.COARSE), CUT,
            standard_deviation=deviation,
        )  # fmt: skip


def geometric():
    for epsilon in (0.6, 2.0):
        yield from counted(
            GeometricSubsetCounts, lambda m, c: laws.geometric(c, m.epsilon / 2, reach=90), ROUNDING, epsilon=epsilon
        )


def bounded():
    for bound in (1, 3):
        yield from counted(
            BoundedNoiseSubsetCounts,
            lambda m, c, b=bound: np.bincount(np.arange(-b, b + 1) + c + b, minlength=12) / (2 * b + 1),
            ROUNDING,
            bound=bound,
        )


def rounded():
    for options in ({"rounded_to": 1}, {"rounded_to": 2}, {"rounded_to": 1, "suppressed_below": 2}):
        yield from counted(
            RoundedSubsetCounts,
            lambda m, c: np.eye(8)[0 if c < m.suppressed_below else round(c / m.rounded_to) * m.rounded_to],
            ROUNDING,
            **options,
        )


CLAIMS = {
    "laplace-subset-counts": lambda: laplace(LaplaceSubsetCounts, lambda m: 2 / m.epsilon),
    "gaussian-subset-counts": gaussian,
    "geometric-subset-counts": geometric,
    "bounded-noise-subset-counts": bounded,
    "rounded-subset-counts": rounded,
    "broken-subset-counts-not-composed": lambda: laplace(UncomposedSubsetCounts, lambda m: 1 / m.epsilon),
}
