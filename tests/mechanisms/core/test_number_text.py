"""Numbers as text: one form each, that neither hides a difference nor states a number that is not there."""

import math

import pytest
from hypothesis import given, strategies as st

from dpassay.mechanisms.core.number_text import (
    SMALLEST_SHOWN,
    beside,
    chance,
    confidence_text,
    duration,
    fixed,
    in_units,
    number,
    p_value_text,
    percent,
    percent_below,
    points,
    typeset,
)

finite = st.floats(-1e307, 1e307)


@given(finite)
def test_a_number_is_read_back_to_its_digits(value):
    text = number(value, 4).replace(",", "")
    assert float(text) == pytest.approx(value, rel=6e-4, abs=0.0 if abs(value) >= 1 else 5e-324 * 1e6)


@given(finite, finite)
def test_texts_of_ordered_numbers_are_ordered(one, other):
    low, high = sorted((one, other))
    assert float(number(low).replace(",", "")) <= float(number(high).replace(",", ""))


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_different_numbers_beside_each_other_differ(value, limit):
    shown, shown_limit = (float(text.replace(",", "")) for text in beside(value, limit))
    if not math.isclose(value, limit, rel_tol=1e-9) and max(value, limit) < 1e4:
        assert (shown < shown_limit) == (value < limit)
        assert shown != shown_limit


@pytest.mark.parametrize("significance", [0.5, 0.3, 0.05, 0.025, 0.01, 1e-3, 1e-4, 1e-6, 5e-7, 6.1e-7, 1e-9])
def test_a_confidence_is_a_percentage_with_its_distance_from_one(significance):
    text = confidence_text(1.0 - significance)
    assert text.endswith(" %")
    from decimal import Decimal

    distance = (100 - Decimal(text.removesuffix(" %"))) / 100
    assert float(distance) == pytest.approx(significance, rel=5e-2, abs=2e-15)


def test_no_p_value_below_the_smallest_is_shown():
    assert p_value_text(0.0, 0.05) == p_value_text(1e-12, 0.05) == p_value_text(SMALLEST_SHOWN, 0.05) == "<= 1e-10"
    assert p_value_text(2e-10, 0.05) == "2e-10"


@given(st.floats(1e-9, 1.0), st.sampled_from([0.05, 0.01, 1e-6]))
def test_a_p_value_is_on_its_side_of_the_significance(p_value, significance):
    if math.isclose(p_value, significance, rel_tol=1e-9):
        return
    assert (float(p_value_text(p_value, significance)) < significance) == (p_value < significance)


def test_a_share_below_one_is_not_shown_as_all():
    assert percent_below(0.9999) == "99 %"
    assert percent_below(1.0) == "100 %"


def test_missing_and_infinite_numbers_have_one_form():
    assert number(None) == number(math.nan) == fixed(None) == fixed(math.nan) == percent(None) == "-"
    assert (number(math.inf), number(-math.inf)) == ("inf", "-inf")
    assert typeset("- inf -inf (inf)") == "– ∞ −∞ (∞)"


@pytest.mark.parametrize("text", ["a-b", "--out DIR", "information", "1e-5", "x - y".replace(" - ", "-"), "infinite"])
def test_typesetting_leaves_words_alone(text):
    assert typeset(text) == text


def test_texts_are_ascii_so_that_any_stream_takes_them():
    texts = [number(1e-9), fixed(-1.5), percent(0.123), points(-0.1, -0.2, 0.3), confidence_text(0.95), duration(90.0)]
    texts += [in_units(2.0**31), chance(1e-6), p_value_text(0.0, 0.05)]
    assert all(text.isascii() for text in texts)
