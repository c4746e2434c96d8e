"""Structure and parameters of a Bayesian network, learned with noise."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours, ParameterError
from dpassay.mechanisms.literature.synthetic_data.deniability import (
    BayesianNetwork,
    DeniableRelease,
    NoisyEntropies,
    NoisyFamilyCounts,
    entropy_sensitivity,
    learn_generator,
    learn_structure,
    markov_chain,
)
from dpassay.mechanisms.noise.queries.domain import Domain


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

    def formula(k, slack=delta):
        return each * math.sqrt(2 * k * math.log(1 / slack)) + k * each * math.expm1(each)

    domain = Domain(tuple((f"x{i}", 3) for i in range(m)))
    entropies = NoisyEntropies(domain, 1000, epsilon_each=each, delta=delta)
    assert entropies.guarantee().epsilon(delta) == pytest.approx(formula(m * (m + 1) // 2))
    options = {"epsilon_each": each, "delta": delta, "buckets": [[0, 1, 1]] * m}
    assert NoisyEntropies(domain, 1000, **options).guarantee().epsilon(delta) == pytest.approx(formula(m * (m + 1)))
    noisy_n = NoisyEntropies(domain, 1000, epsilon_n=0.3, **options).guarantee()
    assert noisy_n.epsilon(delta) == pytest.approx(0.3 + formula(m * (m + 1), 0.5 * delta))
    assert noisy_n.relation.value == "add_remove"
    many = Domain(tuple((f"x{i}", 2) for i in range(60)))
    counts = NoisyFamilyCounts(many, epsilon_each=each, delta=delta)
    assert counts.guarantee().epsilon(delta) == pytest.approx(min(formula(60), 60 * each))
    assert counts.guarantee().default_delta == delta


def test_entropies_are_those_of_the_tables():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 2, "b": 3, "c": 5})
    records = np.column_stack([rng.integers(n, size=80) for n in domain.shape])
    results = NoisyEntropies(domain, 80).answers(records)
    sets = [(i,) for i in range(3)] + list(combinations(range(3), 2))
    for value, columns in zip(results, sets, strict=True):
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


WIDE = {"a": [0, 0, 1], "b": [0, 1, 1, 2], "c": [1, 0]}


def test_entropies_of_coarse_copies_are_those_of_the_tables():
    """m of the attributes, m of their copies, and m (m - 1) of an attribute and the copy of another."""
    rng = np.random.default_rng(5)
    domain = Domain({"a": 3, "b": 4, "c": 2})
    records = np.column_stack([rng.integers(n, size=80) for n in domain.shape])
    mechanism = NoisyEntropies(domain, 80, buckets=WIDE)
    coarse = np.column_stack([np.array(WIDE[name])[column] for name, column in zip("abc", records.T, strict=True)])
    tables = [records[:, [i]] for i in range(3)] + [coarse[:, [i]] for i in range(3)]
    tables += [np.column_stack([records[:, i], coarse[:, j]]) for i in range(3) for j in range(3) if i != j]
    expected = [stats.entropy(np.unique(t, axis=0, return_counts=True)[1], base=2) for t in tables]
    assert mechanism.n_parts == len(expected) == 12
    np.testing.assert_allclose(mechanism.answers(records), expected)
    pair = mechanism.worst_case()
    moved = np.abs(mechanism.answers(pair.d1) - mechanism.answers(pair.d0))
    np.testing.assert_allclose(moved, entropy_sensitivity(80))
    with pytest.raises(ParameterError, match="at least two of them different"):
        NoisyEntropies(domain, 80, buckets=WIDE | {"c": [0, 0]})
    with pytest.raises(ParameterError, match="one entry for each"):
        NoisyEntropies(domain, 80, buckets={"a": [0, 1, 2]})


def test_a_parent_counts_by_its_copy():
    """b is the bucket of a: the copy of a determines b, while the copy of b says little about a."""
    rng = np.random.default_rng(6)
    a, c = rng.integers(8, size=500), rng.integers(2, size=500)
    records, domain = np.column_stack([a, a // 4, c]), Domain({"a": 8, "b": 2, "c": 2})
    mechanism = NoisyEntropies(domain, 500, buckets={"a": [0] * 4 + [1] * 4, "b": [0, 1], "c": [0, 1]})
    exact = mechanism.answers(records)
    corr, pairs = np.zeros((3, 3)), iter(exact[6:])
    for i, j in ((i, j) for i in range(3) for j in range(3) if i != j):
        corr[i, j] = min(1.0, max(0.0, 2 - 2 * next(pairs) / (exact[i] + exact[3 + j])))
    assert corr[1, 0] == pytest.approx(1.0)
    assert corr[0, 1] < 0.6
    parents, orders = mechanism.learn(exact[np.newaxis])
    order, of = greedy(corr, domain.shape, 3, 1000)
    assert orders[0].tolist() == order
    assert {i: set(np.flatnonzero(parents[0, i])) for i in range(3)} == {i: set(j) for i, j in of.items()}
    assert parents[0, 1, 0] != parents[0, 0, 1]


def entropy_sensitivity_at(n):
    """log2 n - (1 - 1/n) log2 (n - 1) for any n > 1."""
    return math.log2(n) - (1.0 - 1.0 / n) * math.log2(n - 1.0)


@pytest.mark.parametrize("buckets", [None, {"x": [0, 1]}])
@pytest.mark.parametrize(("n", "epsilon_n", "each", "delta"), [(2, 1.0, 0.5, 0.1), (30, 0.2, 1.0, 0.02)])
def test_claim_with_a_noisy_number_of_records_holds_by_integration(n, epsilon_n, each, delta, buckets):
    options = {"epsilon_each": each, "delta": delta, "epsilon_n": epsilon_n, "buckets": buckets}
    mechanism = NoisyEntropies({"x": 2}, n, **options)
    pair, k, step = mechanism.worst_case(), mechanism.n_parts, entropy_sensitivity(n + 1)
    assert (len(pair.d1), k) == (n + 1, 1 if buckets is None else 2)
    np.testing.assert_allclose(mechanism.answers(pair.d1) - mechanism.answers(pair.d0), step)
    drv10 = each * math.sqrt(2 * k * math.log(2 / delta)) + k * each * math.expm1(each)
    claim = mechanism.guarantee().epsilon(delta)
    assert claim <= epsilon_n + min(k * each, drv10)

    def shown(below):
        """The delta at the claim, where the noise on the entropies is for `below` less than the noisy n."""
        edges = n + np.linspace(-40.0, 40.0, 1601) / epsilon_n
        numbers = [laws.laplace(count, 1.0 / epsilon_n, edges) for count in (n, n + 1)]
        middles = np.concatenate([edges[:1], 0.5 * (edges[1:] + edges[:-1]), edges[-1:]])
        sides = [[], []]
        for i, middle in enumerate(middles):
            shift = each * step / entropy_sensitivity_at(max(2.0, middle - below))
            for side, moved in enumerate((0.0, shift)):
                one = laws.laplace(moved, 1.0, np.linspace(0.0, shift, 9))
                sides[side].append(numbers[side][i] * laws.joint(*[one] * k))
        return laws.shown(np.concatenate(sides[0]), np.concatenate(sides[1]), [claim])[0]

    assert shown(math.log(1 / delta) / epsilon_n) <= delta
    assert shown(0.0) > shown(math.log(1 / delta) / epsilon_n)


def test_noisy_numbers_of_records_and_their_entropies_have_their_law():
    mechanism = NoisyEntropies({"x": 2, "y": 2}, 20, epsilon_each=0.5, epsilon_n=0.5, delta=0.01)
    pair = mechanism.worst_case()
    mechanism.bind(pair)
    outputs = mechanism.release(pair.d0, 100_000, np.random.default_rng(7))
    n = outputs.values[:, 0]
    assert stats.kstest(n, stats.laplace(20, 2.0).cdf).pvalue > 1e-6
    limit = np.maximum(2.0, n - math.log(100) / 0.5)
    scales = np.array([entropy_sensitivity_at(one) for one in limit]) / 0.5
    for column in outputs.values[:, 1:].T:  # all entropies of equal records are 0
        assert stats.kstest(column / scales, stats.laplace.cdf).pvalue > 1e-6
    by_hand = stats.laplace(20, 2.0).logpdf(n) + sum(
        stats.laplace(0, scales).logpdf(c) for c in outputs.values[:, 1:].T
    )
    np.testing.assert_allclose(mechanism.log_density(outputs, pair.d0), by_hand)


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
    mechanism.bind(Neighbours(d0, d1, "replace_one"))
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
    network = markov_chain(4, same=0.8)
    records = network.sample(200_000, rng)
    mechanism = NoisyFamilyCounts(network.domain)
    counts = mechanism.answers(records)
    assert counts.sum() == 4 * len(records)
    for true, result in zip(network.tables, mechanism.network(counts).tables, strict=True):
        np.testing.assert_allclose(true, result, atol=0.01)
    negative = mechanism.network(np.full(len(counts), -3.0))
    assert all(np.all(table == 0.5) for table in negative.tables)


def test_a_generator_is_learned_from_disjoint_parts():
    rng = np.random.default_rng(4)
    data = markov_chain(4, same=0.9).sample(8000, rng)
    learned = learn_generator(data, markov_chain(4).domain, rng=rng, epsilon_entropy=1.0, epsilon_table=1.0)
    assert learned.structure.n_records == 2000
    assert len(learned.seeds) == 4000
    network = learned.network
    edges = {frozenset((x, p)) for x, of in zip(network.domain.names, network.parents, strict=True) for p in of}
    assert edges >= {frozenset((f"x{i}", f"x{i + 1}")) for i in (1, 2, 3)}
    mechanism = learned.release((2, 3), k=50, gamma=4.0, epsilon0=1.0)
    assert isinstance(mechanism, DeniableRelease)
    assert (mechanism.release(learned.seeds, 100, rng).values >= 0).any()
    assert all(one.relation is mechanism.relation for one in learned.guarantees())
    with pytest.raises(ParameterError, match="at least two records"):
        learn_generator(data[:4], markov_chain(4).domain, rng=rng)


def test_wrong_tables_are_refused():
    with pytest.raises(ParameterError, match="a public number"):
        NoisyEntropies(n_records=5).answers(np.zeros((4, 3), dtype=int))
    with pytest.raises(ParameterError, match="view"):
        NoisyEntropies(view="tables")
    assert BayesianNetwork({"a": 2}, ("a",), {}, {"a": [0.5, 0.5]}) != markov_chain(1, same=0.7)
