"""The least parameter at which something is shown: the answer of a plain search, in fewer looks."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpassay.audit.power.minimum_detectable import minimum_detectable


def plain(shown, claimed, largest, precision):
    """Steps upwards until something is shown, then halves: as it was without margins."""
    low, high, step = claimed, max(1.05 * claimed, 0.05), 1.1
    while not shown(high):
        if high >= largest:
            return None
        low, high, step = high, min(high * step, largest), step * step
    while high - low > max(precision * high, 0.01 * (high - claimed)):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def searched(margin, root, *, claimed=1.0, largest=50.0, slope=1.0):
    """The answer of `minimum_detectable`, and where it looked."""
    looks = []

    def look(at):
        looks.append(at)
        return at >= root, margin(at)

    return minimum_detectable(look, claimed, largest, 1e-3, slope), looks


@given(
    st.floats(0.01, 5.0),
    st.floats(0.9, 60.0),
    st.sampled_from([0.3, 1.0, 3.0, math.nan]),
    st.sampled_from([0.0, 0.01, 0.3, 5.0, math.nan, math.inf]),
)
def test_answer_is_that_of_a_plain_search_whatever_the_margins_say(claimed, ratio, slope, error):
    root = ratio * claimed
    least, looks = searched(lambda at: at - root + error * math.sin(1000.0 * at), root, claimed=claimed, slope=slope)
    assert least == plain(lambda at: at >= root, claimed, 50.0, 1e-3)
    assert len(looks) == len(set(looks))


@pytest.mark.parametrize("bend", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("root", [1.01, 1.07, 1.3, 1.9, 4.0])
def test_margins_save_most_of_the_looks(root, bend):
    _, steered = searched(lambda at: bend * (at - root), root)
    _, plainly = searched(lambda at: math.nan, root, slope=math.nan)
    assert len(steered) <= 6
    assert len(plainly) >= len(steered)
    _, in_steps = searched(lambda at: np.round(at - root, 2), root)  # counts are whole numbers
    assert len(in_steps) <= 10


def test_nothing_shown_so_far_up_is_none():
    assert searched(lambda at: -1.0, math.inf, largest=3.0)[0] is None


@pytest.mark.parametrize("claimed", [0.0, 5e-324, 1e-200])
def test_the_search_ends_at_the_smallest_numbers(claimed):
    assert searched(lambda at: at - 0.2, 0.2, claimed=claimed)[0] == pytest.approx(0.2, rel=1e-3)
    assert searched(lambda at: 1.0, claimed, claimed=claimed)[0] <= 1e-12
