"""Laws of multiplicative weights and small databases, worked out from the papers; as in claims_statistics."""

import math
from itertools import product

import numpy as np
from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.literature.statistics.claims_statistics import ROUNDING

from dpassay.mechanisms.accounting import ConcentratedDP
from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.query_release.multiplicative_weights import (
    MWEM,
    DualQuery,
    GaussianMWEM,
    PrivateMultiplicativeWeights,
    SmallDatabase,
)
from dpassay.mechanisms.literature.query_release.multiplicative_weights.broken import (
    ExactErrors,
    SamplesCountedOnce,
    UnaccountedSelection,
)
from dpassay.mechanisms.noise.queries import Marginals, Workload

CUT = 4e-3
TWO = Workload({"cell": 3}, [[1, 0, 0], [0, 1, 0]])
SIGNED = Workload({"cell": 4}, [[1, -1, 0, 0.5], [0, 1, 1, 0], [0, 0, 2, 1]])
PAIRS = (([0, 0, 1, 2], [0, 0, 0, 2]), ([1, 1, 1, 1], [1, 1, 2, 1]))
MOVES = {"replace_one": {id(TWO): 1.0, id(SIGNED): 2.0}, "add_remove": {id(TWO): 1.0, id(SIGNED): 2.0}}
"""The largest distance of two entries of a row, and the largest entry: 1 - -1, 2."""


def counts(workload, cells):
    return workload.matrix @ np.bincount(cells, minlength=workload.matrix.shape[1])


def chances(rate, errors):
    """The exponential mechanism."""
    weights = np.exp(rate * np.asarray(errors))
    return weights / weights.sum()


def pairs(mechanism):
    """The worst case, and small pairs that differ in one record."""
    yield mechanism, mechanism.worst_case(), True
    for side0, side1 in PAIRS if mechanism.relation == "replace_one" else ((s[:3], s) for s, _ in PAIRS):
        yield mechanism, Neighbours(np.array(side0)[:, None], np.array(side1)[:, None], mechanism.relation), False


def one_round(kind, budget, rate, noise):
    """The query and the measurement of a single round, from the uniform distribution."""
    for workload, relation, share in product((TWO, SIGNED), ("replace_one", "add_remove"), (0.5, 0.8)):
        move = MOVES[relation][id(workload)]
        made = kind(workload, 4, rounds=1, selection_share=share, relation=relation, **budget)
        uniform = 4 * workload.matrix.mean(axis=1)
        for mechanism, pair, worst in pairs(made):
            law = []
            for side in (pair.d0, pair.d1):
                exact = counts(workload, side[:, 0])
                p = chances(rate(share) / (2 * move), np.abs(exact - uniform))
                law.append(np.concatenate([p[q] * noise(exact[q] / move, share) for q in range(len(exact))]))
            yield mechanism, pair, *law, CUT, worst


def mwem():
    yield from one_round(
        MWEM, {"epsilon": 1.2}, lambda share: 1.2 * share,
        lambda centre, share: laws.laplace(centre, 1.0 / (1.2 * (1.0 - share))),
    )  # fmt: skip
    yield from two_rounds()


def two_rounds(epsilon=2.0, n=4):
    """The second choice depends on the first measurement, here on a fine grid of it."""
    mechanism = MWEM(TWO, n, rounds=2, epsilon=epsilon)
    edges = np.arange(-25.0, 29.001, 0.02)
    middle = 0.5 * (edges[1:] + edges[:-1])
    scale, last_edges = 4.0 / epsilon, np.linspace(-20.0, 24.0, 23)
    for _, pair, worst in pairs(mechanism):
        law = []
        for side in (pair.d0, pair.d1):
            exact = counts(TWO, side[:, 0])
            first = chances(epsilon / 8, np.abs(exact - n * TWO.matrix.mean(axis=1)))
            rows = []
            for q in (0, 1):
                mass = np.diff(stats.laplace.cdf(edges, exact[q], scale))
                weights = np.exp(TWO.matrix[q] * (middle[:, None] - n / 3) / (2 * n))
                synthetic = n * weights / weights.sum(axis=1, keepdims=True)
                errors = np.abs(exact - synthetic @ TWO.matrix.T)
                second = np.exp(epsilon / 8 * errors)
                second /= second.sum(axis=1, keepdims=True)
                for r in (0, 1):
                    last = laws.cells(lambda x, c=exact[r]: stats.laplace.cdf(x, c, scale), last_edges)
                    rows.append(np.outer(first[q] * mass * second[:, r], last).ravel())
            law.append(np.concatenate(rows) / sum(row.sum() for row in rows))
        yield mechanism, pair, *law, 2e-2, worst


def gaussian_mwem():
    """sigma = move / sqrt(2 rho_m), epsilon_s = sqrt(8 rho_s)."""
    yield from one_round(
        GaussianMWEM, {"rho": 0.3}, lambda share: math.sqrt(2.4 * share),
        lambda centre, share: laws.normal(centre, 1.0 / math.sqrt(0.6 * (1.0 - share))),
    )  # fmt: skip


def small_database():
    """All ordered tables of three rows, those of one histogram together; each histogram is as likely beforehand."""
    for workload, relation in product((TWO, SIGNED), ("replace_one", "add_remove")):
        made = SmallDatabase(workload, 4, epsilon=1.5, relation=relation)
        n_cells, move = workload.matrix.shape[1], MOVES[relation][id(workload)]
        tables = sorted({tuple(sorted(rows)) for rows in product(range(n_cells), repeat=3)})
        for mechanism, pair, worst in pairs(made):
            law = []
            for side in (pair.d0, pair.d1):
                exact = counts(workload, side[:, 0])
                errors = [np.abs(counts(workload, list(t)) / 3 - exact / 4).max() for t in tables]
                law.append(chances(1.5 * 4 / (2 * move), -np.array(errors)))
            yield mechanism, pair, *law, ROUNDING, worst


def online_law(kind, budget, scales, compared):
    """When the first update comes and what is released then; `compared` has Pr[a query is below] at each threshold."""
    for workload, relation, threshold in (
        (TWO, "replace_one", 0.7),
        (SIGNED, "replace_one", 1.5),
        (SIGNED, "add_remove", 0.7),
    ):
        made, move = kind(workload, 4, threshold=threshold, relation=relation, **budget), MOVES[relation][id(workload)]
        bars, masses = compared.thresholds(threshold, scales[0] * move)
        for mechanism, pair, worst in pairs(made):
            law = []
            for side in (pair.d0, pair.d1):
                exact = counts(workload, side[:, 0])
                errors = np.abs(exact - 4 * workload.matrix.mean(axis=1))
                below = [compared.below(bars - error, scales[1] * move) for error in errors]
                up_to = np.cumprod([np.ones(len(bars)), *below], axis=0)
                first = [masses @ (up_to[i] * (1 - below[i])) for i in range(len(errors))]
                numbers = [p * laws.laplace(e / move / scales[2], 1.0) for p, e in zip(first, exact, strict=True)]
                law.append(np.concatenate([*numbers, [masses @ up_to[-1]]]))
            yield mechanism, pair, *law, CUT, worst


class Noisy:
    """Laplace noise on the threshold and on what is compared."""

    @staticmethod
    def thresholds(centre, scale):
        edges = centre + scale * np.linspace(-25, 25, 5001)
        masses = np.diff(stats.laplace.cdf(edges, centre, scale))
        return 0.5 * (edges[1:] + edges[:-1]), masses / masses.sum()

    @staticmethod
    def below(away, scale):
        return stats.laplace.cdf(away, 0.0, scale)


class Exact:
    """No noise on either."""

    @staticmethod
    def thresholds(centre, scale):
        return np.array([centre]), np.array([1.0])

    @staticmethod
    def below(away, scale):
        return (away > 0).astype(float)


def online():
    """A third of the budget each for the threshold, the comparisons and the answers."""
    yield from online_law(PrivateMultiplicativeWeights, {"epsilon": 1.5}, (2.0, 4.0, 2.0), Noisy)
    stretch = math.sqrt(2.0 * ConcentratedDP.for_budget(epsilon=1.0, delta=0.01).rho)
    scales = (3.0 / stretch, 6.0 / stretch, 3.0 / stretch)
    yield from online_law(PrivateMultiplicativeWeights, {"epsilon": 1.0, "delta": 0.01}, scales, Noisy)


def exact_errors():
    yield from online_law(ExactErrors, {"epsilon": 1.5}, (2.0, 4.0, 2.0), Exact)


def unpaid_selection():
    yield from one_round(
        UnaccountedSelection, {"epsilon": 1.2}, lambda share: 1.2 * share,
        lambda centre, share: laws.laplace(centre, 1.0 / 1.2),
    )  # fmt: skip


def draws(n, rounds, samples, eta, data):
    """Every way to draw the queries "a = 0", "a = 1", and not these; the record is the value with most votes, or 0."""
    values = {0: (1, 0), 1: (0, 1), 2: (0, 1), 3: (1, 0)}  # what query i says of a = 0 and of a = 1
    share = [sum(values[q][record] for record in data) / n for q in range(4)]
    ways = {((), ()): 1.0}
    for _ in range(rounds):
        longer = {}
        for (drawn, records), p in ways.items():
            weights = np.exp([eta * sum(share[q] - values[q][r] for r in records) for q in range(4)])
            weights /= weights.sum()
            for new in product(range(4), repeat=samples):
                votes = np.sum([values[q] for q in new], axis=0)
                longer[(*drawn, *new), (*records, int(votes[1] > votes[0]))] = p * np.prod(weights[list(new)])
        ways = longer
    return np.array([ways[way] for way in sorted(ways)])


def dual_query(kind=DualQuery, paid=lambda samples: samples):
    """epsilon = eta T (T - 1) s / n."""
    for n, rounds, samples, epsilon in ((3, 2, 1, 1.0), (2, 2, 2, 0.5), (4, 3, 1, 2.0), (2, 2, 3, 1.0)):
        mechanism = kind(Marginals({"a": 2}, 1), n, epsilon=epsilon, rounds=rounds, samples=samples)
        eta = epsilon * n / (rounds * (rounds - 1) * paid(samples))
        for ones in range(n):
            d0, d1 = (np.repeat([1, 0], [k, n - k]) for k in (ones, ones + 1))
            law = [draws(n, rounds, samples, eta, side) for side in (d0, d1)]
            pair = Neighbours(d0[:, None], d1[:, None], "replace_one")
            yield mechanism, pair, *law, ROUNDING, ones == 0


CLAIMS = {
    "mwem": mwem,
    "gaussian-mwem": gaussian_mwem,
    "small-database": small_database,
    "online-multiplicative-weights": online,
    "dual-query": dual_query,
    "broken-mwem-unpaid-selection": unpaid_selection,
    "broken-online-weights-exact-errors": exact_errors,
    "broken-dual-query-samples-counted-once": lambda: dual_query(SamplesCountedOnce, lambda samples: 1),
}
