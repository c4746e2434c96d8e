"""Linkage of sparse ratings: success with few known films, and false matches of people who are absent."""

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played


@pytest.fixture(scope="module")
def found():
    return played("netflix-ratings").names


def test_the_demo_reads_well():
    check_demo("netflix-ratings")


def test_the_table_is_as_the_text_says(found):
    assert found.table["person"].nunique() == 2_000
    assert 35 < len(found.table) / 2_000 < 45
    assert not np.isin(found.calibration, found.targets).any()


def test_eight_films_find_nearly_everybody_whatever_is_known_of_them(found):
    for results in found.linked.values():
        shares = [result.correct.mean() for result in results]
        assert shares[0] < shares[1] < shares[-1]
        assert shares[-1] > 0.93
    dates, wrong, undated = found.linked.values()
    assert dates[1].correct.mean() > wrong[1].correct.mean()
    assert dates[1].correct.mean() > undated[1].correct.mean()
    assert dates[1].correct.mean() > 0.9


def test_films_and_months_are_unique_in_pairs(found):
    films, stars, months = found.pairs.values()
    assert films < stars < months
    assert months > 0.98


def test_a_gap_chosen_on_others_keeps_false_matches_rare(found):
    for published, strict in found.strict.values():
        assert published.least == 1.5
        assert published.false.mean() > 0.1
        # of 150 at a true rate of 0.05, 20 have probability 4e-5: the rate meant is 0.02, estimated from 200
        assert strict.false.sum() < 20
    lost = {n: published.correct.mean() - strict.correct.mean() for n, (published, strict) in found.strict.items()}
    assert lost[2] > 0.2 > 0.05 > lost[8]


def test_moved_dates_do_not_prevent_the_attack(found):
    assert found.moved.correct.mean() > 0.93
