"""Visits without names: unique people, homogeneous groups, two tables, and noisy counts as a defence."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played


@pytest.fixture(scope="module")
def found():
    return played("medical-visits").names


def test_the_demo_reads_well():
    check_demo("medical-visits")


def test_the_shares_of_unique_people_are_those_of_the_text(found):
    shares = [f"{share:.0%}" for share in found.by_spread.values()]
    assert shares == ["86%", "69%", "61%"]  # the last is Golle's (2006) for the census of 1990
    at_average = {name: values[38] for name, values in found.unique.items()}
    assert found.sizes[38] == pytest.approx(7943, abs=1)
    assert at_average["birth date, sex"] > 0.86 > 0.8 > at_average["birth date"] > 0.01 > at_average["birth year, sex"]


def test_the_register_names_nearly_everybody_and_all_of_it_is_gained(found):
    assert found.by_name.attack.value > 0.75
    assert found.by_name.headline.lower > 0.6
    assert found.by_name["without the person"].success.value < 0.15


def test_every_group_has_two_people_and_one_group_has_one_illness(found):
    assert found.grouped.k == 2
    assert found.grouped.constant_share == 0.25  # Ted and the other man of his age, of eight
    assert found.small["illness"].nunique() == 6  # "two of the six illnesses"


def test_two_tables_say_more_than_one_and_the_more_the_smaller_k(found):
    two = [gain.attack.value for gain, *_ in found.rows.values()]
    assert two == sorted(two, reverse=True)
    assert all(gain.attack.value > one for gain, one, _ in found.rows.values())
    assert all(found.rows[k][0].significant for k in (3, 5))
    assert found.rows[3][2] > 0.05


def test_noise_leaves_nothing_to_be_gained_and_keeps_the_totals(found):
    assert not found.private.significant
    # odds of any illness against any other move by e^2 at most: two tables, in each of which two counts move
    before = found.private["without the release"].success.value
    assert before < found.informed < math.e**2 * before
    assert found.counts.rate == 0.5
    assert found.error < 0.25
