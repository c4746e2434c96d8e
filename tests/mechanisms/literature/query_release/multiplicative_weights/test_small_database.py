"""The small-database mechanism: its range, its law, its bounds."""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax

from dpassay.audit import audit
from dpassay.mechanisms.core import Neighbours, Outputs, ParameterError
from dpassay.mechanisms.literature.query_release.multiplicative_weights import SmallDatabase
from dpassay.mechanisms.literature.query_release.multiplicative_weights.small_database import (
    _number_of_databases,
    excess_bound,
    rows_needed,
)
from dpassay.mechanisms.noise.queries import Workload

FALSE_ALARM = 1e-6
TINY = SmallDatabase(Workload.prefixes({"age": 4}), n_records=10, epsilon=2.0, n_rows=3)
AGES = np.array([0, 1, 1, 1, 2, 2, 2, 2, 3, 3])


def test_excess_bound_has_its_known_value():
    assert rows_needed(1000, 0.1) == pytest.approx(996.58, abs=5e-3)
    known = excess_bound(1000, 0.1, n_cells=2**10, n_records=10**6, epsilon=1.0, failure=0.05)
    assert known == pytest.approx(0.0138215, abs=5e-8)


def test_databases_are_all_histograms_of_so_many_rows():
    rows = {tuple(np.bincount(way, minlength=4)) for way in product(range(4), repeat=3)}
    assert {tuple(row) for row in TINY.databases.tolist()} == {tuple(map(int, row)) for row in rows}
    assert len(TINY.databases) == _number_of_databases(4, 3) == 20


def test_databases_are_drawn_with_their_probability():
    drawn = TINY.release(AGES, 20_000, np.random.default_rng(1)).values
    places = [int(np.flatnonzero((TINY.databases == row).all(axis=1))[0]) for row in np.unique(drawn, axis=0)]
    counts = np.zeros(20)
    counts[places] = np.unique(drawn, axis=0, return_counts=True)[1]
    p = np.exp(TINY.log_probabilities(AGES))
    assert stats.chisquare(counts, 20_000 * p).pvalue > FALSE_ALARM


def test_log_density_is_finite_on_exactly_the_databases():
    np.testing.assert_allclose(TINY.log_density(Outputs(TINY.databases), AGES), TINY.log_probabilities(AGES))
    strange = np.array([[3.5, 0, 0, -0.5], [4, 0, 0, -1], [1, 0, 0, 0], [4, 0, 0, 0], [0.5, 0.5, 1, 1]])
    assert np.isneginf(TINY.log_density(Outputs(strange), AGES)).all()


def test_error_exceeds_the_best_one_by_no_more_than_the_bound_says():
    p, errors = np.exp(TINY.log_probabilities(AGES)), TINY.errors(AGES)
    for confidence in (0.5, 0.9, 0.99):
        beyond = p[errors > errors.min() + TINY.excess(confidence)].sum()
        assert beyond <= 1 - confidence


@pytest.mark.parametrize("n_queries", [2, 3, 8])
def test_some_database_of_the_rows_needed_answers_within_alpha(n_queries):
    alpha = 0.5
    mechanism = SmallDatabase(
        Workload.random({"x": 4}, n_queries, seed=n_queries),
        10,
        epsilon=1.0,
        n_rows=math.ceil(rows_needed(n_queries, alpha)),
    )
    errors = mechanism.errors(AGES)
    assert errors.min() <= alpha
    np.testing.assert_allclose(errors, np.abs(mechanism._means - mechanism.answers(AGES) / 10).max(axis=1))
    assert rows_needed(n_queries, alpha) == pytest.approx(4.0 * math.log(n_queries) / math.log(2.0))
    assert rows_needed(n_queries, alpha / 3.0) == pytest.approx(9.0 * rows_needed(n_queries, alpha))
    exponents = mechanism.log_probabilities(AGES)  # exp(-epsilon n error / 2): the error changes by 1/n
    np.testing.assert_allclose(exponents - exponents[0], -0.5 * 10 * (errors - errors[0]), atol=1e-12)


@dataclass(frozen=True)
class ThreeTimesTheRate(SmallDatabase):
    def log_probabilities(self, dataset):
        return log_softmax(3.0 * super().log_probabilities(dataset))

    def worst_case(self):
        return SmallDatabase(self.workload, self.n_records, epsilon=self.epsilon, n_rows=self.n_rows).worst_case()


@pytest.mark.parametrize(("n_records", "n_rows"), [(20, 2), (20, 4), (60, 2), (200, 3), (200, 4), (1000, 2)])
def test_audit_on_the_worst_case_detects_three_times_the_rate(n_records, n_rows, without_power):
    workload = Workload.prefixes({"age": 4})
    mechanism = SmallDatabase(workload, n_records, epsilon=1.0, n_rows=n_rows)
    mechanism.bind(mechanism.worst_case())
    wrong = audit(ThreeTimesTheRate(workload, n_records, epsilon=1.0, n_rows=n_rows), trials=10_000, seed=0)
    assert wrong.verdict == "violation"
    assert audit(mechanism, trials=10_000, seed=0).verdict == "consistent"


@pytest.mark.parametrize("n_records", [20, 60, 200, 1000])
def test_worst_case_for_all_rates_costs_little_at_the_rate_of_the_claim(n_records):
    """0.7036 is the most that any split of the other records between two cells shows, by a search over all of them."""
    mechanism = SmallDatabase(Workload.prefixes({"age": 4}), n_records, epsilon=1.0, n_rows=3)
    assert mechanism.exact_guarantee().epsilon(0.03) > 0.9 * 0.7036


WORKLOADS = {
    "prefixes of 3": Workload.prefixes({"age": 3}),
    "prefixes of 4": Workload.prefixes({"age": 4}),
    "random": Workload.random({"x": 5}, 6, seed=1),
}


@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "zero_out"])
@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_worst_case_shows_larger_rates_at_every_size_and_parity(workload, relation, epsilon):
    """Also where the database of the smallest error is unique for nearly all splits: large sizes, large epsilons."""
    for n_records, n_rows in product((3, 20, 61, 1000), (1, 2, 3, 4)):
        mechanism = SmallDatabase(workload, n_records, epsilon=epsilon, n_rows=n_rows, relation=relation)
        pair = mechanism.worst_case()
        assert not np.array_equal(pair.d0, pair.d1)
        for factor in (3.0, 6.0):
            faster = SmallDatabase(workload, n_records, epsilon=factor * epsilon, n_rows=n_rows, relation=relation)
            assert faster.curve(pair).epsilon(0.02 * min(1.0, epsilon)) > 1.2 * epsilon


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(("n_records", "n_rows"), [(1, 2), (2, 5), (7, 1), (8, 4)])
def test_worst_case_is_nearly_as_good_as_the_best_of_all_pairs(n_records, n_rows, relation):
    for workload in (Workload.prefixes({"age": 3}), Workload.identity({"a": 2, "b": 2})):
        mechanism = SmallDatabase(workload, n_records, epsilon=1.0, n_rows=n_rows, relation=relation)
        n_cells = workload.domain.n_cells
        others = SmallDatabase(workload, 1, epsilon=1.0, n_rows=max(1, n_records - 1)).databases
        others = others if n_records > 1 else np.zeros((1, n_cells), dtype=int)
        first = [-1] if relation == "add_remove" else range(n_cells)
        pairs = [[cell0, cell1, *row] for cell0, cell1 in product(first, range(n_cells)) for row in others]
        every = mechanism._shares(np.array([pair for pair in pairs if pair[0] != pair[1]]))
        chosen = mechanism.worst_case()
        sides = [np.bincount(workload.domain.cells(side), minlength=n_cells) for side in (chosen.d0, chosen.d1)]
        (cell1,) = np.flatnonzero(sides[1] > sides[0])
        cell0 = -1 if relation == "add_remove" else np.flatnonzero(sides[0] > sides[1])[0]
        common = np.minimum(*sides)
        assert mechanism._shares(np.array([[cell0, cell1, *common]]))[0] > 0.9 * every.max()


@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "zero_out"])
def test_no_random_pair_has_a_much_larger_epsilon_than_the_worst_case(relation):
    mechanism, rng = (
        SmallDatabase(Workload.prefixes({"age": 4}), 200, epsilon=1.0, relation=relation),
        np.random.default_rng(0),
    )
    largest = 0.0
    for _ in range(150):
        others = rng.choice(4, size=199, p=rng.dirichlet(np.full(4, 0.5)))
        first, second = rng.permutation(4)[:2]
        first = 0 if relation == "zero_out" else first
        side0 = others if relation == "add_remove" else np.append(others, first)
        pair = Neighbours(side0[:, None], np.append(others, second)[:, None], relation)
        largest = max(largest, mechanism.curve(pair).epsilon(0.03))
    assert mechanism.exact_guarantee().epsilon(0.03) > largest - 0.02


def test_epsilon_at_delta_zero_is_that_of_databases_too_rare_for_floats():
    mechanism = SmallDatabase(Workload.prefixes({"age": 4}), 2000, epsilon=3.0)
    pair = Neighbours(np.zeros((2000, 1), dtype=int), np.append([3], np.zeros(1999, dtype=int))[:, None], "replace_one")
    log_p0, log_p1 = (mechanism.log_probabilities(side) for side in (pair.d0, pair.d1))
    assert min(log_p0.min(), log_p1.min()) < -1000.0
    assert mechanism.curve(pair).epsilon(0.0) == pytest.approx(np.abs(log_p1 - log_p0).max(), rel=1e-9)
    assert 2.9 < mechanism.curve(pair).epsilon(0.0) <= 3.0 + 1e-9
    assert mechanism.curve(pair).epsilon(1e-3) < 0.1


def test_one_record_has_a_worst_case_under_every_relation():
    for relation in ("add_remove", "replace_one", "zero_out"):
        mechanism = SmallDatabase(Workload.prefixes({"age": 4}), 1, epsilon=1.0, relation=relation)
        mechanism.bind(mechanism.worst_case())


def test_range_that_is_too_large_is_refused_with_its_size():
    with pytest.raises(ParameterError, match="all databases of"):
        SmallDatabase(Workload.identity({"x": 64}), 10, epsilon=1.0, n_rows=12)
