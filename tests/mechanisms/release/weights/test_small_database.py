"""The small-database mechanism: its range, its law, its bounds."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.base import Outputs
from dpassay.mechanisms.errors import ParameterError
from dpassay.mechanisms.queries import Workload
from dpassay.mechanisms.release.weights import SmallDatabase
from dpassay.mechanisms.release.weights.small_database import excess_bound, number_of_databases, rows_needed

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
    assert len(TINY.databases) == number_of_databases(4, 3) == 20


def test_databases_are_drawn_with_their_probability():
    drawn = TINY.release(AGES, 20_000, np.random.default_rng(1)).values
    places = [int(np.flatnonzero((TINY.databases == row).all(axis=1))[0]) for row in np.unique(drawn, axis=0)]
    counts = np.zeros(20)
    counts[places] = np.unique(drawn, axis=0, return_counts=True)[1]
    p = np.exp(TINY.log_probabilities(AGES))
    assert stats.chisquare(counts, 20_000 * p).pvalue > FALSE_ALARM


def test_log_density_finds_each_database_and_nothing_else():
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
    assert mechanism.errors(AGES).min() <= alpha


def test_range_that_is_too_large_is_refused_with_its_size():
    with pytest.raises(ParameterError, match="all databases of"):
        SmallDatabase(Workload.identity({"x": 64}), 10, epsilon=1.0, n_rows=12)
