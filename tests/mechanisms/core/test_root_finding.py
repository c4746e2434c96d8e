"""Bisections return ends of brackets: a bound takes the end at which its condition is known."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpassay.mechanisms.core import bisect, bisect_all, geometric, integer, least_satisfying
from dpassay.mechanisms.core.root_finding import least_integers, least_integers_near

BRACKETS = st.lists(st.integers(-60, 60), min_size=1, max_size=20)
"""The least number at which a condition holds, in brackets from -61 to 61."""


@given(root=st.floats(1e-3, 1.0), steps=st.integers(0, 80), middle=st.sampled_from([None, geometric]))
def test_condition_fails_at_the_lower_end_and_holds_at_the_upper(root, steps, middle):
    options = {} if middle is None else {"middle": middle}
    low, high = bisect(lambda x: x >= root, 1e-4, 2.0, steps=steps, **options)
    assert low < root <= high
    assert steps < 80 or np.nextafter(low, 2.0) == high


@given(roots=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=20), steps=st.integers(0, 60))
def test_many_brackets_are_those_of_one_at_a_time(roots, steps):
    at = np.array(roots)
    low, high = bisect_all(lambda x: x >= at, np.zeros(len(at)), np.full(len(at), 2.0), steps=steps)
    assert (low < at).all()
    assert (at <= high).all()
    assert list(zip(low, high, strict=True)) == [bisect(lambda x, r=r: x >= r, 0.0, 2.0, steps=steps) for r in roots]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@given(roots=BRACKETS, guesses=st.lists(st.integers(-60, 60), min_size=20, max_size=20))
def test_least_whole_numbers_are_found_from_any_guess(kind, roots, guesses):
    at = np.array(roots, dtype=kind)
    low, high, guess = np.full_like(at, -61), np.full_like(at, 61), np.array(guesses[: len(at)], dtype=kind)
    assert least_integers(lambda n: n >= at, low, high).tolist() == roots
    assert least_integers_near(lambda some, n: n >= at[some], low, high, guess).tolist() == roots
    assert [bisect(lambda n, r=r: n >= r, -61, 61, middle=integer)[1] for r in roots] == roots


def test_closed_brackets_are_left_as_they_are():
    holds = np.array([True, False])
    assert least_integers(lambda n: holds | (n >= 5), np.array([3, 0]), np.array([4, 9])).tolist() == [4, 5]


def test_least_point_of_a_flat_function_is_its_first():
    """A solver of equations could return any zero of a flat function: a larger epsilon than the least one."""
    excess = np.array([2.0, 0.0, np.inf])
    found = least_satisfying(lambda x: np.maximum(excess - x, 0.0) <= 0.0, (3,))
    assert found.tolist() == [2.0, 0.0, np.inf]
