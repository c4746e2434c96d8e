"""Laws of mechanisms that are made of others, worked out by hand; as in claims_statistics."""

import math
from itertools import product

import numpy as np
from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import EPSILONS, Case, case
from tests.mechanisms.literature.statistics.claims_statistics import APART, FINE, ROUNDING
from tests.mechanisms.local.claims_local import responses

from dpassay.mechanisms.combinators import Parallel, PostProcessed, Subsampled, UserLevel
from dpassay.mechanisms.combinators.broken import BrokenParallel, FixedSample
from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.statistics import NaiveBayesCounts
from dpassay.mechanisms.local import RandomizedResponse
from dpassay.mechanisms.local.broken import BiasedCoinResponse
from dpassay.mechanisms.noise.gaussian import Gaussian
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.mechanisms.noise.queries import Count, Sum

PAIRS = np.linspace(-14.0, 14.0, 281)
"""Coarse cells, for two numbers."""


def subsampled():
    """Laplace noise of scale 1 / epsilon around the count of a binomial or hypergeometric sample."""
    for epsilon, rate, ones in product((0.5, 2.0), (0.2, 1.0), (0, 2)):
        mechanism = Subsampled(Laplace(epsilon, query=Count()), rate=rate)
        two = [
            laws.mixture(
                stats.binom.pmf(np.arange(n + 1), n, rate), [laws.laplace(k * epsilon, 1.0) for k in range(n + 1)]
            )
            for n in (ones, ones + 1)
        ]
        yield mechanism, Neighbours(np.ones(ones), np.ones(ones + 1), "add_remove"), *two, FINE, ones == 0
    gaussian = Subsampled(Gaussian(noise_multiplier=0.8, query=Sum()), rate=0.3, n_records=3)
    off, on = laws.normal(0.0, 0.8), laws.normal(1.0, 0.8)
    pair = Neighbours(np.zeros(2), np.array([0.0, 0.0, 1.0]), "add_remove")
    yield gaussian, pair, off, 0.7 * off + 0.3 * on, FINE, True
    base = Laplace(1.0, query=Count(above=0.5), relation="replace_one")
    for n, m in ((4, 1), (4, 2), (5, 5)):
        mechanism = Subsampled(base, rate=m / n, sampling="fixed-size", n_records=n)
        for ones in range(n):
            sides = [np.repeat([1.0, 0.0], [k, n - k]) for k in (ones, ones + 1)]
            two = [
                laws.mixture(
                    stats.hypergeom.pmf(np.arange(n + 1), n, k, m), [laws.laplace(j, 1.0) for j in range(n + 1)]
                )
                for k in (ones, ones + 1)
            ]
            yield mechanism, Neighbours(*sides, "replace_one"), *two, FINE, ones == 0


def parallel():
    bases = [
        Laplace(1.0, query=Count()),
        Laplace(0.5, query=Count()),
        Laplace(0.8, query=Sum(upper=2.0), sensitivity=2.0),
    ]
    for chosen in (bases, bases[1:2], bases[::-1]):
        mechanism = Parallel(chosen, record=2.0)
        largest = max(chosen, key=lambda base: base.epsilon)
        for j, base in enumerate(chosen):
            pair = Neighbours(np.zeros((0, 2)), np.array([[j, 2.0]]), "add_remove")
            yield mechanism, pair, laws.laplace(0.0, 1.0), laws.laplace(base.epsilon, 1.0), FINE, base is largest


def post_processed():
    """Rounded noise: masses of the intervals between halves."""
    edges = np.arange(-40, 60) + 0.5
    for epsilon, d1 in product((0.5, 2.0), (1.0, 0.4)):
        two = [laws.cells(stats.laplace(c, 1 / epsilon).cdf, edges) for c in (0.0, d1)]
        yield PostProcessed(Laplace(epsilon)), Neighbours(0.0, d1, "add_remove"), *two, ROUNDING, d1 == 1.0
    for sign in (1, -1):
        p = stats.laplace.cdf(np.array([0.0, sign]))
        pair = Neighbours(0.0, float(sign), "add_remove")
        yield PostProcessed(Laplace(1.0), "sign"), pair, *([1 - q, q] for q in p), ROUNDING, False


def naive_bayes():
    """Each cell that moves by 1, on its own; two of them in coarse cells."""
    for epsilon in (0.5, 1.0):
        one = NaiveBayesCounts(epsilon, n_values=(3,))
        pair = Neighbours(np.zeros((0, 2), dtype=int), np.array([[0, 0]]), "add_remove")
        yield one, pair, laws.laplace(0.0, 1.0), laws.laplace(epsilon, 1.0), FINE, True
        cells = [laws.laplace(c * epsilon / 2, 1.0, PAIRS) for c in (0, 1)]
        two = NaiveBayesCounts(epsilon)
        pair = Neighbours(np.zeros((0, 3), dtype=int), np.array([[0, 0, 0]]), "add_remove")
        yield two, pair, *(laws.joint(c, c) for c in cells), 2e-3, True
        moved = NaiveBayesCounts(epsilon, n_values=(3,), relation="replace_one")
        pair = Neighbours(np.array([[1, 0]]), np.array([[0, 0]]), "replace_one")
        yield moved, pair, laws.joint(*cells), laws.joint(*cells[::-1]), 2e-3, True


def broken_parallel():
    for epsilon in (0.5, 1.0):
        none, one = np.zeros((0, 2)), np.array([[0.0, 1.0]])
        pair = Neighbours(none, one, "add_remove")
        cells = [laws.laplace(c * epsilon, 1.0, PAIRS) for c in (0, 1)]
        yield BrokenParallel(epsilon), pair, *(laws.joint(c, c) for c in cells), 2e-3, True
        yield BrokenParallel(epsilon, violation="shared-noise"), pair, *APART, ROUNDING, True
        normal = [laws.normal(c * epsilon, 1.0) for c in (0, 1)]
        yield BrokenParallel(epsilon, violation="forgotten-delta"), pair, *normal, FINE, True
        six = np.array([[0.0, 1.0], [1.0, 0.0]] * 3)
        pair = Neighbours(six, np.concatenate([[[0.0, 0.0]], six]), "add_remove")
        cells = [laws.laplace(c * epsilon, 1.0, PAIRS) for c in (0, 3)]
        swapped = [laws.joint(*cells[::-1]), laws.joint(*cells)]
        yield BrokenParallel(epsilon, violation="order"), pair, *swapped, 2e-3, True
        for violation in ("overlap", "order"):
            twin = BrokenParallel(epsilon, violation=violation, correct=True)
            twin_pair = pair if violation == "order" else Neighbours(none, one, "add_remove")
            moved = 0.0 if violation == "order" else epsilon
            yield twin, twin_pair, laws.laplace(0.0, 1.0), laws.laplace(moved, 1.0), FINE, True


def fixed_sample():
    first = np.append(1.0, np.zeros(9))
    pair = Neighbours(np.zeros(10), first, "replace_one")
    for epsilon in (0.5, 1.0):
        off, on = laws.laplace(0.0, 1.0), laws.laplace(epsilon, 1.0)
        yield FixedSample(epsilon), pair, off, on, FINE, True
        yield FixedSample(epsilon, correct=True), pair, off, 0.9 * off + 0.1 * on, FINE, True
        unseen = Neighbours(first, np.append(first[:9], 1.0), "replace_one")
        yield FixedSample(epsilon), unseen, on, on, ROUNDING, False


def user_level():
    for epsilon, k, relation in product((0.3, 1.0), (1, 3), ("add_remove", "replace_one")):
        mechanism = UserLevel(Laplace(epsilon, query=Sum(), relation=relation), most_records=k)
        for owned, worst in ((k, True), (k + 4, None)):
            before, after = np.array([9.0]), np.ones(owned)
            users = np.append(5, np.zeros(owned, dtype=int))
            full = (users, np.append(before, after))
            out = (users[:1], before) if relation == "add_remove" else (users, np.append(before, 0 * after))
            two = laws.laplace(0.0, 1.0), laws.laplace(k * epsilon, 1.0)
            yield mechanism, Neighbours(out, full, relation), *two, FINE, worst is True


def repeated():
    for accounting, times in product(("basic", "advanced", "optimal", "renyi", "privacy-loss"), (2, 3)):
        for base, channel in (
            (RandomizedResponse(0.8), responses(2, 0.8)),
            (BiasedCoinResponse(0.3), np.array([[0.79, 0.21], [0.49, 0.51]])),
        ):
            claimed = Repeated(base, times, accounting=accounting)
            two = [laws.joint(*[channel[v]] * times) for v in (0, 1)]
            yield case(claimed, Neighbours(0, 1, "replace_one"), *two, 1e-3, worst=True)
    for times, accounting in product((2, 3), ("basic", "privacy-loss")):
        mechanism = Repeated(Gaussian(noise_multiplier=1.5), times, accounting=accounting)
        delta = laws.gaussian_shown(math.sqrt(times) / 1.5, EPSILONS)
        yield Case(mechanism, mechanism.worst_case(), delta, 1e-3, worst=True)


CLAIMS = {
    "repeated": repeated,
    "user-level": user_level,
    "subsampled": subsampled,
    "parallel": parallel,
    "post-processed": post_processed,
    "naive-bayes-counts": naive_bayes,
    "broken-parallel": broken_parallel,
    "broken-fixed-sample": fixed_sample,
}
