"""The definition, the theorem and the mechanism, against brute force over small generators."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms import claims_laws as laws
from tests.mechanisms.literature.synthetic_data.deniability.tabulated import TabulatedSeedGenerator

from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core import Neighbours, NeighboursError, ParameterError
from dpassay.mechanisms.literature.synthetic_data.deniability import (
    BayesianNetwork,
    DeniabilityDP,
    DeniableRelease,
    SeedBasedSynthesis,
    likelihood_buckets,
    markov_chain,
    n_plausible_seeds,
    plausibly_deniable,
)
from dpassay.mechanisms.literature.synthetic_data.deniability.broken import (
    DeterministicTest,
    NoPrivacyTest,
    NoReleaseSeen,
)
from dpassay.mechanisms.literature.synthetic_data.deniability.plausible_deniability import pass_log_probability
from dpassay.mechanisms.noise.queries.domain import Domain

FALSE_ALARM = 1e-6
EPSILONS = np.linspace(0.0, 4.0, 41)


# --- the definition ---------------------------------------------------------------------------------------------------


def deniable_by_subsets(p, seed, k, gamma):
    """Definition 1 as it stands: some k - 1 others, all ratios within gamma."""
    if p[seed] == 0:
        return False
    others = [i for i in range(len(p)) if i != seed and p[i] > 0]
    return any(max(p[[seed, *chosen]]) <= gamma * min(p[[seed, *chosen]]) for chosen in combinations(others, k - 1))


def test_deniability_is_what_all_subsets_of_records_say():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 7))
        p = rng.choice([0.0, 0.05, 0.1, 0.2, 0.3, 0.4], size=n)
        seed, gamma = int(rng.integers(n)), float(rng.choice([1.0, 1.5, 2.0, 4.0]))
        for k in range(1, n + 2):
            assert plausibly_deniable(p, seed, k=k, gamma=gamma) == deniable_by_subsets(p, seed, k, gamma)


def test_a_bucket_of_k_records_is_a_crowd_and_a_crowd_may_be_no_bucket():
    rng = np.random.default_rng(1)
    for _ in range(200):
        p, gamma = rng.random(8), float(rng.uniform(1.1, 4.0))
        of = likelihood_buckets(np.log(p), gamma)
        for seed in range(8):
            assert (of == of[seed]).sum() <= n_plausible_seeds(p, seed, gamma)
    p = np.array([0.45, 0.55])  # within a factor 2, on both sides of 1/2
    assert n_plausible_seeds(p, 0, 2.0) == 2
    assert likelihood_buckets(np.log(p), 2.0).tolist() == [1, 0]


def test_buckets_hold_what_their_ends_say():
    for gamma in (1.3, 2.0, 7.0):
        p = np.random.default_rng(2).random(1000)
        i = likelihood_buckets(np.log(p), gamma)
        assert np.all((gamma ** (-1.0 - i) < p) & (p <= gamma ** -i.astype(float)))
    assert likelihood_buckets(np.array([-np.inf]), 2.0).tolist() == [-1]


# --- the theorem ------------------------------------------------------------------------------------------------------


def test_theorem_has_its_known_numbers():
    """Derived from the formulas: k = 50, gamma = 4."""
    for epsilon0, t, epsilon, delta in (
        (1.0, 20, 1.18232, 9.36e-14),
        (1.0, 30, 1.12516, 2.06e-9),
        (1.0, 36, 1.10536, 8.32e-7),
        (1.0, 40, 1.09531, 4.54e-5),
        (0.5, 20, 0.68232, 3.06e-7),
    ):
        one = DeniabilityDP(50, 4.0, epsilon0).at(t)
        assert one.nominal_epsilon == pytest.approx(epsilon, abs=5e-6)
        assert one.nominal_delta == pytest.approx(delta, rel=5e-3)


def test_curve_is_the_best_of_all_statements():
    claim = DeniabilityDP(12, 3.0, 0.8)
    each = [claim.at(t) for t in range(1, 12)]
    deltas, rates = np.logspace(-8, -0.5, 30), np.linspace(0.0, 1.0, 21)
    np.testing.assert_allclose(claim.epsilon(deltas), np.min([one.epsilon(deltas) for one in each], axis=0))
    np.testing.assert_allclose(claim.delta(EPSILONS), np.min([one.delta(EPSILONS) for one in each], axis=0))
    np.testing.assert_allclose(claim.tradeoff(rates), np.max([one.tradeoff(rates) for one in each], axis=0), atol=1e-15)
    assert claim.delta(math.inf) == pytest.approx(math.exp(-0.8 * 11))


def random_release(rng, relation, kind=DeniableRelease):
    n_seeds, n_outputs = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    table = rng.dirichlet(np.full(n_outputs, rng.choice([0.3, 1.0, 5.0])), size=n_seeds)
    if rng.random() < 0.5:
        table *= rng.random(table.shape) < 0.6
        table[:, 0] += table.sum(axis=1) == 0
        table /= table.sum(axis=1, keepdims=True)
    gamma, epsilon0 = float(rng.choice([1.2, 2.0, 8.0])), float(rng.choice([0.2, 0.5, 1.0, 2.0]))
    return kind(
        TabulatedSeedGenerator(table), int(rng.integers(2, 9)), gamma=gamma, epsilon0=epsilon0, relation=relation
    )


def random_pair(rng, mechanism):
    n_seeds, n = len(mechanism.generator.table), mechanism.k + int(rng.integers(0, 9))
    d0 = rng.integers(n_seeds, size=n)
    if rng.random() < 0.5:
        d0[: int(rng.integers(n))] = 0
    d1 = np.append(d0[1:] if mechanism.relation.value == "replace_one" else d0, rng.integers(n_seeds))
    return d0, d1


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_no_law_of_a_tiny_generator_exceeds_the_theorem(relation):
    """All events of released records, of the published mechanism; and all events, where half is withheld."""
    rng = np.random.default_rng(3)
    for _ in range(150):
        mechanism = random_release(rng, relation)
        pair = random_pair(rng, mechanism)
        law0, law1 = (mechanism.law(d) for d in pair)
        claimed, k = mechanism.guarantee().delta(EPSILONS), mechanism.k
        gamma, epsilon0 = mechanism.gamma, mechanism.epsilon0
        stated = [
            (epsilon0 + math.log(1.0 + gamma / t), math.exp(-epsilon0 * (k - t))) for t in range(1, k)
        ]  # the theorem, for each t
        np.testing.assert_allclose(np.hstack(mechanism.guarantee().points), stated, rtol=1e-12)
        assert np.all(laws.shown(2.0 * law0[:-1], 2.0 * law1[:-1], EPSILONS) <= claimed + 1e-12)
        assert np.all(laws.shown(law0, law1, EPSILONS) <= claimed + 1e-12)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_theorem_does_not_cover_the_outcome_that_nothing_is_released(relation):
    """n records that pass and one that cannot: the probability of nothing goes from about 0 to 1 / (n + 1)."""
    mechanism = NoReleaseSeen(TabulatedSeedGenerator(np.eye(2)), 10, epsilon0=2.0, relation=relation)
    d0 = np.zeros(60, dtype=int)
    d1 = np.append(d0 if relation == "add_remove" else d0[1:], 1)
    law0, law1 = (mechanism.law(d) for d in (d0, d1))
    assert law0[-1] < 1e-40
    assert law1[-1] == pytest.approx(1.0 / len(d1), rel=1e-6)
    seen = laws.shown(law0, law1, EPSILONS)
    assert np.all(seen > 10 * mechanism.guarantee().delta(3.0))
    released = laws.shown(law0[:-1], law1[:-1], EPSILONS)
    assert np.all(released <= mechanism.guarantee().delta(EPSILONS))
    twin = mechanism.twin()
    assert np.all(laws.shown(*(twin.law(d) for d in (d0, d1)), EPSILONS) <= twin.guarantee().delta(EPSILONS))


def test_probability_of_passing_has_its_closed_form():
    excess = np.arange(-60.0, 61.0)
    for epsilon0 in (0.1, 1.0, 3.0):
        result = np.exp(pass_log_probability(excess, epsilon0))
        np.testing.assert_allclose(result, stats.laplace(scale=1 / epsilon0).cdf(excess), rtol=1e-12)
        above, below = 1 - np.exp(-epsilon0 * excess) / 2, np.exp(epsilon0 * np.minimum(excess, 0.0)) / 2
        np.testing.assert_allclose(result, np.where(excess >= 0, above, below), rtol=1e-12)


def test_released_records_compose():
    one = DeniableRelease(k=20, t=10)
    three = Repeated(one, 3, accounting="basic")
    epsilon, delta = one.guarantee().nominal_epsilon, one.guarantee().nominal_delta
    assert three.guarantee().nominal_epsilon == pytest.approx(3 * epsilon)
    assert three.guarantee().nominal_delta == pytest.approx(3 * delta)
    assert Repeated(one, 3).guarantee().epsilon(3 * delta) < 3 * epsilon
    pair = one.worst_case()
    of_two = [laws.joint(*[one.law(d)] * 2) for d in (pair.d0, pair.d1)]
    assert np.all(laws.shown(*of_two, EPSILONS) <= Repeated(one, 2).guarantee().delta(EPSILONS))
    assert three.release(pair.d1, 4, np.random.default_rng(0)).values.shape == (4, 3)


# --- the mechanism ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DeniableRelease, DeterministicTest, NoPrivacyTest, NoReleaseSeen])
def test_releases_follow_their_law(kind):
    rng = np.random.default_rng(4)
    for _ in range(3):
        mechanism = kind(SeedBasedSynthesis(markov_chain(4), (1, 3, 4)), 6, gamma=3.0, epsilon0=0.5)
        data = rng.integers(2, size=(14, 4)) * rng.integers(2, size=(14, 1))
        law, size = mechanism.law(data), 40_000
        seen = np.bincount(mechanism.release(data, size, rng).values % 17, minlength=17)  # -1 is the last
        assert seen[law == 0.0].sum() == 0
        expected, seen = size * law[law > 0], seen[law > 0]
        common = expected > 5
        table = np.append(seen[common], seen[~common].sum()), np.append(expected[common], expected[~common].sum())
        statistic = ((table[0] - table[1]) ** 2 / np.maximum(table[1], 1e-9))[table[1] > 0].sum()
        assert stats.chi2.sf(statistic, (table[1] > 0).sum() - 1) > FALSE_ALARM


def mixed_network(rng):
    """Attributes of several sizes, in an order that is not that of the domain, with up to two parents."""
    domain = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
    order, parents = ("c", "a", "d", "b"), {"a": ("c",), "d": ("a", "c"), "b": ("d",)}
    shapes = {
        name: (math.prod(domain.project(parents.get(name, ("b",))).shape) if name in parents else 1) for name in order
    }
    tables = {name: rng.dirichlet(np.ones(domain.shape[domain.index(name)]), size=shapes[name]) for name in order}
    return BayesianNetwork(domain, order, parents, tables)


def test_probabilities_and_counts_are_those_of_a_loop_over_records():
    rng = np.random.default_rng(5)
    network = mixed_network(rng)
    domain, resampled = network.domain, (1, 3)
    generator = SeedBasedSynthesis(network, resampled)
    records = np.column_stack([rng.integers(n, size=60) for n in domain.shape])
    cells, outputs = domain.cells(records), rng.integers(domain.n_cells, size=40)
    counts, log_levels = generator.counts(outputs, cells), generator.log_levels(outputs)
    for i, y in enumerate(domain.records_in(outputs)):
        expected = []
        for d in records:
            p = 0.0
            for omega in resampled:
                kept = network.places[: 4 - omega]
                if all(y[j] == d[j] for j in kept):
                    drawn = [j for j in network.places if j not in kept]
                    rows = [network.rows(y[None], j)[0] for j in drawn]
                    p += math.prod(network.tables[j][r, y[j]] for j, r in zip(drawn, rows, strict=True)) / 2
            expected.append(p)
        repeated = np.full(len(cells), outputs[i])
        np.testing.assert_allclose(np.exp(generator.log_probabilities(repeated, cells)), expected, rtol=1e-12)
        for level, count in enumerate(counts[i]):
            at = np.isclose(expected, np.exp(log_levels[i, level]), rtol=1e-9).sum()
            assert count == at


def test_outputs_have_their_probabilities_and_their_invariants():
    rng = np.random.default_rng(6)
    network = mixed_network(rng)
    generator, size = SeedBasedSynthesis(network, (2,)), 50_000
    seed = network.domain.cells(np.array([2, 1, 3, 0]))
    drawn = generator.draw(np.full(size, seed), rng)
    records = network.domain.records_in(drawn)
    assert np.all(records[:, [2, 0]] == [3, 2])  # the first two of the order
    outputs = np.arange(generator.n_outputs)
    p = np.exp(generator.log_probabilities(outputs, np.full(len(outputs), seed)))
    assert p.sum() == pytest.approx(1.0)
    seen = np.bincount(drawn, minlength=len(p))[p > 0]
    assert stats.chisquare(seen, size * p[p > 0]).pvalue > FALSE_ALARM


def test_a_large_table_of_a_large_domain_takes_many_runs_at_once():
    """2^40 cells: a table of outputs by records, or by cells, would not fit."""
    rng = np.random.default_rng(7)
    network = BayesianNetwork(
        Domain({f"x{i}": 16 for i in range(10)}),
        order=[f"x{i}" for i in range(10)],
        parents={},
        tables={f"x{i}": np.full(16, 1 / 16) for i in range(10)},
    )
    data = np.minimum(rng.geometric(0.5, size=(20_000, 10)) - 1, 15)
    mechanism = DeniableRelease(SeedBasedSynthesis(network, (6, 7, 8)), 50)
    outputs = mechanism.release(data, 20_000, rng).values
    assert 0.05 < (outputs >= 0).mean() < 0.5
    assert mechanism.output_law() is None
    assert mechanism.exact_guarantee() is None
    cells, some = mechanism.generator.cells(data), np.unique(outputs[outputs >= 0])[:50]
    assert np.isfinite(mechanism.log_released(some, cells)).all()


def test_small_datasets_and_wrong_options_are_refused():
    mechanism = DeniableRelease(k=5)
    few = np.zeros((4, 4), dtype=int)
    with pytest.raises(NeighboursError, match="at least k = 5 records"):
        mechanism.bind(Neighbours(few, few[1:], "add_remove"))
    with pytest.raises(ParameterError, match="is empty"):
        mechanism.release(few[:0], 1, np.random.default_rng(0))
    for options, name in (
        ({"k": 1}, "k"),
        ({"gamma": 1.0}, "gamma"),
        ({"epsilon0": 0.0}, "epsilon0"),
        ({"generator": 3}, "generator"),
    ):
        with pytest.raises(ParameterError) as error:
            DeniableRelease(**options)
        assert error.value.argument == name
    for resampled in ((), (5,), (1, 1), (-1,)):
        with pytest.raises(ParameterError, match="resampled"):
            SeedBasedSynthesis(markov_chain(4), resampled)
    with pytest.raises(ParameterError, match="come before it"):
        BayesianNetwork({"a": 2, "b": 2}, ("a", "b"), {"a": ("b",)}, {"a": np.full((2, 2), 0.5), "b": [0.5, 0.5]})
    with pytest.raises(ParameterError, match="must have 1 x 2 numbers"):
        BayesianNetwork({"a": 2}, ("a",), {}, {"a": [1.0]})
    with pytest.raises(ParameterError, match="distribution"):
        BayesianNetwork({"a": 2}, ("a",), {}, {"a": [0.7, 0.7]})
