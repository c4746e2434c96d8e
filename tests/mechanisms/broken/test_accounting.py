"""An odometer without its logarithm: what it reads, and what the twin reads."""

import pytest

from dpassay.mechanisms.accounting.composition.advanced import AdvancedComposition
from dpassay.mechanisms.broken.accounting import odometer_reading
from dpassay.mechanisms.core.errors import ParameterError


@pytest.mark.parametrize(  # both by hand
    ("slack", "wrong", "right"), [(1e-6, 1414.7131, 5.7561), (0.1, 4.9717, 2.6455)]
)
def test_reading_has_its_known_value(slack, wrong, right):
    assert odometer_reading(0.1, 100, slack) == pytest.approx(wrong, abs=5e-5)
    assert odometer_reading(0.1, 100, slack, slip=False) == pytest.approx(right, abs=5e-5)


@pytest.mark.parametrize("epsilon", [0.01, 0.1])
@pytest.mark.parametrize("slack", [1e-9, 1e-5, 0.2])
def test_the_twin_is_advanced_composition_where_that_is_better_than_basic(epsilon, slack):
    known = AdvancedComposition((epsilon,) * 1000, (0.0,) * 1000, form="kov").epsilon(slack)
    assert known < 1000 * epsilon
    assert odometer_reading(epsilon, 1000, slack, slip=False) == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("times", [1, 30, 1000])
@pytest.mark.parametrize("slack", [1e-9, 1e-5, 0.2])
def test_the_slip_overstates_what_is_spent(epsilon, times, slack):
    assert odometer_reading(epsilon, times, slack) > odometer_reading(epsilon, times, slack, slip=False)


def test_with_the_slip_many_small_uses_never_pay():
    """Up to 2 / slack uses the reading is k epsilon; the twin gains a factor."""
    assert odometer_reading(0.1, 100, 1e-6, at_most_basic=True) == pytest.approx(10.0)
    assert odometer_reading(0.1, 100, 1e-6, slip=False, at_most_basic=True) < 6.0


def test_values_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="slack"):
        odometer_reading(0.1, 100, 0.0)
