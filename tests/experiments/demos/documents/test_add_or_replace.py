"""Two counts with the same noise under two neighbouring relations."""

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("add-or-replace").names


def test_the_demo_reads_well():
    check_demo("add-or-replace")


def test_the_noise_is_ten_people(found):
    assert found.counts.scale == 10.0  # Grosse, CSC 2515 lecture 11, slide 30
    assert found.single.scale == 10.0
    assert found.both.scale == 20.0


def test_the_claim_is_tight_when_one_person_comes(found):
    assert found.added.verdict is Verdict.CONSISTENT
    assert 0.093 < found.added.bound.epsilon <= 0.1


def test_the_same_noise_leaks_twice_as_much_when_one_person_changes(found):
    assert found.replaced.verdict is Verdict.VIOLATION
    assert 0.185 < found.replaced.bound.epsilon <= 0.2


def test_both_pairs_are_refused_without_the_broken_class():
    text = played("add-or-replace").text
    assert "RelationError: " in text
    assert "NeighboursError: " in text


def test_both_repairs_keep_the_claim(found):
    for result in (found.repaired, found.one_count):
        assert result.verdict is Verdict.CONSISTENT
        assert 0.088 < result.bound.epsilon <= 0.1


def test_the_number_of_colours_does_not_matter(found):
    assert found.comes.verdict is found.changes.verdict is Verdict.CONSISTENT
    assert 0.088 < found.comes.bound.epsilon <= 0.1
    assert 0.185 < found.changes.bound.epsilon <= 0.2
