"""Swapped and noisy tables as mechanisms; what every mechanism must do is tested in test_conformance."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import Neighbours, NeighboursError, ParameterError
from dpassay.mechanisms.literature.query_release.tables import (
    CensusDomain,
    GroupCount,
    MeanAge,
    NoisyTables,
    SwappedTables,
    TableSet,
    census_tables,
    group,
)

FALSE_ALARM = 1e-6
DOMAIN = CensusDomain({"sex": ("female", "male"), "block": ("A", "B", "C")}, ages=(10, 30))
TABLES = TableSet(DOMAIN, (GroupCount(group(block="A")), MeanAge(group(sex="male", block="A"))))


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(10, 31, n), rng.integers(0, 2, n), rng.integers(0, 3, n)])


def test_tables_without_a_swap_are_exact_in_every_run():
    mechanism, block = SwappedTables(TABLES, share=0.0), people(20)
    outputs = mechanism.release(block, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(outputs.values, np.repeat(TABLES.of(block[None]), 5, axis=0))


@pytest.mark.parametrize("matched", [(), ("sex",)])
def test_swapping_moves_people_between_blocks_and_nothing_else(matched):
    """Ages and sexes stay, and so do the numbers of adults (and of each sex, where that is matched) in each block."""
    block = people(41)
    mechanism = SwappedTables(TABLES, share=0.7, matched=matched)
    swapped = mechanism.swapped(block, 200, np.random.default_rng(1))
    np.testing.assert_array_equal(swapped[..., :2], np.repeat(block[None, :, :2], 200, axis=0))
    assert (swapped[..., 2] != block[:, 2]).any()
    keys = (block[:, 0] >= 18) * 2 + (block[:, 1] if matched else 0)
    for place, key in [(place, key) for place in range(3) for key in np.unique(keys)]:
        counts = ((swapped[..., 2] == place) & (keys == key)).sum(axis=1)
        assert (counts == ((block[:, 2] == place) & (keys == key)).sum()).all()


def test_a_pair_trades_with_the_stated_probability():
    """Two adults of two blocks are each other's only partners: they trade in a share of the runs."""
    n, share = 20_000, 0.3
    two = np.array([[20, 0, 0], [25, 1, 1]])
    moved = SwappedTables(TABLES, share=share).swapped(two, n, np.random.default_rng(2))[:, 0, 2] == 1
    limits = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n, share)
    assert limits[0] <= moved.sum() <= limits[1]


def test_every_partner_of_a_class_is_equally_probable():
    n = 30_000
    four = np.array([[20, 0, 0], [21, 0, 1], [22, 0, 2], [23, 0, 2]])
    went = SwappedTables(TABLES, share=1.0).swapped(four, n, np.random.default_rng(3))[:, 0, 2]
    counts = np.bincount(went, minlength=3)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:], [n / 3, 2 * n / 3]).pvalue > FALSE_ALARM


def test_swapped_tables_have_a_void_guarantee():
    assert SwappedTables().guarantee().delta(50.0) == pytest.approx(1.0)


def test_sensitivity_is_the_most_counts_in_which_two_people_differ():
    groups = (
        group(sex="female"),
        group(block="A"),
        group(sex="female", block=("A", "B"), ages=(10, 17)),
        group(ages=12),
    )
    mechanism = NoisyTables(1.0, tables=TableSet(DOMAIN, tuple(map(GroupCount, groups))))
    ends = [mechanism.answers(one[None]) for one in DOMAIN.every_type]
    farthest = max(np.abs(one - other).sum() for one, other in combinations(ends, 2))
    assert mechanism.sensitivity == farthest
    pair = mechanism.worst_case()
    assert np.abs(mechanism.answers(pair.d0) - mechanism.answers(pair.d1)).sum() == farthest
    assert pair.relation.value == "replace_one"


def test_claim_of_noisy_tables_is_the_curve_of_all_counts_that_move():
    mechanism = NoisyTables(3.0)
    assert mechanism.guarantee().epsilon(0.0) == pytest.approx(3.0)
    assert mechanism.guarantee().delta(1.0) < mechanism.noise.guarantee().delta(1.0)
    one = NoisyTables(1.0, tables=TableSet(DOMAIN, (GroupCount(group(sex="female")),)))
    assert one.release(people(9), 4, np.random.default_rng(0)).values.shape == (4,)
    assert one.guarantee().delta(0.0) == pytest.approx(math.tanh(0.5))


def test_tables_without_noisy_counts_are_refused():
    with pytest.raises(ParameterError, match="tables must hold only counts and suppress none, but have the mean age"):
        NoisyTables(1.0, tables=TABLES)
    with pytest.raises(ParameterError, match="but have a threshold of 3"):
        NoisyTables(1.0, tables=census_tables(threshold=3))
    with pytest.raises(ParameterError, match="tables must separate two types of people"):
        NoisyTables(1.0, tables=TableSet(DOMAIN, (GroupCount(),)))


def test_unknown_attributes_are_not_swapped_or_matched():
    with pytest.raises(ParameterError, match=r"place must be an attribute of the domain \(sex, race\), but is 'block'"):
        SwappedTables(census_tables(), share=0.1)
    with pytest.raises(ParameterError, match="matched must be an attribute of the domain"):
        SwappedTables(TABLES, matched=("race",))
    assert SwappedTables(census_tables(), share=0.0).tables == census_tables()


def test_blocks_that_differ_in_two_people_are_no_neighbours():
    d1 = people(6)
    d0 = d1.copy()
    d0[:2, 0] = 31 - (d1[:2, 0] == 31)
    with pytest.raises((NeighboursError, ParameterError)):
        SwappedTables(TABLES).bind(Neighbours(d0, d1, "replace_one"))
    d0[:2] = [[10, 0, 0], [11, 1, 1]]
    with pytest.raises(NeighboursError, match="differ in exactly one"):
        NoisyTables(1.0, tables=TableSet(DOMAIN, (GroupCount(group(sex="male")),))).bind(
            Neighbours(d0, d1, "replace_one")
        )
