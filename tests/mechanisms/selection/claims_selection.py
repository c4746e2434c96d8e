"""Output laws of private selection worked out again: by numerical integration, by enumeration of orders and of sets.

CLAIMS: name of the catalogue -> function that yields (mechanism, pair, p0, p1, options of `Case`).
"""

from itertools import combinations, pairwise, permutations, product

import numpy as np
from scipy import integrate, stats
from scipy.special import softmax
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.claims import case

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.selection import (
    BernoulliParameter,
    GumbelTopK,
    GumbelTopKCounts,
    LaplaceTopK,
    LargeMargin,
    NoisyMaxWithGap,
    PeelingTopK,
    PublishRandomRecord,
)
from dpassay.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax
from dpassay.mechanisms.selection.broken import ExponentialMaxValue, HalvedScoreSensitivity, LaplaceMaxValue

APPROACHED = {"beyond": True}
"""Of pairs that are not the worst case, where that is one of a sequence that approaches the claim."""


def _cdf(z):
    return 0.5 * np.exp(z) if z < 0 else 1.0 - 0.5 * np.exp(-z)


def by_integration(scores):
    """Which score is the largest after Laplace noise."""
    results, points = [], sorted(scores)
    for i, score in enumerate(scores):
        others = [s for j, s in enumerate(scores) if j != i]
        value = 0.0
        for low, high in zip([points[0] - 60, *points], [*points, points[-1] + 60], strict=True):
            value += integrate.quad(
                lambda z, score=score, others=others: (
                    0.5 * np.exp(-abs(z - score)) * np.prod([_cdf(z - s) for s in others])
                ),
                low,
                high,
                epsabs=1e-13,
                epsrel=1e-11,
                limit=200,
            )[0]
        results.append(value)
    return np.array(results)


def by_orders(scores):
    """Permute-and-flip, all orders one after another."""
    taken, result = np.exp(scores - np.max(scores)), np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0 / len(orders)
        for i in order:
            result[i] += left * taken[i]
            left *= 1.0 - taken[i]
    return result


def moves(mechanism, rng, n_pairs):
    """The worst case, and pairs at random in which every utility moves as far as it may."""
    yield mechanism.worst_case()
    low = 0.0 if getattr(mechanism, "monotone", False) else -1.0
    for _ in range(n_pairs):
        start = rng.normal(size=mechanism.n_candidates) * 2 / mechanism.epsilon
        step = mechanism.sensitivity * rng.choice([low, 1.0], size=mechanism.n_candidates)
        if step.any():
            yield Neighbours(start, start + step, mechanism.relation)


def one_index(make, law, beyond, sizes=(2, 4), sensitivities=(1.0, 2.5), n_pairs=2):
    rng = np.random.default_rng(5)
    for epsilon, n, monotone, sensitivity in product((0.4, 2.0), sizes, (False, True), sensitivities):
        mechanism = make(epsilon, n, monotone=monotone, sensitivity=sensitivity)
        for i, pair in enumerate(moves(mechanism, rng, n_pairs)):
            rate = epsilon / sensitivity / (1 if monotone else 2)
            two = (law(rate * np.asarray(pair.side(side))) for side in (0, 1))
            yield mechanism, pair, *two, ({"worst": True} if i == 0 else beyond)


def report_noisy_max():
    for noise, law in (("laplace", by_integration), ("gumbel", softmax), ("exponential", by_orders)):
        yield from one_index(
            lambda *a, noise=noise, **kw: ReportNoisyMax(*a, noise=noise, relation="replace_one", **kw),
            law,
            APPROACHED,
            sizes=(3,),
            sensitivities=(2.5,),
            n_pairs=1,
        )


def permute_and_flip():
    yield from one_index(PermuteAndFlip, by_orders, APPROACHED)


def largest_value(kind, cdf):
    """Cells of the largest of independent sums, cut where a law begins as well."""
    edges = np.linspace(-15.0, 50.0, 26_001)
    for epsilon, n, sensitivity in product((0.4, 2.0), (1, 3, 5), (1.0, 3.0)):
        mechanism = kind(epsilon, n, sensitivity=sensitivity, relation="zero_out")
        one = Neighbours(np.zeros(n), sensitivity * np.eye(n)[0], "zero_out")
        for i, pair in enumerate([mechanism.worst_case(), one]):
            scores = [np.asarray(pair.side(side)) * epsilon / (2 * sensitivity) for side in (0, 1)]
            near = np.max(scores[1]) + np.append(0.0, np.geomspace(1e-4, 1.0, 5_000))
            cut = np.union1d(edges, np.concatenate([*scores, near]))
            two = (laws.cells(lambda z, s=s: np.prod([cdf(z - t) for t in s], axis=0), cut) for s in scores)
            yield mechanism, pair, *two, {"hidden": 5e-6, "worst": i == 0 or n == 1}


def laplace_value():
    def cdf(z):
        return np.where(z < 0, 0.5 * np.exp(-np.abs(z)), 1.0 - 0.5 * np.exp(-np.abs(z)))

    yield from largest_value(LaplaceMaxValue, cdf)


def exponential_value():
    yield from largest_value(ExponentialMaxValue, lambda z: -np.expm1(-np.maximum(z, 0.0)))


def rankings(scores, k):
    """Every ranked list of k, and its probability by the product of its rounds."""
    weights = np.exp(np.asarray(scores) - np.max(scores))
    for chosen in permutations(range(len(scores)), k):
        chance, left = 1.0, list(range(len(scores)))
        for i in chosen:
            chance *= weights[i] / weights[left].sum()
            left.remove(i)
        yield chosen, chance


def ranked(kind):
    rng = np.random.default_rng(6)
    for epsilon, (n, k), monotone in product((0.4, 1.5), ((2, 1), (4, 3), (3, 3)), (False, True)):
        mechanism = kind(epsilon, n, k, monotone=monotone, sensitivity=2.0, relation="replace_one")
        for i, pair in enumerate(moves(mechanism, rng, 2)):
            rate = epsilon / 2.0 / (1 if monotone else 2)
            two = ([p for _, p in rankings(rate * np.asarray(pair.side(side)), k)] for side in (0, 1))
            yield mechanism, pair, *map(np.array, two), ({"worst": True} if i == 0 else APPROACHED)


def sets_by_integration(scores, k):
    """All sets of k, by Simpson's rule over the least sum of the set, between the scores."""
    z = np.concatenate(
        [np.linspace(a, b, 3001) for a, b in pairwise(np.unique([*scores, *(scores - 40), *(scores + 40)]))]
    )
    away = z - scores[:, None]
    density, tail = 0.5 * np.exp(-np.abs(away)), 0.5 * np.exp(-np.abs(away))
    below, above = np.where(away < 0, tail, 1.0 - tail), np.where(away < 0, 1.0 - tail, tail)
    results = []
    for chosen in combinations(range(len(scores)), k):
        rest = np.prod([below[i] for i in range(len(scores)) if i not in chosen], axis=0)
        first = [density[i] * np.prod([above[j] for j in chosen if j != i] or [1.0], axis=0) for i in chosen]
        parts = zip((rest * sum(first)).reshape(-1, 3001), z.reshape(-1, 3001), strict=True)
        results.append(sum(integrate.simpson(y, x=x) for y, x in parts))
    return np.array(results) / np.sum(results)


def laplace_top_k():
    """The set, and cells of the counts of its members: those between the two means are where the loss varies."""
    rng = np.random.default_rng(7)
    sizes = ((2, 1, 1e-6), (4, 2, 0.04), (4, 3, 1e-3), (2, 2, 1e-3))
    for (n, k, delta), monotone in product(sizes, (False, True)):
        mechanism = LaplaceTopK(0.19, n, k, delta, monotone=monotone)
        scale = 8.0 * np.sqrt(k * np.log(n / delta)) / 0.19
        for i, pair in enumerate(moves(mechanism, rng, 1)):
            sides = np.asarray([pair.d0, pair.d1]) / scale
            edges = [np.linspace(*sorted(means), 13) for means in sides.T]
            two = []
            for scores in sides:
                sets = sets_by_integration(scores, k) if k < n else np.ones(1)
                cells = [laws.laplace(score, 1.0, edge) for edge, score in zip(edges, scores, strict=True)]
                counts = (laws.joint(*(cells[j] for j in chosen)) for chosen in combinations(range(n), k))
                two.append(np.concatenate([p * law for p, law in zip(sets, counts, strict=True)]))
            yield mechanism, pair, *two, ({"worst": True, "hidden": 5e-5} if i == 0 else APPROACHED)


def large_margin():
    rng = np.random.default_rng(8)
    for (n, k, delta), epsilon, monotone in product(((2, 1, 1e-3), (4, 2, 0.05)), (0.4, 2.0), (False, True)):
        mechanism = LargeMargin(epsilon, n, k, delta, monotone=monotone, sensitivity=2.0)
        for i, pair in enumerate(moves(mechanism, rng, 2)):
            two = []
            for side in (0, 1):
                scores = np.asarray(pair.side(side)) * epsilon / (2.0 if monotone else 4.0)
                leads = np.exp(scores - np.sort(scores)[::-1][k])
                weights = np.append(np.maximum(leads - 1.0, 0.0), k * (np.exp(epsilon) - 1.0) / delta)
                two.append(weights / weights.sum())
            yield mechanism, pair, *two, ({"worst": True} if i == 0 else APPROACHED)


def gumbel_top_k_counts():
    """Counts that are the same on both sides tell nothing, and are left out."""
    for (n, k), epsilon, monotone in product(((2, 1), (3, 2)), (0.5, 3.0), (False, True)):
        mechanism = GumbelTopKCounts(epsilon, n, k, 1e-3, monotone=monotone, sensitivity=2.0)
        root = 2.0 * (np.sqrt(np.log(1e3) + epsilon) - np.sqrt(np.log(1e3)))
        other = Neighbours(np.array([1.0, 0.0, 0.0][:n]), np.array([1.0, 2.0, 0.0][:n]), "add_remove")
        for i, pair in enumerate([mechanism.worst_case(), other]):
            two = []
            for side in (0, 1):
                counts = np.asarray(pair.side(side))
                noise = [laws.laplace(c * root / (4.0 * np.sqrt(k)), 1.0) for c in counts]
                moved = np.flatnonzero(pair.d0 != pair.d1)[0]
                law = rankings(counts * root / np.sqrt(k) / (2.0 if monotone else 4.0), k)
                two.append(np.concatenate([p * (noise[moved] if moved in chosen else np.ones(1)) for chosen, p in law]))
            yield mechanism, pair, *two, ({"worst": True, "hidden": 2e-5} if i == 0 else APPROACHED)


def noisy_max_with_gap():
    """Cells of the gap for each index, by Simpson's rule over the next noisy score."""
    edges = np.concatenate([np.linspace(0.0, 12.0, 49), [60.0]])
    for epsilon, n, monotone in ((0.4, 2, True), (2.0, 3, False)):
        mechanism = NoisyMaxWithGap(epsilon, n, monotone=monotone, sensitivity=2.0, relation="replace_one")
        other = np.array([1.0, 0.0, 3.0])[:n]
        for i, pair in enumerate(
            [mechanism.worst_case(), Neighbours(other, other + 2.0 * np.eye(n)[1], "replace_one")]
        ):
            rate = epsilon / 2.0 / (1 if monotone else 2)
            two = (gap_cells(rate * np.asarray(pair.side(side)), edges) for side in (0, 1))
            yield mechanism, pair, *two, ({"worst": True, "hidden": 5e-3} if i == 0 else APPROACHED)


def gap_cells(scores, edges):
    y = np.linspace(np.min(scores) - 40.0, np.max(scores) + 40.0, 6_001)
    away = y - scores[:, None]
    half = 0.5 * np.exp(-np.abs(away))
    below, results = np.where(away < 0, half, 1.0 - half), []
    for i, score in enumerate(scores):
        others = [j for j in range(len(scores)) if j != i]
        next_best = sum(half[j] * np.prod([below[m] for m in others if m != j] or [1.0], axis=0) for j in others)
        beyond = [
            np.where(y + g < score, 1.0 - 0.5 * np.exp(-np.abs(y + g - score)), 0.5 * np.exp(-np.abs(y + g - score)))
            for g in edges
        ]
        above = np.array([integrate.trapezoid(next_best * b, x=y) for b in beyond])
        results.append(-np.diff(above))
    return np.concatenate(results)


def bernoulli_parameter():
    """Cells of a Beta law cut off at the ends."""
    edges = np.linspace(0.1, 0.9, 4001)
    for relation, d0, d1 in (
        ("add_remove", [1.0], [1.0, 1.0]),
        ("add_remove", [1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
        ("add_remove", [1.0] * 50 + [0.0] * 50, [1.0] * 51 + [0.0] * 50),
        ("replace_one", [0.0], [1.0]),
        ("replace_one", [1.0] * 100, [1.0] * 99 + [0.0]),
        ("zero_out", [0.0], [1.0]),
    ):
        for epsilon in (0.1, 3.0):
            mechanism = BernoulliParameter(epsilon, relation=relation)
            c = epsilon / (2 * (np.log(10.0) if relation == "add_remove" else np.log(9.0)))
            two = []
            for d in (d0, d1):
                mass = np.diff(stats.beta(1 + c * np.sum(d), 1 + c * (len(d) - np.sum(d))).cdf(edges))
                two.append(mass / mass.sum())
            worst = len(d1) == (2 if relation == "add_remove" else 1)
            yield (
                mechanism,
                Neighbours(np.array(d0), np.array(d1), relation),
                *two,
                {"worst": worst, "hidden": 1e-5, "beyond": True},
            )


def publish_random_record():
    for n in (2, 3, 50):
        mechanism = PublishRandomRecord(n)
        p0, p1 = np.append(np.full(n, 1.0 / n), 0.0), np.append(np.full(n, 1.0 / n), 0.0)
        p1[[n - 1, n]] = p1[[n, n - 1]]
        yield mechanism, mechanism.worst_case(), p0, p1, {"worst": True}
        same = np.ones(n)
        yield mechanism, Neighbours(same, np.append(same[1:], 5.0), "replace_one"), [1.0, 0.0], [1 - 1 / n, 1 / n], {}


def halved_score_sensitivity():
    for epsilon, n, sensitivity in product((0.3, 2.0), (2, 4), (1.0, 2.0)):
        mechanism = HalvedScoreSensitivity(epsilon, n, sensitivity=sensitivity)
        swap = np.zeros((2, n))
        swap[:, 0] = sensitivity * np.array([1.0, -1.0])
        for i, pair in enumerate([mechanism.worst_case(), Neighbours(np.zeros((2, n)), swap, "add_remove")]):
            two = (softmax(epsilon * (pair.side(s)[0] - pair.side(s)[1]) / (2 * sensitivity)) for s in (0, 1))
            yield mechanism, pair, *two, ({"worst": True} if i == 0 else APPROACHED)


def exponential():
    rng = np.random.default_rng(0)
    for epsilon, k, monotone, sensitivity in product((0.3, 1.0, 4.0), (2, 3, 6), (False, True), (1.0, 2.5)):
        mechanism = Exponential(epsilon, k, monotone=monotone, sensitivity=sensitivity, relation="replace_one")
        pairs = [mechanism.worst_case()]
        for _ in range(5):
            start, low = rng.normal(size=k) * 3, 0.0 if monotone else -1.0
            pairs.append(Neighbours(start, start + sensitivity * rng.choice([low, 1.0], size=k), "replace_one"))
        for i, pair in enumerate(pairs):
            if i and np.array_equal(pair.d0, pair.d1):
                continue
            rate = epsilon / sensitivity / (1 if monotone else 2)
            yield case(mechanism, pair, *(softmax(rate * np.asarray(pair.side(s))) for s in (0, 1)), worst=i == 0)


CLAIMS = {
    "exponential": exponential,
    "report-noisy-max": report_noisy_max,
    "permute-and-flip": permute_and_flip,
    "noisy-max-with-gap": noisy_max_with_gap,
    "bernoulli-parameter": bernoulli_parameter,
    "publish-random-record": publish_random_record,
    "peeling-top-k": lambda: ranked(PeelingTopK),
    "gumbel-top-k": lambda: ranked(GumbelTopK),
    "laplace-top-k": laplace_top_k,
    "large-margin": large_margin,
    "gumbel-top-k-counts": gumbel_top_k_counts,
    "broken-noisy-max-value-laplace": laplace_value,
    "broken-noisy-max-value-exponential": exponential_value,
    "broken-score-sensitivity-halved": halved_score_sensitivity,
}
