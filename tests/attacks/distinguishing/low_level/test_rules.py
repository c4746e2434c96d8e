"""Rules see how a number is written: its last bit, its last decimal, how coordinates stand to each other."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpassay.attacks.distinguishing.low_level.rules import (
    NOTHING,
    STATISTICS,
    Decimals,
    Granularity,
    RowStatistic,
    rules_for,
)


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def lowest_power(value):
    """e of an odd multiple of 2^e, by exact arithmetic."""
    fraction = Fraction(value)
    down = fraction.denominator.bit_length() - 1
    up = (fraction.numerator & -fraction.numerator).bit_length() - 1
    return up - down


def test_granularity_is_that_of_exact_arithmetic():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.laplace(size=300), rng.integers(1, 5000, 50), 2.0 ** rng.integers(-1070, 1000, 50)])
    assert Granularity(None).levels(values[:, None]).tolist() == [lowest_power(value) for value in values.tolist()]


def test_granularity_by_size_tells_numbers_of_the_same_power_of_two_apart_by_size():
    rule = Granularity(0, by_size=True)
    small, large, zero = rule.levels(column(0.75, 1.25, 0.0)).tolist()
    assert len({small, large, zero}) == 3
    assert rule.describe(small) == "coordinate 0 is an odd multiple of 2^-2 and its size is from 2^-1 to 2^0"
    assert rule.describe(large) == "coordinate 0 is an odd multiple of 2^-2 and its size is from 2^0 to 2^1"
    assert rule.describe(zero) == "coordinate 0 is 0"


@pytest.mark.parametrize("places", range(9))
def test_decimals_are_those_that_python_writes(places):
    values = np.round(np.random.default_rng(places).laplace(scale=30.0, size=200), places)
    for value, level in zip(values.tolist(), Decimals(None).levels(values[:, None]).tolist(), strict=True):
        written = Decimal(repr(value)).normalize()
        exponent = int(written.as_tuple().exponent)
        digit = written.as_tuple().digits[-1]
        assert level == (10 * -exponent + digit if value else -60)


def test_decimals_survive_the_rounding_of_an_addition():
    marked = np.round(np.random.default_rng(0).laplace(size=1000), 6) + 1e-7
    assert set((Decimals(None).levels(marked[:, None]) // 10).tolist()) == {7}


def test_noise_has_too_many_decimals():
    levels = Decimals(None).levels(np.random.default_rng(0).laplace(size=1000)[:, None])
    assert np.count_nonzero(levels == NOTHING) >= 995


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.1235, "the output has 4 decimals, and the last is 5"),
        (17.0, "the last digit of the output, a whole number, is 7"),
        (1700.0, "the output is a multiple of 10^2"),
        (np.pi, "the output has more decimals than 12"),
    ],
)
def test_decimals_in_words(value, words):
    rule = Decimals(None)
    assert rule.describe(int(rule.levels(column(value))[0])) == words


@pytest.mark.parametrize(
    ("name", "row", "value"),
    [
        ("largest", [2, -1, 0, 7, 0], 3),
        ("smallest", [2, -1, 0, 7, 0], 1),
        ("distinct", [2, -1, 0, 7, 0], 4),
        ("ties", [2, 0, 0, 0, 7], 2),
        ("ascents", [2, -1, 0, 7, 0], 2),
        ("zeros", [2, -1, 0, 7, 0], 2),
        ("negatives", [2, -1, 0, -7, 0], 2),
        ("gap", [2, -1, 0.5, 7, 0], 0.5),
        ("autocorrelation", [1, -1, 1, -1, 0], -0.75),
    ],
)
def test_statistics_of_a_vector(name, row, value):
    assert STATISTICS[name][0](np.array([row], dtype=np.float64)).tolist() == [value]


def test_every_order_has_a_code_of_its_own():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 4))
    codes = STATISTICS["order"][0](rows)
    orders = [tuple(order) for order in np.argsort(rows, axis=1).tolist()]
    assert len(set(zip(orders, codes.tolist(), strict=True))) == len(set(orders)) == len(set(codes.tolist())) == 24


def test_a_statistic_of_many_values_is_cut_at_quantiles():
    rows = np.random.default_rng(0).normal(size=(4000, 3))
    rule = RowStatistic.learn("gap", rows)
    counts = np.unique(rule.levels(rows), return_counts=True)[1]
    assert len(counts) == 32
    assert counts.min() > 100
    assert rule.describe(0).startswith("the smallest gap between two coordinates < ")


def test_one_number_has_no_order_and_few_coordinates_are_read_one_by_one():
    single, wide = np.zeros((10, 1)), np.zeros((10, 50))
    assert len(rules_for(single, most_coordinates=9, bits=True)) == 3
    assert len(rules_for(single, most_coordinates=9, bits=False)) == 1
    assert len(rules_for(wide, most_coordinates=9, bits=False)) == 9 + len(STATISTICS)


@pytest.mark.filterwarnings("error")
def test_extreme_numbers_have_levels_without_warnings():
    largest = np.finfo(np.float64).max
    rows = np.array([[largest, -largest], [5e-324, -2.3e-308], [0.0, 1e300], [1e17, -1e-17]])
    for rule in rules_for(rows, most_coordinates=2, bits=True):
        levels = rule.levels(rows)
        assert levels.shape == (4,)
        assert all(rule.describe(int(level)) for level in levels)
