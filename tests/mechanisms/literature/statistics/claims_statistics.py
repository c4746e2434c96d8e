"""Laws of the statistics, worked out by hand on given pairs: nothing here asks a mechanism what it would release.

Each function yields the arguments of `case` in test_claims_brute_force: mechanism, pair, two laws, what cutting them
may hide, and whether it is the worst case.
"""

import math
from itertools import product

import numpy as np
from scipy import stats
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.selection import Quantile
from dpassay.mechanisms.literature.statistics import (
    ProposeTestRelease,
    RestrictedEdgeCount,
    SmoothSensitivityMedian,
    StabilityHistogram,
    SumAndCount,
    TriangleCount,
)
from dpassay.mechanisms.literature.statistics.broken.arithmetic import SinglePrecisionSum, WrappedSum
from dpassay.mechanisms.literature.statistics.broken.clipping import (
    BoundsFromData,
    ClippedCopyUnused,
    NaNSurvivesClipping,
    UpperBoundIgnored,
)
from dpassay.mechanisms.literature.statistics.broken.histograms import DomainFromData, HistogramAtThreshold
from dpassay.mechanisms.literature.statistics.broken.means import DivisorOfData, MeanWithExactCounts
from dpassay.mechanisms.literature.statistics.broken.median import LocalSensitivityMedian
from dpassay.mechanisms.literature.statistics.broken.second_moments import WishartNoise
from dpassay.mechanisms.literature.studies import ColumnMeans

FINE = 2e-5
ROUNDING = 1e-9
WIDE = np.tan(np.linspace(-1.5707, 1.5707, 100_001))
"""Edges of cells, for laws with heavy tails."""
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
            broken = SinglePrecisionSum(epsilon, case=case)
            yield around(broken, large[1:] + small, large + small, (sum0, scale), (sum1, scale))
            exact = math.fsum(small) + 2**24
            twin = SinglePrecisionSum(epsilon, case=case, correct=True)
            yield around(twin, large[1:] + small, large + small, (exact - 4096, scale), (exact, scale))
        ones = [1.0] * 12_288
        broken, sums = SinglePrecisionSum(epsilon, case="order"), (2**24, 2**24 + 16_384)
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


def listed_or_not(count, rate, threshold):
    """Of one category: 0, or a noisy count above the threshold."""
    values = np.arange(-60, 61) + count
    masses = np.exp(-rate * np.abs(values - count))
    if count == 0:
        values = np.zeros_like(values)
    return np.bincount(np.where(values > threshold, values, 0), masses / masses.sum(), minlength=90)


def stability_histogram(kind=StabilityHistogram, slack=0):
    for relation, (epsilon, delta) in product(("add_remove", "replace_one"), ((1.0, 0.05), (2.0, 0.01))):
        s = 2 if relation == "replace_one" else 1
        threshold = math.ceil(s / epsilon * math.log(1 / delta))
        for case, small in (("large", threshold + 1), ("unique", 0)):
            mechanism = kind(epsilon, delta, case=case, relation=relation)
            for first, other in ((small, threshold + 1), (0, 0), (1, 2), (threshold, 3), (0, 7)):
                before, after = [first, other + s - 1], [first + 1, other]
                pair = Neighbours(np.repeat([0, 1], before), np.repeat([0, 1], after), relation)
                two = [
                    laws.joint(*(listed_or_not(c, epsilon / s, threshold - slack) for c in counts))
                    for counts in (before, after)
                ]
                yield mechanism, pair, *two, ROUNDING, (first, other) == (small, threshold + 1)


def histogram_at_threshold():
    for mechanism, pair, p0, p1, hidden, worst in stability_histogram(HistogramAtThreshold, slack=1):
        if worst:  # on other pairs the truth is another
            yield mechanism, pair, p0, p1, hidden, worst


def local_sensitivity():
    for epsilon in (0.5, 1.0):
        broken, twin = (LocalSensitivityMedian(epsilon, correct=correct) for correct in (False, True))
        d0, d1 = [0.4, 0.5, 0.6], [0.4, 0.5, 1.0]
        yield around(broken, d0, d1, (0.5, 0.1 / epsilon), (0.5, 0.5 / epsilon))
        same = laws.laplace(0.0, 1.0)
        yield twin, Neighbours(np.array(d0), np.array(d1), "replace_one"), same, same, ROUNDING, True


def smooth_sensitivity():
    """Smooth sensitivities of small datasets, by hand."""
    for epsilon in (0.5, 1.0, 3.0):
        beta = epsilon / 6
        for mechanism, decay, factor, law in (
            (SmoothSensitivityMedian(epsilon), beta, 6, lambda c, s: laws.cells(stats.cauchy(c, s).cdf, WIDE)),
            (
                SmoothSensitivityMedian(epsilon, noise="laplace", delta=0.05),
                epsilon / (2 * math.log(2 / 0.05)),
                2,
                lambda c, s: laws.laplace(c, s, np.linspace(-60.0, 60.0, 60_001)),
            ),
        ):
            near, alpha = math.exp(-2 * decay), epsilon / factor
            v = max(math.exp(-3 * decay), near / (1 + near))
            for d0, d1, (f0, s0), (f1, s1), worst in (
                ([0, 0, 0, v, v], [0, 0, v, v, v], (0, near), (v, v), True),
                ([0], [1], (0, 1), (1, 1), False),
                ([0, 0, 0], [0, 0, 1], (0, math.exp(-decay)), (0, 1), False),
            ):
                pair = Neighbours(np.array(d0, dtype=float), np.array(d1, dtype=float), "replace_one")
                yield mechanism, pair, law(f0, s0 / alpha), law(f1, s1 / alpha), 1e-4, worst


def propose_test_release():
    for epsilon, delta in ((1.0, 1e-3), (2.0, 0.05)):
        mechanism, threshold = ProposeTestRelease(epsilon, delta), 2 / epsilon * math.log(0.5 / delta)
        half = math.floor(threshold)
        for d0, d1, (near0, f0), (near1, f1), worst in (
            ([0.1] * half + [0.2] * half, [0.1] * (half - 1) + [0.2] * (half + 1), (half, 0), (half - 1, 1), True),
            ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0], (0, 0), (0, 10), False),
            ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], (1, 0), (0, 0), False),
        ):
            results = []
            for near, f in ((near0, f0), (near1, f1)):
                given = stats.laplace(scale=2 / epsilon).sf(threshold - near)
                results.append(np.append(given * laws.laplace(f * epsilon / 2, 1.0), 1 - given))
            yield mechanism, Neighbours(np.array(d0), np.array(d1), "replace_one"), *results, FINE, worst


def triangle_count():
    """Noise of the bound in 1,000 cells, within each of which the scale of the count is that of the middle."""
    for epsilon, delta, n in ((1.0, 1e-3, 8), (3.0, 0.1, 5)):
        mechanism = TriangleCount(epsilon, delta, n_vertices=n)
        ends = np.array([(end, other) for end in (0, 1) for other in range(2, n)])
        joined = np.concatenate([ends, [[0, 1]]])
        noise = stats.laplace(scale=2 / epsilon)
        margin = 2 / epsilon * math.log(0.5 / delta)
        edges = np.linspace(1.0, n - 2 + margin + 40 / epsilon, 1001)
        middle = np.append(1.0, (edges[1:] + edges[:-1]) / 2)
        masses = np.diff(np.concatenate([[0.0], noise.cdf(edges - (n - 2) - margin)]))
        cuts = np.linspace(-30.0, 60.0, 400)
        two = [
            np.array([m * laws.laplace(f, s, cuts) for m, s in zip(masses, middle * 2 / epsilon, strict=True)])
            for f in (0, n - 2)
        ]
        two = [law / law.sum() for law in two]
        yield mechanism, Neighbours(ends, joined, "add_remove"), *two, 1e-3, True


def restricted_edge_count():
    for k, epsilon in product((1, 3), (0.5, 2.0)):
        mechanism = RestrictedEdgeCount(epsilon, max_degree=k)
        for leaves in (k, k + 4, 1):
            star = np.zeros((leaves + 1, leaves + 1), dtype=int)
            star[-1, :-1] = star[:-1, -1] = 1
            pair = Neighbours(np.zeros((leaves, leaves), dtype=int), star, "add_remove")
            moved = min(leaves, k) / k
            yield mechanism, pair, laws.laplace(0.0, 1.0), laws.laplace(moved * epsilon, 1.0), FINE, leaves == k


def quantile():
    """Masses of the intervals between all values of both sides, with ranks counted by hand."""
    rng = np.random.default_rng(3)
    for epsilon, q in product((0.5, 2.0), (0.5, 0.2)):
        mechanism = Quantile(epsilon, q=q)
        n = 2 if q == 0.5 else 5
        pairs = [([0.02, 1.0], [0.0, 0.02]) if q == 0.5 else ([0.02, 1, 1, 1, 1], [0.0, 0.02, 1, 1, 1])]
        pairs += [(x, np.append(rng.random(), x[1:])) for x in rng.random((4, n))]
        for i, (d0, d1) in enumerate(pairs):
            ends = np.unique(np.concatenate([[0.0, 1.0], d0, d1]))
            inside = (ends[1:] + ends[:-1]) / 2
            two = []
            for d in (d0, d1):
                ranks = (np.asarray(d)[:, None] < inside).sum(axis=0)
                masses = np.diff(ends) * np.exp(-epsilon / 2 * np.abs(ranks - round(q * n)))
                two.append(masses / masses.sum())
            pair = Neighbours(np.array(d0, dtype=float), np.array(d1, dtype=float), "replace_one")
            yield mechanism, pair, *two, ROUNDING, i == 0


def sum_and_count():
    coarse = np.linspace(-14.0, 14.0, 281)
    for epsilon, (lower, upper) in product((0.5, 1.0), ((0.0, 4.0), (-3.0, 1.0))):
        mechanism = SumAndCount(epsilon, lower=lower, upper=upper)
        far = max(lower, upper, key=abs)
        for record, share in ((far, 1.0), (far / 2, 0.5)):
            one, count = (laws.laplace(step * epsilon / 2, 1.0, coarse) for step in (share, 1.0))
            none = laws.laplace(0.0, 1.0, coarse)
            pair = Neighbours(np.zeros(0), np.array([record]), "add_remove")
            yield mechanism, pair, laws.joint(none, none), laws.joint(one, count), 2e-3, share == 1.0


def column_means():
    """People who are all zeros, of whom one changes in one column or in two; these tell the means apart."""
    coarse = np.linspace(-9.0, 9.0, 181)
    for n, noise, scale in ((4, "gaussian", 0.5), (10, "gaussian", 0.1), (4, "laplace", 0.5), (10, "laplace", 0.2)):
        law = laws.normal if noise == "gaussian" else laws.laplace
        moved = 1.0 / (n * scale)
        for d, changed in ((1, 1), (2, 1), (2, 2)):
            d0 = np.zeros((n, d), dtype=int)
            d1 = d0.copy()
            d1[0, :changed] = 1
            edges = laws.EDGES if d == 1 else coarse
            two = [[law(shift, 1.0, edges) for _ in range(changed)] for shift in (0.0, moved)]
            sides = [side[0] if changed == 1 else laws.joint(*side) for side in two]
            hidden = FINE if d == 1 else 4e-3
            pair = Neighbours(d0, d1, "replace_one")
            yield ColumnMeans(n, d, noise=noise, scale=scale), pair, *sides, hidden, changed == d
    for n, decimals in ((4, None), (10, 1)):
        d1 = np.zeros((n, 2), dtype=int)
        d1[0] = 1
        exact = ColumnMeans(n, 2, noise="none", decimals=decimals)
        yield exact, Neighbours(0 * d1, d1, "replace_one"), *APART, ROUNDING, True


CLAIMS = {
    "column-means": column_means,
    "quantile": quantile,
    "sum-and-count": sum_and_count,
    "stability-histogram": stability_histogram,
    "smooth-sensitivity-median": smooth_sensitivity,
    "propose-test-release": propose_test_release,
    "triangle-count": triangle_count,
    "restricted-edge-count": restricted_edge_count,
    "broken-local-sensitivity": local_sensitivity,
    "broken-histogram-at-threshold": histogram_at_threshold,
    "broken-sum-wrapped": wrapped_sum,
    "broken-sum-single-precision": rounded_sum,
    "broken-regression-upper-bound-ignored": upper_bound_ignored,
    "broken-bounds-from-data": bounds_from_data,
    "broken-domain-from-data": domain_from_data,
    "broken-wishart-noise": wishart_noise,
    "broken-clipped-copy-unused": clipped_copy_unused,
    "broken-nan-survives-clipping": nan_survives_clipping,
    "broken-divisor-of-data": divisor_of_data,
    "broken-mean-with-exact-counts": mean_with_exact_counts,
}
