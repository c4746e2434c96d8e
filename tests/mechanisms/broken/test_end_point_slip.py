"""An accountant of shuffling that looks at one end twice: what it returns, and the direction that is no bound."""

import pytest

from dpassay.mechanisms.accounting import ClonesDP
from dpassay.mechanisms.broken.end_point_slip import epsilon_of_directions, shuffled_epsilon_in_groups


@pytest.mark.parametrize(  # the first is what the README of the released program prints
    ("slip", "epsilon"), [(True, 0.172790550755978), (False, 0.17541655)]
)
def test_what_the_released_program_returns_is_reproduced(slip, epsilon):
    assert shuffled_epsilon_in_groups(4.0, 100_000, 1e-6, slip=slip) == pytest.approx(epsilon, abs=5e-9)


def test_with_the_slip_one_direction_is_no_upper_bound_and_without_it_both_are():
    exact = ClonesDP(4.0, 100_000).epsilon(1e-6)
    assert exact == pytest.approx(0.16977, abs=5e-6)
    there, back = epsilon_of_directions(4.0, 100_000, 1e-6)
    assert back < exact - 0.002
    assert there > exact
    assert epsilon_of_directions(4.0, 100_000, 1e-6, slip=False) == (there, there)


@pytest.mark.parametrize(("local_epsilon", "n", "delta", "step"), [(2.0, 20_000, 1e-6, 500), (5.0, 10**6, 1e-8, 200)])
def test_the_lost_property_shows_elsewhere_too(local_epsilon, n, delta, step):
    exact = ClonesDP(local_epsilon, n).epsilon(delta)
    assert epsilon_of_directions(local_epsilon, n, delta, step=step)[1] < exact
    assert min(epsilon_of_directions(local_epsilon, n, delta, step=step, slip=False)) > exact


def test_groups_of_one_have_hardly_an_end_to_slip_on():
    """All but the first, which has two counts."""
    exact = ClonesDP(1.0, 2000).epsilon(1e-6)
    there, back = epsilon_of_directions(1.0, 2000, 1e-6, step=1)
    assert back < exact < there
    assert there - back < 1e-4 * exact
    found = {slip: shuffled_epsilon_in_groups(1.0, 2000, 1e-6, step=1, slip=slip) for slip in (True, False)}
    assert found[True] == found[False] > exact
