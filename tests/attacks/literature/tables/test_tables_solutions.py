"""Which blocks have some tables: known answers, and every block of a small world tried in turn."""

import numpy as np
import pytest
from tests.attacks.literature.tables.blocks_by_hand import BLACK, BLACK_WOMEN, every_block, keys, seven

from dpassay.attacks.literature.tables import PublishedTables, solve
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.literature.query_release.tables import (
    CensusDomain,
    Group,
    GroupCount,
    GroupShare,
    MeanAge,
    MedianAge,
    Rounding,
    TableSet,
    group,
    rows_of,
)

SMALL = CensusDomain({"sex": ("female", "male")}, ages=(20, 26))
WOMEN, YOUNG = group(sex="female"), group(ages=(20, 22))
FOUR, FIVE = every_block(SMALL, 4), every_block(SMALL, 5)
WITHHELD = [(BLACK_WOMEN, MedianAge), (BLACK_WOMEN, MeanAge)]


def beside(women, *others):
    """The ages of each three women, and of the others."""
    return np.column_stack([women, np.tile(others, (len(women), 1))])


def by_hand():
    """Blocks of seven with the tables of the four larger groups, nested loops and no programme; which of these have
    the median age 51 of Black people, the median 36 and the mean 36.7 of Black women."""
    solutions = []
    ages = np.arange(111)
    x, y = (part.ravel() for part in np.meshgrid(ages, ages, indexing="ij"))
    for white_woman in range(73):
        for white_man in range((72 - white_woman) // 2 + 1):
            other = 72 - white_woman - white_man  # three White people of mean age 24
            black_man = 132 - white_man - other  # three men of mean age 44
            if np.median([white_woman, white_man, other]) != 24 or not 0 <= black_man <= 110:
                continue
            if np.median([white_man, other, black_man]) != 30:
                continue
            z = 134 - white_woman - x - y  # four women of mean age 33.5
            ok = (x <= y) & (y <= z) & (z <= 110)
            women = np.stack([x, y, z], axis=1)[ok]
            ok = (np.median(beside(women, white_woman), axis=1) == 30) & (women.sum(axis=1) + black_man == 194)
            ok &= np.median(beside(women, white_woman, white_man, other, black_man), axis=1) == 30
            black = np.median(beside(women, black_man), axis=1) == 51
            middle, total = women[:, 1] == 36, women.sum(axis=1) == 110
            solutions += [(bool(b), bool(m), bool(t)) for b, m, t in zip(black[ok], middle[ok], total[ok], strict=True)]
    return np.array(solutions)


def test_block_of_seven_has_the_known_number_of_solutions():
    """Counts 1, 25 and 2: Black men and women apart, nothing about marriage. 62 is in the slow test."""
    black, middle, total = by_hand().T
    assert (black & middle & total).sum() == 1
    assert len(solve(seven())) == 1
    assert (middle & total).sum() == 25
    assert len(solve(seven((BLACK, MedianAge)))) == 25
    assert black.sum() == 2
    assert len(solve(seven(*WITHHELD))) == 2
    assert len(black) == 62


@pytest.mark.slow
def test_all_62_blocks_of_seven_are_found_where_all_three_are_withheld():
    solutions = solve(seven((BLACK, MedianAge), *WITHHELD))
    assert solutions.complete
    assert len(keys(solutions)) == len(solutions) == 62


def test_marital_status_makes_the_block_of_seven_unique():
    solutions = solve(seven(married=True))
    assert solutions.unique
    assert str(solutions) == "exactly 1 block has these tables: every person in it is revealed"
    people = solutions.domain.shown(solutions.blocks[0])
    known = ["8 female Black single", "36 female Black married", "66 female Black married", "24 female White single"]
    known += ["84 male Black married", "18 male White single", "30 male White married"]
    assert sorted(people) == sorted(known)


@pytest.mark.parametrize(
    "withheld",
    [(BLACK, MedianAge), (BLACK_WOMEN, MedianAge), pytest.param((BLACK_WOMEN, MeanAge), marks=pytest.mark.slow)],
    ids=str,
)
def test_block_of_seven_stays_unique_without_any_one_statistic(withheld):
    assert solve(seven(withheld, married=True), limit=2).unique


SMALL_TABLES = {
    "rows": (rows_of([Group(), WOMEN]), {}),
    "mean of an unknown number": ((GroupCount(), MeanAge(WOMEN), MeanAge()), {}),
    "suppressed": ((*rows_of([Group(), WOMEN, YOUNG]),), {"threshold": 3}),
    "zeros shown": ((GroupCount(), GroupCount(YOUNG), MeanAge(YOUNG)), {"threshold": 2, "zeros_shown": True}),
    "shares": ((GroupCount(), GroupShare(WOMEN), GroupShare(group(sex="female", ages=(20, 22)), YOUNG)), {}),
    "share suppressed": ((GroupCount(), GroupShare(WOMEN), GroupShare(YOUNG)), {"threshold": 2}),
    "medians in whole years": (
        (GroupCount(), *(MedianAge(g, rounding=Rounding(0, rule="half-up")) for g in (Group(),)), GroupCount(WOMEN)),
        {},
    ),
    "median in even years": ((GroupCount(WOMEN), GroupCount(), MedianAge(WOMEN, rounding=Rounding(0))), {}),
    "cut off": ((GroupCount(), MeanAge(rounding=Rounding(0, rule="down")), GroupCount(WOMEN)), {}),
    "rounded in a way unknown": ((GroupCount(), MeanAge(rounding=Rounding(0, rule="unknown"))), {}),
}


@pytest.mark.parametrize("name", SMALL_TABLES)
@pytest.mark.parametrize("blocks", [FOUR, FIVE], ids=["four", "five"])
def test_solutions_are_the_blocks_of_a_small_world_that_have_the_tables(name, blocks):
    """Every block of four or five people is tried: those with the same tables, each once."""
    statistics, options = SMALL_TABLES[name]
    tables = TableSet(SMALL, statistics, **options)
    seen = tables.of(blocks)
    rng = np.random.default_rng(1)
    patterns, which, sizes = np.unique(seen, axis=0, return_inverse=True, return_counts=True)
    small = np.flatnonzero(sizes <= 40)
    for pattern in rng.choice(small, 2, replace=False) if len(small) > 2 else [int(sizes.argmin())]:
        published = PublishedTables(tables, tuple(patterns[pattern]))
        expected = blocks[published.fit(blocks)]
        if name != "rounded in a way unknown":
            assert len(expected) == sizes[pattern] == (which.ravel() == pattern).sum()
        solutions = solve(published, limit=min(30, len(expected) + 1))
        assert set(keys(solutions)) <= set(keys(expected))
        assert max(keys(solutions).values()) == 1
        assert solutions.complete == (len(expected) < 30)
        assert len(solutions) == min(30, len(expected))


def test_an_unknown_rounding_rule_allows_half_a_step():
    """Ends included; a whole step apart is another number, whatever the rule."""
    rounding = Rounding(0, rule="unknown")
    published = PublishedTables.of(SMALL, {GroupCount(): 1, MedianAge(YOUNG, rounding=rounding): 21.0})
    assert [block[0, 0] for block in every_block(SMALL, 1) if published.hold_for(block)] == [21, 21]
    published = PublishedTables.of(SMALL, {GroupCount(): 4, MeanAge(rounding=rounding): 21.0})
    sums = FOUR[..., 0].sum(axis=1)
    np.testing.assert_array_equal(published.fit(FOUR), (sums >= 82) & (sums <= 86))
    assert keys(solve(published, limit=2000)) == keys(FOUR[published.fit(FOUR)])


def test_blocks_of_different_sizes_are_different_solutions():
    men = group(sex="male")
    cells = {GroupCount(WOMEN): 2, MeanAge(WOMEN): 20.5, GroupCount(men): None, MeanAge(): 22.0}
    published = PublishedTables.of(SMALL, cells, threshold=2)
    blocks = [block for n in (2, 3) for block in every_block(SMALL, n) if published.hold_for(block)]
    solutions = solve(published)
    assert solutions.complete
    assert keys(solutions) == keys(blocks)
    assert {len(block) for block in solutions} == {3}
    either = PublishedTables.of(SMALL, {GroupCount(WOMEN): 2, MeanAge(WOMEN): 20.5, GroupCount(men): None}, threshold=2)
    blocks = [block for n in (2, 3) for block in every_block(SMALL, n) if either.hold_for(block)]
    assert keys(solve(either)) == keys(blocks)
    assert {len(block) for block in blocks} == {2, 3}


def test_no_block_has_impossible_tables():
    solutions = solve(PublishedTables.of(SMALL, {GroupCount(): 3, GroupCount(WOMEN): 4}))
    assert solutions.inconsistent
    assert "no block has these tables: they contradict each other" in str(solutions)


def test_a_limit_gives_a_lower_bound():
    solutions = solve(PublishedTables.of(SMALL, {GroupCount(): 4}), limit=7)
    assert (len(solutions), solutions.complete, solutions.ended) == (7, False, "limit")
    assert str(solutions).startswith("at least 7 blocks have these tables: the search stopped at the limit")


def test_a_time_limit_gives_the_solutions_so_far(monkeypatch):
    nothing = solve(seven(), seconds=1e-9)
    assert (len(nothing), nothing.ended) == (0, "time limit")
    assert "before a block was found: nothing is known" in str(nothing)
    clock = iter(np.arange(0.0, 1000.0, 0.05))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    some = solve(PublishedTables.of(SMALL, {GroupCount(): 5}), seconds=3.0)
    assert some.ended == "time limit"
    assert len(some) > 0
    assert "time ran out" in str(some)


def test_too_few_statistics_are_refused():
    with pytest.raises(
        AttackError, match="too few statistics: no count bounds the number of people, for instance of '20 male'"
    ):
        solve(PublishedTables.of(SMALL, {GroupCount(WOMEN): 2}))
    with pytest.raises(
        AttackError,
        match="the median age of female is published, but the number of these people is any number from 1 to 4",
    ):
        solve(PublishedTables.of(SMALL, {GroupCount(): 4, MedianAge(WOMEN): 22.0}))


def test_a_median_needs_no_count_if_other_cells_give_the_group_size():
    tables = TableSet(SMALL, (GroupCount(), GroupCount(group(sex="male")), MedianAge(WOMEN)))
    block = SMALL.people([(20, "female"), (25, "female"), (26, "male")])
    published = PublishedTables.about(tables, block)
    blocks = every_block(SMALL, 3)
    assert set(keys(solve(published))) == set(keys(blocks[published.fit(blocks)]))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({GroupCount(): 2.5}, "the number of all people must be a whole number >= 0"),
        ({GroupCount(): None}, "the threshold of the tables is 0, which suppresses nothing"),
        ({MeanAge(): 130.0}, "the mean age of all people must lie from 20 to 26, but is 130"),
        ({MeanAge(): 23.45}, "value must be a number >= 0 with 1 digits after the point, but is 23.45"),
        ({GroupShare(WOMEN): 130.0}, "the percentage of female among all people must lie from 0 to 100"),
    ],
)
def test_impossible_published_values_are_refused(cell, message):
    with pytest.raises(ParameterError, match=message):
        PublishedTables.of(SMALL, cell)


def test_a_group_that_is_not_published_cannot_be_withheld():
    with pytest.raises(ParameterError, match="groups must be published groups, but no statistic is on male"):
        PublishedTables.of(SMALL, {GroupCount(): 3}).without(group(sex="male"))
