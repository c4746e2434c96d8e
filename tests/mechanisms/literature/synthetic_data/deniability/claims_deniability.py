"""Laws of releases with plausible deniability, worked out by loops over records; as in claims_statistics."""

import math
from itertools import product

import numpy as np
from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.literature.statistics.claims_statistics import APART, FINE, ROUNDING
from tests.mechanisms.literature.synthetic_data.deniability.tabulated import TabulatedSeedGenerator

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.synthetic_data.deniability import (
    DeniableRelease,
    NoisyEntropies,
    NoisyFamilyCounts,
    SeedBasedSynthesis,
    markov_chain,
)
from dpassay.mechanisms.literature.synthetic_data.deniability.broken import (
    DeterministicTest,
    NoPrivacyTest,
    NoReleaseSeen,
    PairsWithoutNoise,
    RootsWithoutNoise,
)

PAIRS = np.linspace(-14.0, 14.0, 281)


def chain_probabilities(m, same, resampled):
    """Pr[y = M(d)] of all pairs (d, y) of binary records, by their definition."""
    records = list(product((0, 1), repeat=m))
    result = np.zeros((len(records), len(records)))
    for (i, d), (j, y), omega in product(enumerate(records), enumerate(records), resampled):
        if d[: m - omega] == y[: m - omega]:
            steps = [0.5 if at == 0 else same if y[at] == y[at - 1] else 1 - same for at in range(m - omega, m)]
            result[i, j] += math.prod(steps) / len(resampled)
    return result


def noisy_threshold(k, epsilon0):
    return lambda crowd: stats.laplace.cdf((crowd - k) * epsilon0)


def released_law(probabilities, dataset, passes, gamma, withheld):
    """Probability of each output, and of nothing, by a loop over seeds and outputs."""
    law = np.zeros(probabilities.shape[1] + 1)
    for d in dataset:
        for y, p in enumerate(probabilities[d]):
            if p == 0.0:
                continue
            interval = math.floor(-math.log(p) / math.log(gamma))
            others = (probabilities[a, y] for a in dataset)
            crowd = sum(q > 0 and math.floor(-math.log(q) / math.log(gamma)) == interval for q in others)
            law[y] += p / len(dataset) * passes(crowd) * (1 - withheld)
    law[-1] = 1 - law[:-1].sum()
    return law


def numbers(records, m):
    return [int("".join(map(str, row[:m])), 2) for row in records]


def of_a_pair(mechanism, m, resampled, pair, passes, withheld=0.5):
    probabilities = chain_probabilities(m, 0.7, resampled)
    return [released_law(probabilities, numbers(d, m), passes, mechanism.gamma, withheld) for d in (pair.d0, pair.d1)]


def deniable_release():
    rng = np.random.default_rng(5)
    for relation, resampled, (k, gamma, epsilon0) in product(
        ("add_remove", "replace_one"), ((2,), (1, 3)), ((3, 2.0, 0.5), (4, 5.0, 1.5))
    ):
        generator = SeedBasedSynthesis(markov_chain(3), resampled)
        mechanism = DeniableRelease(generator, k, gamma=gamma, epsilon0=epsilon0, relation=relation)
        worst = mechanism.worst_case()
        yield mechanism, worst, *of_a_pair(mechanism, 3, resampled, worst, noisy_threshold(k, epsilon0)), ROUNDING, True
    for relation in ("add_remove", "replace_one"):
        table = rng.dirichlet(np.ones(3), size=4)
        mechanism = DeniableRelease(TabulatedSeedGenerator(table), 2, gamma=1.5, epsilon0=0.7, relation=relation)
        worst = mechanism.worst_case()
        two = [released_law(table, d, noisy_threshold(2, 0.7), 1.5, 0.5) for d in (worst.d0, worst.d1)]
        yield mechanism, worst, *two, ROUNDING, True


def broken_test(kind, passes, withheld=0.5):
    def cases():
        for relation, k in product(("add_remove", "replace_one"), (3, 8)):
            generator = SeedBasedSynthesis(markov_chain(3), (1, 2))
            mechanism = kind(generator, k, relation=relation)
            pair = mechanism.worst_case()
            two = of_a_pair(mechanism, 3, (1, 2), pair, passes(k), withheld)
            yield mechanism, pair, *two, ROUNDING, True
            twin = mechanism.twin()
            yield twin, pair, *of_a_pair(twin, 3, (1, 2), pair, noisy_threshold(k, 1.0)), ROUNDING, True

    return cases


def noisy_entropies():
    """One entropy that moves by the sensitivity, and three in coarse cells: two attributes and their pair."""
    for n, epsilon in product((4, 50), (0.1, 0.5)):
        moved = math.log2(n) - (n - 1) / n * math.log2(n - 1)
        one = NoisyEntropies({"x": 2}, n, epsilon_each=epsilon)
        for ones, step in ((1, moved), (2, None)):
            before, after = np.repeat([0, 1], [n - ones + 1, ones - 1]), np.repeat([0, 1], [n - ones, ones])
            if step is None:
                step = abs(stats.entropy([n - 2, 2], base=2) - stats.entropy([n - 1, 1], base=2))
            two = [laws.laplace(s / moved * epsilon, 1.0) for s in (0.0, step)]
            yield one, Neighbours(before[:, None], after[:, None], "replace_one"), *two, FINE, ones == 1
    coarse = np.linspace(-12.0, 12.0, 121)
    three = NoisyEntropies({"x": 2, "y": 3}, 10, epsilon_each=0.3)
    two = [laws.joint(*[laws.laplace(s, 1.0, coarse)] * 3) for s in (0.0, 0.3)]
    yield three, three.worst_case(), *two, 6e-3, True


def noisy_counts():
    for epsilon in (0.3, 1.0):
        one = NoisyFamilyCounts({"x": 3}, epsilon_each=epsilon)
        none = np.zeros((0, 1), dtype=int)
        two = laws.laplace(0.0, 1.0), laws.laplace(epsilon, 1.0)
        yield one, Neighbours(none, np.array([[1]]), "add_remove"), *two, FINE, True
        pair = NoisyFamilyCounts({"x": 2, "y": 2}, epsilon_each=epsilon)
        moved = [laws.joint(*[laws.laplace(s, 1.0, PAIRS)] * 2) for s in (0.0, epsilon)]
        yield pair, Neighbours(none.reshape(0, 2), np.array([[1, 0]]), "add_remove"), *moved, 4e-3, True
        other = NoisyFamilyCounts({"x": 3}, epsilon_each=epsilon, relation="replace_one")
        moved = [laws.joint(*(laws.laplace(c * epsilon / 2, 1.0, PAIRS) for c in cells)) for cells in ((1, 0), (0, 1))]
        yield other, Neighbours(np.array([[0]]), np.array([[2]]), "replace_one"), *moved, 4e-3, True


def pairs_without_noise():
    broken = PairsWithoutNoise(n_records=20)
    yield broken, broken.worst_case(), *APART, ROUNDING, True
    twin = PairsWithoutNoise({"x": 2}, 20, correct=True)
    yield twin, twin.worst_case(), laws.laplace(0.0, 1.0), laws.laplace(0.1, 1.0), FINE, True


def roots_without_noise():
    broken = RootsWithoutNoise()
    yield broken, broken.worst_case(), *APART, ROUNDING, True
    twin = RootsWithoutNoise({"x": 2}, correct=True)
    yield twin, twin.worst_case(), laws.laplace(0.0, 1.0), laws.laplace(0.5, 1.0), FINE, True


CLAIMS = {
    "deniable-release": deniable_release,
    "noisy-entropies": noisy_entropies,
    "noisy-family-counts": noisy_counts,
    "broken-deniability-deterministic-test": broken_test(DeterministicTest, lambda k: lambda crowd: float(crowd >= k)),
    "broken-deniability-no-test": broken_test(NoPrivacyTest, lambda _: lambda _crowd: 1.0),
    "broken-deniability-no-release-seen": broken_test(NoReleaseSeen, lambda k: noisy_threshold(k, 1.0), withheld=0.0),
    "broken-entropies-pairs": pairs_without_noise,
    "broken-family-counts-roots": roots_without_noise,
}
