"""Laws of the statistics, worked out by hand on given pairs: nothing here asks a mechanism what it would release.

Each function yields the arguments of `case` in test_claims_brute_force: mechanism, pair, two laws, what cutting them
may hide, and whether it is the worst case.
"""

import math

import claims_laws as laws
import numpy as np

from dpassay.mechanisms.base import Neighbours
from dpassay.mechanisms.broken.statistics import (
    BoundsFromData,
    ClippedCopyUnused,
    DivisorOfData,
    DomainFromData,
    MeanWithExactCounts,
    NaNSurvivesClipping,
    RoundedSum,
    UpperBoundIgnored,
    WishartNoise,
    WrappedSum,
)

FINE = 2e-5
ROUNDING = 1e-9
APART = (np.array([1.0, 0.0]), np.array([0.0, 1.0]))


def around(mechanism, d0, d1, first, second, worst=True):
    """Laplace noise: (centre, scale) on each side."""
    pair = Neighbours(np.array(d0, dtype=float), np.array(d1, dtype=float), mechanism.relation)
    unit = min(first[1], second[1])
    two = [laws.laplace((c - first[0]) / unit, scale / unit) for c, scale in (first, second)]
    return mechanism, pair, *two, FINE, worst


def wrapped_sum():
    for epsilon in (0.3, 1.0):
        scale = 2**30 / epsilon
        broken, d0 = WrappedSum(epsilon), [2**30, 2**30 - 1]
        yield around(broken, d0, [*d0, 1], (2147483647, scale), (-2147483648, scale))
        yield around(broken, [5], [5, 9], (5, scale), (14, scale), worst=False)
        yield around(WrappedSum(epsilon, correct=True), d0, [*d0, 1], (2147483647, scale), (2147483648, scale))


def rounded_sum():
    for epsilon in (0.5, 1.0):
        scale, large = 4096 / epsilon, [4096.0] * 4096
        for case, small, sum0, sum1 in (
            ("half-up", [3.0] * 1365, 2**24 - 1, 2**24 + 5460),
            ("up", [1.0001] * 4095, 2**24 - 1, 2**24 + 8190),
        ):
            broken = RoundedSum(epsilon, case=case)
            yield around(broken, large[1:] + small, large + small, (sum0, scale), (sum1, scale))
            exact = math.fsum(small) + 2**24
            twin = RoundedSum(epsilon, case=case, correct=True)
            yield around(twin, large[1:] + small, large + small, (exact - 4096, scale), (exact, scale))
        ones = [1.0] * 12_288
        broken, sums = RoundedSum(epsilon, case="order"), (2**24, 2**24 + 16_384)
        yield around(broken, large + ones, [*ones, *large, 4096.0], *((s, scale) for s in sums))


def upper_bound_ignored():
    for lower, upper in ((-2.0, 4.0), (-3.0, 3.0), (-5.0, 1.0), (-1.0, 100.0)):
        far = max(lower, upper, key=abs)
        for correct in (False, True):
            mechanism = UpperBoundIgnored(0.8, lower=lower, upper=upper, correct=correct)
            scale = (far**2 if correct else lower**2) / 0.8
            yield around(mechanism, [lower], [lower, far], (lower**2, scale), (lower**2 + far**2, scale))
    bare = UpperBoundIgnored(0.8, lower=0.0, upper=10.0)
    yield bare, Neighbours(np.zeros(1), np.array([0.0, 10.0]), "add_remove"), *APART, ROUNDING, True


def bounds_from_data():
    for bound in (1.0, 10.0, 0.5):
        largest = max(1.0, bound)
        for correct, (first, second) in ((False, (1.0, largest)), (True, (bound, bound))):
            mechanism, one = BoundsFromData(0.8, bound=bound, correct=correct), min(1.0, bound) if correct else 1.0
            sums = (3 * one, 3 * one + bound)
            yield around(mechanism, [1] * 3, [1, 1, 1, bound], (sums[0], first / 0.8), (sums[1], second / 0.8))


def domain_from_data():
    pair = Neighbours(np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 2.0]), "add_remove")
    yield DomainFromData(0.8), pair, *APART, ROUNDING, True
    yield DomainFromData(0.8, n_categories=5), pair, *APART, ROUNDING, True
    two = laws.laplace(0.0, 1.0), laws.laplace(0.8, 1.0)
    yield DomainFromData(0.8, correct=True), pair, *two, FINE, True
    common = Neighbours(np.array([0.0, 1.0]), np.array([0.0, 1.0, 1.0]), "add_remove")
    yield DomainFromData(0.8), common, *two, FINE, False


def wishart_noise():
    for epsilon in (0.1, 0.5, 1.0):
        pair = Neighbours(np.zeros((0, 1)), np.array([[2.0]]), "add_remove")
        rate = 1.0 / (2.0 * (2.0 / (2.0 * epsilon)) ** 2)  # two squared normals of that standard deviation
        edges = np.array([4.0, *np.linspace(4.5, 400.0, 2000)])
        two = [
            laws.cells(lambda x, start=s, rate=rate: -np.expm1(-rate * np.maximum(0.0, x - start)), edges)
            for s in (0.0, 4.0)
        ]
        yield WishartNoise(epsilon, norm_bound=2.0), pair, *two, ROUNDING, True
        twin = WishartNoise(epsilon, norm_bound=2.0, correct=True)
        yield twin, pair, laws.laplace(0.0, 1.0), laws.laplace(epsilon, 1.0), FINE, True


def clipped_copy_unused():
    for outlier, bound in ((100.0, 5.0), (3.0, 5.0)):
        for correct, step in ((False, outlier), (True, min(outlier, bound))):
            mechanism = ClippedCopyUnused(0.4, bound=bound, outlier=outlier, correct=correct)
            scale = bound / 0.4
            yield around(mechanism, [1, -2], [1, -2, outlier], (-1, scale), (step - 1, scale))


def nan_survives_clipping():
    nan = Neighbours(np.array([1.0, 5.0]), np.array([1.0, math.nan]), "replace_one")
    yield NaNSurvivesClipping(0.8), nan, *APART, ROUNDING, True
    yield around(NaNSurvivesClipping(0.8, correct=True), nan.d0, nan.d1, (6, 12.5), (1, 12.5))
    yield around(NaNSurvivesClipping(0.8), [1, 5], [1, -9], (6, 12.5), (-4, 12.5), worst=False)


def divisor_of_data():
    for n in (1, 2, 7):
        zeros = [0.0] * n
        first, second = (0.0, 3.0 / (0.8 * n)), (3.0 / (n + 1), 3.0 / (0.8 * (n + 1)))
        yield around(DivisorOfData(0.8, bound=3.0, records=n), zeros, [*zeros, 3], first, second)
        twin = DivisorOfData(0.8, bound=3.0, records=n, correct=True)
        yield around(twin, zeros, [*zeros, 3], first, (3.0 / n, 3.0 / (0.8 * n)))


def mean_with_exact_counts():
    yield around(MeanWithExactCounts(1.0), [1], [1, 0], (1.0, 1.0), (0.5, 0.5))
    yield around(MeanWithExactCounts(0.5), [1], [1, 0], (1.0, 2.0), (0.5, 1.0))


CASES = {
    "broken-sum-wrapped": wrapped_sum,
    "broken-sum-rounded": rounded_sum,
    "broken-regression-upper-bound-ignored": upper_bound_ignored,
    "broken-bounds-from-data": bounds_from_data,
    "broken-domain-from-data": domain_from_data,
    "broken-wishart-noise": wishart_noise,
    "broken-clipped-copy-unused": clipped_copy_unused,
    "broken-nan-survives-clipping": nan_survives_clipping,
    "broken-divisor-of-data": divisor_of_data,
    "broken-mean-with-exact-counts": mean_with_exact_counts,
}
