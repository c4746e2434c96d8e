"""Broken accountants: known values with and without the bug."""

import pytest
from tests.mechanisms.learning.dp_sgd.broken.broken_accountants import (
    epsilon_of_directions,
    odometer_reading,
    shuffled_epsilon_in_groups,
)

from dpassay.mechanisms.accounting import ClonesDP
from dpassay.mechanisms.accounting.composition.advanced import AdvancedComposition
from dpassay.mechanisms.core import ParameterError


@pytest.mark.parametrize(  # both by hand
    ("slack", "wrong", "right"), [(1e-6, 1414.7131, 5.7561), (0.1, 4.9717, 2.6455)]
)
def test_reading_has_its_known_value(slack, wrong, right):
    assert odometer_reading(0.1, 100, slack) == pytest.approx(wrong, abs=5e-5)
    assert odometer_reading(0.1, 100, slack, bug=False) == pytest.approx(right, abs=5e-5)


@pytest.mark.parametrize("epsilon", [0.01, 0.1])
@pytest.mark.parametrize("slack", [1e-9, 1e-5, 0.2])
def test_the_twin_is_advanced_composition_where_that_is_better_than_basic(epsilon, slack):
    known = AdvancedComposition((epsilon,) * 1000, (0.0,) * 1000, form="kov").epsilon(slack)
    assert known < 1000 * epsilon
    assert odometer_reading(epsilon, 1000, slack, bug=False) == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("times", [1, 30, 1000])
@pytest.mark.parametrize("slack", [1e-9, 1e-5, 0.2])
def test_bug_overstates_the_spent_budget(epsilon, times, slack):
    assert odometer_reading(epsilon, times, slack) > odometer_reading(epsilon, times, slack, bug=False)


def test_bug_removes_the_gain_of_many_small_uses():
    """Up to 2 / slack uses the reading is k epsilon; the twin gains a factor."""
    assert odometer_reading(0.1, 100, 1e-6, at_most_basic=True) == pytest.approx(10.0)
    assert odometer_reading(0.1, 100, 1e-6, bug=False, at_most_basic=True) < 6.0


def test_values_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="slack"):
        odometer_reading(0.1, 100, 0.0)


@pytest.mark.parametrize(  # the first is what the README of the released program prints
    ("bug", "epsilon"), [(True, 0.172790550755978), (False, 0.17541655)]
)
def test_values_of_the_released_program_are_reproduced(bug, epsilon):
    assert shuffled_epsilon_in_groups(4.0, 100_000, 1e-6, bug=bug) == pytest.approx(epsilon, abs=5e-9)


def test_shuffling_bound_holds_in_both_directions_only_without_the_bug():
    exact = ClonesDP(4.0, 100_000).epsilon(1e-6)
    assert exact == pytest.approx(0.16977, abs=5e-6)
    there, back = epsilon_of_directions(4.0, 100_000, 1e-6)
    assert back < exact - 0.002
    assert there > exact
    assert epsilon_of_directions(4.0, 100_000, 1e-6, bug=False) == (there, there)


@pytest.mark.parametrize(("local_epsilon", "n", "delta", "step"), [(2.0, 20_000, 1e-6, 500), (5.0, 10**6, 1e-8, 200)])
def test_violated_property_shows_at_other_parameters(local_epsilon, n, delta, step):
    exact = ClonesDP(local_epsilon, n).epsilon(delta)
    assert epsilon_of_directions(local_epsilon, n, delta, step=step)[1] < exact
    assert min(epsilon_of_directions(local_epsilon, n, delta, step=step, bug=False)) > exact


def test_groups_of_one_have_nearly_equal_end_points():
    """All but the first, which has two counts."""
    exact = ClonesDP(1.0, 2000).epsilon(1e-6)
    there, back = epsilon_of_directions(1.0, 2000, 1e-6, step=1)
    assert back < exact < there
    assert there - back < 1e-4 * exact
    result = {bug: shuffled_epsilon_in_groups(1.0, 2000, 1e-6, step=1, bug=bug) for bug in (True, False)}
    assert result[True] == result[False] > exact
