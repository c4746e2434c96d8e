"""Patterns of answers: found among many runs, told from impossible ones, counted."""

from math import comb

import numpy as np
import pytest

from dpassay.mechanisms.selection.sparse_vector.answers import all_patterns, distinct, possible


@pytest.mark.parametrize("n_queries", [1, 5, 12, 40, 100])
def test_distinct_rows_rebuild_the_runs(n_queries):
    answers = np.random.default_rng(0).integers(-1, 2, size=(300, n_queries)).astype(np.int8)
    patterns, place = distinct(answers)
    np.testing.assert_array_equal(patterns[place], answers)
    assert len(patterns) == len(np.unique(answers, axis=0))


def test_no_runs_have_no_patterns():
    patterns, place = distinct(np.empty((0, 4), dtype=np.int8))
    assert len(patterns) == len(place) == 0


@pytest.mark.parametrize("stop_after", [1, 2, 9])
def test_all_patterns_are_possible_distinct_and_as_many_as_there_must_be(stop_after):
    patterns = all_patterns(5, stop_after, 1000)
    assert len(patterns) == len(np.unique(patterns, axis=0)) == sum(comb(5, n) for n in range(min(stop_after, 5) + 1))
    assert possible(patterns, stop_after).all()


def test_patterns_that_go_on_or_stop_too_early_are_impossible():
    wrong = np.array([[1, 0, 0], [0, -1, -1], [1, 1, -1], [-1, 0, 1]], dtype=np.int8)
    assert not possible(wrong, 1).any()


def test_too_many_patterns_are_not_listed():
    assert all_patterns(40, 40, 1000) is None
