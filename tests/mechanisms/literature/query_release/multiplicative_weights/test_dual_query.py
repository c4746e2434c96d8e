"""DualQuery: its constant by enumeration, its draws, its solvers, accuracy."""

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting import BoundedRange, compose, to_concentrated
from dpassay.mechanisms.core import Neighbours, Outputs, ParameterError
from dpassay.mechanisms.literature.query_release.multiplicative_weights import DualQuery
from dpassay.mechanisms.literature.query_release.multiplicative_weights.dual_query import (
    ExhaustiveSolver,
    IntegerProgrammeSolver,
    _satisfied_queries,
)
from dpassay.mechanisms.noise.queries import Marginals

FALSE_ALARM = 1e-6
ONE_BIT = Marginals({"a": 2}, 1)
SIX_BITS = Marginals(dict.fromkeys("abcdef", 2), 2)


@pytest.mark.parametrize(("rounds", "samples"), [(2, 1), (2, 3), (3, 1), (3, 2), (4, 1)])
def test_epsilon_is_approached_and_never_passed(rounds, samples):
    """eta T (T - 1) s / n over all draws of a tiny instance: rare ones come within a thousandth of it."""
    mechanism = DualQuery(ONE_BIT, 20, epsilon=2.0, rounds=rounds, samples=samples)
    assert mechanism.eta * rounds * (rounds - 1) * samples / 20 == pytest.approx(2.0)
    for ones in (0, 7, 19):
        pair = Neighbours(np.arange(20)[:, None] < ones, np.arange(20)[:, None] < ones + 1, "replace_one")
        assert mechanism.curve(pair).epsilon(0.0) <= 2.0 * (1 + 1e-12)
    assert mechanism.exact_guarantee().epsilon(0.0) > 0.999 * 2.0


def test_rho_is_that_of_all_draws():
    mechanism = DualQuery(SIX_BITS, 50, epsilon=1.0, delta=1e-3, rounds=5, samples=3)
    draws = [BoundedRange(2 * mechanism.eta * t / 50) for t in range(1, 5) for _ in range(3)]
    total = compose([to_concentrated(one) for one in draws])
    assert mechanism.guarantee().rho == pytest.approx(total.rho)
    assert 1.0 - 1e-9 <= mechanism.guarantee().epsilon(1e-3) <= 1.0


@pytest.mark.parametrize(("rounds", "samples", "delta"), [(2, 1, 1e-2), (2, 3, 0.1), (3, 2, 1e-3), (4, 1, 1e-6)])
def test_no_pair_exceeds_the_whole_budget(rounds, samples, delta):
    """The claim reaches epsilon at delta, and bounds the curves by enumeration of all draws at every epsilon."""
    mechanism = DualQuery(ONE_BIT, 20, epsilon=1.0, delta=delta, rounds=rounds, samples=samples)
    claim, epsilons = mechanism.guarantee(), np.linspace(0.0, 3.0, 30)
    assert claim.epsilon(delta) == pytest.approx(1.0, rel=1e-9)
    for ones in (0, 7, 19):
        pair = Neighbours(np.arange(20)[:, None] < ones, np.arange(20)[:, None] < ones + 1, "replace_one")
        assert (mechanism.curve(pair).delta(epsilons) <= claim.delta(epsilons) + 1e-12).all()


def test_draws_have_their_probability():
    mechanism = DualQuery(ONE_BIT, 4, epsilon=2.0, rounds=2, samples=1)
    data = np.array([[0], [0], [1], [0]])
    drawn = mechanism.release(data, 40_000, np.random.default_rng(1)).values
    every = mechanism._transcripts
    p = np.exp(mechanism.log_density(Outputs(every), data))
    code = lambda rows: rows[:, 0, 0] * 4 + rows[:, 1, 0]  # noqa: E731
    counts = np.bincount(code(drawn), minlength=16)
    assert stats.chisquare(counts[code(every)], 40_000 * p).pvalue > FALSE_ALARM


def test_records_are_the_solutions_for_the_draws():
    data = np.random.default_rng(2).integers(0, 2, (30, 6))
    mechanism = DualQuery(SIX_BITS, 30, epsilon=5.0, rounds=4, samples=5)
    transcript = mechanism.release(data, 20, np.random.default_rng(3)).values
    table = DualQuery(SIX_BITS, 30, epsilon=5.0, rounds=4, samples=5, view="table")
    records = table.release(data, 20, np.random.default_rng(3)).values
    assert records.shape == (20, 4, 6)
    np.testing.assert_array_equal(SIX_BITS.domain.cells(records), transcript[:, :, -1])
    again = ExhaustiveSolver(SIX_BITS)(transcript[:, :, :-1].reshape(80, 5))
    np.testing.assert_array_equal(again.reshape(records.shape), records)


def test_integer_programme_is_optimal():
    drawn = np.random.default_rng(4).integers(0, 2 * SIX_BITS.n_answers, (12, 9))
    every = SIX_BITS.domain.records_in(np.arange(64))
    programme = IntegerProgrammeSolver(SIX_BITS)
    best = [programme.score(np.repeat(row[None], 64, axis=0), every).max() for row in drawn]
    np.testing.assert_array_equal(programme.score(drawn, programme(drawn)), best)
    np.testing.assert_array_equal(programme.score(drawn, ExhaustiveSolver(SIX_BITS)(drawn)), best)
    answers = np.hstack([_satisfied_queries(SIX_BITS, every), 1 - _satisfied_queries(SIX_BITS, every)])
    counted = [answers[:, row].sum(axis=1).max() - (row >= SIX_BITS.n_answers).sum() for row in drawn]
    np.testing.assert_array_equal(best, counted)


@pytest.mark.parametrize("solver", ["highs", "all-records"])
def test_table_answers_better_with_a_larger_budget(solver):
    data = np.random.default_rng(5).integers(0, 2, (2_000, 6))
    data[:, 1] = data[:, 0]
    size, errors = (1 if solver == "highs" else 20), []
    for epsilon in (0.05, 20.0):
        mechanism = DualQuery(SIX_BITS, 2_000, epsilon=epsilon, rounds=40, samples=10, solver=solver, view="table")
        tables = mechanism.release(data, size, np.random.default_rng(6)).values
        errors.append(np.mean([np.abs(SIX_BITS(t) / 40 - SIX_BITS(data) / 2_000).max() for t in tables]))
    assert errors[1] < min(0.2, 0.75 * errors[0])


def test_unknown_queries_have_probability_zero():
    mechanism = DualQuery(ONE_BIT, 1, epsilon=1.0, rounds=2, samples=1)
    values = np.array([[[0, 0], [3, 1]], [[4, 0], [0, 1]], [[0, 0], [-1, 0]], [[0, 2], [0, 0]]])
    log_probabilities = mechanism.log_density(Outputs(values), np.array([[0]]))
    assert np.isneginf(log_probabilities).tolist() == [False, True, True, True]


def test_attributes_of_three_values_are_refused():
    with pytest.raises(ParameterError, match="marginals must be Marginals of attributes with two values"):
        DualQuery(Marginals({"a": 3}, 1), 4, epsilon=1.0)
