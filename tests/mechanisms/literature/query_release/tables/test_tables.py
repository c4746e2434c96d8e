import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpassay.mechanisms.core import ParameterError, UnknownNameError
from dpassay.mechanisms.literature.query_release.tables import (
    NOT_PUBLISHED,
    CensusDomain,
    Group,
    GroupCount,
    GroupShare,
    MeanAge,
    MedianAge,
    Rounding,
    TableSet,
    census_domain,
    census_tables,
    group,
    rows_of,
)

DOMAIN = CensusDomain({"sex": ("female", "male"), "race": ("Black", "White")})


@pytest.mark.parametrize("rule", ["half-even", "half-up", "half-down", "down", "unknown"])
@pytest.mark.parametrize("digits", [0, 1, 2])
def test_ratio_lies_only_in_the_interval_of_its_published_value(rule, digits):
    """All ratios m / n with small m and n, in exact arithmetic; "unknown" allows for the other rule at the ends."""
    rounding, m, half = Rounding(digits, rule=rule), np.arange(25), Fraction(1, 2 * 10**digits)
    published = {n: rounding.of(m, np.full(25, n)) for n in range(1, 7)}
    values = sorted(set(np.concatenate(list(published.values())).tolist()))
    for n, value in itertools.product(published, values):
        least, most = rounding.whole_numbers(value, n)
        inside = (least <= m) & (m <= most)
        if rule == "unknown":
            near = [abs(Fraction(int(k), n) - Fraction(repr(value))) <= half for k in m]
        else:
            near = published[n] == value
        np.testing.assert_array_equal(inside, near)


@pytest.mark.parametrize(
    ("rule", "expected"), [("half-even", 4.0), ("half-up", 4.0), ("half-down", 3.0), ("down", 3.0)]
)
def test_middles_are_rounded_by_their_rule(rule, expected):
    assert Rounding(0, rule=rule).of(np.array([7]), np.array([2]))[0] == expected
    assert Rounding(0, rule=rule).of(np.array([5]), np.array([2]))[0] == 2.0 + (rule == "half-up")


def test_tables_of_many_blocks_agree_with_a_loop():
    rng = np.random.default_rng(0)
    women, black = group(sex="female"), group(race="Black")
    some = (*rows_of([Group(), women, black]), GroupShare(women), GroupShare(group(sex="female", race="Black"), black))
    tables = TableSet(DOMAIN, some, threshold=2, zeros_shown=True)
    blocks = np.stack([rng.integers(0, high, (300, 4)) for high in (111, 2, 2)], axis=-1)
    for block, published in zip(blocks, tables.of(blocks), strict=True):
        by_hand = []
        for inside in (np.ones(4, bool), block[:, 1] == 0, block[:, 2] == 0):
            ages, size = block[inside, 0], int(inside.sum())
            large = size >= 2
            by_hand.append(float(size) if large or size == 0 else NOT_PUBLISHED)
            by_hand.append(round(float(np.median(ages)), 1) if large else NOT_PUBLISHED)
            by_hand.append(round(float(np.mean(ages)), 1) if large else NOT_PUBLISHED)
        n_women, n_black = (block[:, 1] == 0).sum(), (block[:, 2] == 0).sum()
        both = ((block[:, 1] == 0) & (block[:, 2] == 0)).sum()
        by_hand.append(round(100 * n_women / 4, 1) if n_women >= 2 else NOT_PUBLISHED)
        by_hand.append(round(100 * both / n_black, 1) if both >= 2 else NOT_PUBLISHED)
        np.testing.assert_allclose(published, by_hand, atol=1e-9)


def test_blocks_and_histograms_hold_the_same_people():
    block = np.array([[30, 1, 0], [8, 0, 1], [30, 1, 0]])
    again = DOMAIN.block_of(DOMAIN.histogram(block))
    assert sorted(map(tuple, again)) == sorted(map(tuple, block))
    assert DOMAIN.shown(again) == ["8 female White", "30 male Black", "30 male Black"]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ([[111, 0, 0]], "age of person 0 must be a whole number from 0 to 110, but is"),
        ([[30, 0, 0], [30, 2, 0]], "sex of person 1 must be a whole number from 0 to 1"),
        ([[30, 0]], r"a block must be numbers of shape \(n_people, 3\)"),
    ],
)
def test_people_out_of_range_are_refused_by_name(block, message):
    with pytest.raises(ParameterError, match=message):
        DOMAIN.checked(block)


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (group(sexes="female"), "unknown attribute of group 'female': 'sexes'. Did you mean 'sex'?"),
        (group(sex="woman"), "unknown value of sex 'woman'. Known: female, male"),
        (group(ages=(111, 120)), "its ages must meet those of the domain, 0 to 110"),
    ],
)
def test_impossible_groups_are_refused_by_name(people, message):
    with pytest.raises((ParameterError, UnknownNameError), match=message.replace("?", r"\?").replace(".", r"\.")):
        TableSet(DOMAIN, (GroupCount(people),))


def test_statistics_are_distinct_and_a_share_lies_within_its_base():
    with pytest.raises(ParameterError, match="statistics must be distinct"):
        TableSet(DOMAIN, (MeanAge(), MedianAge(), MeanAge()))
    with pytest.raises(ParameterError, match="the group of a share must lie within its base"):
        TableSet(DOMAIN, (GroupShare(group(sex="female"), group(race="Black")),))


def test_census_tables_count_only_block_a():
    tables = census_tables("medians", n_blocks=3)
    block = np.array([[30, 0, 0, 0], [40, 1, 1, 1], [50, 1, 1, 2]])
    only = np.delete(block, [1, 2], axis=0)[:, :3]
    np.testing.assert_array_equal(tables.of(block[None]), census_tables("medians").of(only[None]))
    with pytest.raises(ParameterError, match="n_blocks must be at most 26"):
        census_domain(27)
