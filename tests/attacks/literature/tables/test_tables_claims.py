"""What is certain, and what contradicts itself: against every block of a small world."""

import numpy as np
import pytest
from tests.attacks.literature.tables.blocks_by_hand import every_block, seven

from dpassay.attacks.literature.tables import (
    Certainty,
    Claim,
    PublishedTables,
    at_least_one,
    certain_people,
    conflict,
    count_is,
    decide,
    none_of,
)
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.literature.query_release.tables import (
    CensusDomain,
    Group,
    GroupCount,
    MeanAge,
    MedianAge,
    TableSet,
    group,
    rows_of,
)

SMALL = CensusDomain({"sex": ("female", "male")}, ages=(20, 26))
WOMEN = group(sex="female")
UP_TO_FIVE = [every_block(SMALL, n) for n in (2, 3, 4, 5)]
BLOCKS = UP_TO_FIVE[2]
TABLES = TableSet(SMALL, (*rows_of([Group(), WOMEN]), GroupCount(group(ages=(20, 21)))), threshold=2)
SOME = [3, 700, 1500, 2200]


def same_tables(block):
    """All blocks with the tables of this one."""
    return BLOCKS[PublishedTables.about(TABLES, block).fit(BLOCKS)]


@pytest.mark.parametrize("number", SOME)
def test_claims_are_certain_impossible_or_open_as_every_block_in_turn_says(number):
    published, blocks = PublishedTables.about(TABLES, BLOCKS[number]), same_tables(BLOCKS[number])
    claims = [at_least_one(group(sex="male", ages=22)), count_is(2, WOMEN), none_of(group(ages=26)), Claim(WOMEN, 1, 2)]
    claims += [count_is(1, group(ages=(23, 26))), Claim(group(ages=(22, 24)), most=1), Claim(group(ages=20), least=2)]
    for claim in claims:
        inside = SMALL.members(claim.people)[SMALL.types(blocks)].sum(axis=1)
        holds = (inside >= claim.least) & (inside <= (claim.most if claim.most is not None else 9))
        expected = Certainty.CERTAIN if holds.all() else Certainty.OPEN if holds.any() else Certainty.IMPOSSIBLE
        assert decide(published, claim) == expected, claim


@pytest.mark.parametrize("number", SOME)
def test_certain_people_are_those_who_are_in_every_block(number):
    result = certain_people(PublishedTables.about(TABLES, BLOCKS[number]))
    in_all = np.minimum.reduce([SMALL.histogram(block) for block in same_tables(BLOCKS[number])])
    np.testing.assert_array_equal(SMALL.histogram(result.people), in_all)
    assert not len(result.open)


def test_all_people_of_the_block_of_seven_are_certain():
    published = seven()
    assert len(certain_people(published).people) == 7
    assert decide(published, at_least_one(group(sex="male", race="Black", ages=84))) == "certain"
    assert decide(published, at_least_one(group(sex="female", ages=84))) == "impossible"


def test_claims_in_words():
    women = group(sex="female", ages=(0, 17))
    texts = [str(c) for c in (at_least_one(women), count_is(2, women), none_of(women), Claim(women, 1, 3))]
    assert texts == [
        "at least 1 female aged 0 to 17",
        "exactly 2 female aged 0 to 17",
        "no person female aged 0 to 17",
        "at least 1 and at most 3 female aged 0 to 17",
    ]
    with pytest.raises(ParameterError, match="the claim is always true"):
        Claim(women)


def test_contradictions_and_time_limits_decide_no_claim():
    impossible = PublishedTables.of(SMALL, {GroupCount(): 3, GroupCount(WOMEN): 4})
    with pytest.raises(AttackError, match="every claim would hold: they contradict each other"):
        decide(impossible, at_least_one(WOMEN))
    with pytest.raises(AttackError, match="no person can be identified: no block has these tables"):
        certain_people(impossible)
    published = PublishedTables.about(TABLES, BLOCKS[3])
    assert decide(published, at_least_one(WOMEN), seconds=1e-9) is Certainty.UNDECIDED
    with pytest.raises(AttackError, match="time ran out before one was found"):
        certain_people(published, seconds=1e-9)


def test_people_undecided_at_the_time_limit_are_left_open(monkeypatch):
    clock = iter(np.arange(0.0, 1000.0, 0.5))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    result = certain_people(seven(), seconds=4.0)
    assert len(result.open) > 0
    assert len(result.people) + len(result.open) <= 7
    assert len(result.block) == 7


CONTRADICTIONS = [
    {GroupCount(): 4, MeanAge(): 22.0, GroupCount(WOMEN): 3, GroupCount(group(sex="male")): 2, MeanAge(WOMEN): 21.3},
    {GroupCount(): 4, MeanAge(): 24.2, MedianAge(): 23.0, GroupCount(WOMEN): 2, MeanAge(WOMEN): 22.0},
    {GroupCount(): 4, GroupCount(WOMEN): 2, MeanAge(WOMEN): 22.3, MedianAge(): 24.0},
    {GroupCount(): 4, GroupCount(WOMEN): 0, MedianAge(WOMEN): 24.0, MeanAge(): 24.0},
]


@pytest.mark.parametrize("cells", CONTRADICTIONS, ids=range(4))
def test_a_conflict_is_minimal_and_no_block_has_it(cells):
    """Of all blocks with 2 to 5 people none has the cells, and some block has all but any one."""
    published = PublishedTables.of(SMALL, cells)
    result = conflict(published)
    assert result.minimal
    assert set(result.cells) <= set(published.cells)

    def possible(cells):
        return not cells or any(published.keeping(list(cells)).fit(blocks).any() for blocks in UP_TO_FIVE)

    assert not possible(result.cells)
    for left_out in range(len(result.cells)):
        assert possible(result.cells[:left_out] + result.cells[left_out + 1 :]), str(result)


def test_tables_of_a_block_have_no_conflict():
    assert conflict(PublishedTables.about(TABLES, BLOCKS[11])) is None


def test_a_conflict_states_its_people_and_its_time_limit(monkeypatch):
    published = PublishedTables.of(SMALL, {GroupCount(WOMEN): 3, MeanAge(WOMEN): 23.0}, n_people=2)
    result = conflict(published)
    assert str(result).splitlines()[:2] == [
        "With 2 people, these published cells contradict each other:",
        "  the number of female is 3",
    ]
    clock = iter(np.arange(0.0, 1000.0, 0.5))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    cut_short = conflict(published, seconds=1.2)
    assert not cut_short.minimal
    assert "Time ran out: some of them may not be needed." in str(cut_short)
