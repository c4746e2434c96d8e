"""Structure and parameters of a Bayesian network, learned with noise."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.base import Neighbours
from dpassay.mechanisms.deniability import (
    BayesianNetwork,
    DeniableRelease,
    NoisyCounts,
    NoisyEntropies,
    chain,
    entropy_sensitivity,
    learn_generator,
    learn_structure,
)
from dpassay.mechanisms.errors import ParameterError
from dpassay.mechanisms.guarantees import PureDP, compose
from dpassay.mechanisms.queries.domain import Domain


def test_sensitivity_of_an_entropy_is_the_largest_of_all_replacements():
    assert entropy_sensitivity(100) == pytest.approx(0.0807931, abs=5e-8)
    for n in (1, 2, 5, 9):
        worst = 0.0
        for counts in product(range(n + 1), repeat=3):
            if sum(counts) != n:
                continue
            for i, j in ((a, b) for a in range(3) for b in range(3) if counts[a] and a != b):
                moved = np.array(counts)
                moved[i] -= 1
                moved[j] += 1
                worst = max(worst, abs(stats.entropy(counts, base=2) - stats.entropy(moved, base=2)))
        assert entropy_sensitivity(n) == pytest.approx(worst, abs=1e-12)
        assert worst <= (math.log2(n) + 1 / math.log(2)) / n
    assert (math.log2(100) + 1 / math.log(2)) / 100 == pytest.approx(0.0808655, abs=5e-8)


def test_claims_have_the_form_of_advanced_composition():
    """epsilon sqrt(2 k ln(1 / delta)) + k epsilon (e^epsilon - 1): Dwork, Rothblum and Vadhan (2010), theorem III.3."""
    m, each, delta = 12, 0.01, 1e-7

    def formula(k):
        return each * math.sqrt(2 * k * math.log(1 / delta)) + k * each * math.expm1(each)

    domain = Domain(tuple((f"x{i}", 3) for i in range(m)))
    entropies = NoisyEntropies(domain, 1000, epsilon_each=each, delta=delta)
    assert entropies.guarantee().epsilon(delta) == pytest.approx(formula(m * (m + 1) // 2))
    with_coarse_copies = compose([PureDP(each)] * m * (m + 1), accounting="advanced", form="drv10")
    assert with_coarse_copies.epsilon(delta) == pytest.approx(formula(m * (m + 1)))
    many = Domain(tuple((f"x{i}", 2) for i in range(60)))
    counts = NoisyCounts(many, epsilon_each=each, delta=delta)
    assert counts.guarantee().epsilon(delta) == pytest.approx(min(formula(60), 60 * each))
    assert counts.guarantee().default_delta == delta


def test_entropies_are_those_of_the_tables():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 2, "b": 3, "c": 5})
    records = np.column_stack([rng.integers(n, size=80) for n in domain.shape])
    found = NoisyEntropies(domain, 80).statistics(records)
    sets = [(i,) for i in range(3)] + list(combinations(range(3), 2))
    for value, columns in zip(found, sets, strict=True):
        counts = np.unique(records[:, columns], axis=0, return_counts=True)[1]
        assert value == pytest.approx(stats.entropy(counts, base=2))


def greedy(corr, shape, max_parents, max_cells):
    """The structure of one run, by loops."""
    m = len(shape)
    order = [int(corr.sum(axis=1).argmax())]
    parents = {order[0]: []}
    while len(order) < m:
        rest = [i for i in range(m) if i not in order]
        child = max(rest, key=lambda i: corr[i, order].max())
        chosen, best = [], 0.0
        while len(chosen) < max_parents:
            merits = {}
            for j in set(order) - set(chosen):
                group = [*chosen, j]
                if math.prod(shape[i] for i in group) <= max_cells:
                    among = sum(corr[a, b] for a in group for b in group if a != b)
                    merits[j] = corr[child, group].sum() / math.sqrt(len(group) + among)
            if not merits or max(merits.values()) <= best:
                break
            j = max(merits, key=merits.get)
            chosen, best = [*chosen, j], merits[j]
        order.append(child)
        parents[child] = chosen
    return order, parents


def test_structures_of_many_runs_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    shape, size = (2, 3, 4, 2, 5), 40
    single, pair = rng.uniform(1.0, 2.0, (size, 5)), rng.uniform(1.2, 3.0, (size, 10))
    noisy = np.hstack([single, pair])
    for most, cells in ((0, 100), (2, 100), (3, 12), (4, 10_000)):
        parents, orders = learn_structure(noisy, shape, most, cells)
        for run in range(size):
            corr = np.zeros((5, 5))
            for at, (i, j) in enumerate(combinations(range(5), 2)):
                raw = 2 - 2 * pair[run, at] / (single[run, i] + single[run, j])
                corr[i, j] = corr[j, i] = min(1.0, max(0.0, raw))
            order, of = greedy(corr, shape, most, cells)
            assert orders[run].tolist() == order
            assert {i: set(np.flatnonzero(parents[run, i])) for i in range(5)} == {i: set(j) for i, j in of.items()}


def test_learned_edge_sets_of_neighbours_keep_the_claim():
    """All structures of three binary attributes, on a pair whose correlations stand and fall with one record."""
    d0 = np.array([[0, 0, 0]] * 5 + [[1, 1, 0]])
    d1 = np.array([[0, 0, 0]] * 5 + [[0, 0, 1]])
    mechanism = NoisyEntropies(n_records=6, epsilon_each=0.5, view="structure")
    mechanism.fitted_to(Neighbours(d0, d1, "replace_one"))
    size, claim = 60_000, mechanism.guarantee()
    weights = 2 ** np.arange(9)

    def frequencies(data, stream):
        matrices = mechanism.release(data, size, np.random.default_rng([2, stream])).values
        return np.bincount(matrices.reshape(size, 9) @ weights, minlength=512) / size

    pilot0, pilot1, seen0, seen1 = (frequencies(data, i) for i, data in enumerate((d0, d1, d0, d1)))
    event = pilot1 > math.e * pilot0  # chosen on other runs than those that are counted
    margin = math.sqrt(math.log(2e6) / (2 * size)) * (1 + math.e)
    assert seen1[event].sum() - math.e * seen0[event].sum() <= claim.delta(1.0) + margin
    assert (seen0 > 0).sum() > 3
    assert mechanism.output_law() is None
    assert mechanism.exact_guarantee() is None


def test_counts_give_back_the_network():
    rng = np.random.default_rng(3)
    network = chain(4, same=0.8)
    records = network.sample(200_000, rng)
    mechanism = NoisyCounts(network.domain)
    counts = mechanism.statistics(records)
    assert counts.sum() == 4 * len(records)
    for true, found in zip(network.tables, mechanism.network(counts).tables, strict=True):
        np.testing.assert_allclose(true, found, atol=0.01)
    negative = mechanism.network(np.full(len(counts), -3.0))
    assert all(np.all(table == 0.5) for table in negative.tables)


def test_a_generator_is_learned_from_disjoint_parts():
    rng = np.random.default_rng(4)
    data = chain(4, same=0.9).sample(8000, rng)
    learned = learn_generator(data, chain(4).domain, rng=rng, epsilon_entropy=1.0, epsilon_table=1.0)
    assert learned.structure.n_records == 2000
    assert len(learned.seeds) == 4000
    network = learned.network
    edges = {frozenset((x, p)) for x, of in zip(network.domain.names, network.parents, strict=True) for p in of}
    assert edges >= {frozenset((f"x{i}", f"x{i + 1}")) for i in (1, 2, 3)}
    mechanism = learned.release((2, 3), k=50, gamma=4.0, epsilon0=1.0)
    assert isinstance(mechanism, DeniableRelease)
    assert (mechanism.release(learned.seeds, 100, rng).values >= 0).any()
    assert all(one.relation is mechanism.relation for one in learned.guarantees())
    with pytest.raises(ParameterError, match="two records at least"):
        learn_generator(data[:4], chain(4).domain, rng=rng)


def test_wrong_tables_are_refused():
    with pytest.raises(ParameterError, match="a public number"):
        NoisyEntropies(n_records=5).statistics(np.zeros((4, 3), dtype=int))
    with pytest.raises(ParameterError, match="view"):
        NoisyEntropies(view="tables")
    with pytest.raises(ParameterError, match="zero_out"):
        NoisyCounts(relation="zero_out")
    assert BayesianNetwork({"a": 2}, ("a",), {}, {"a": [0.5, 0.5]}) != chain(1, same=0.7)
