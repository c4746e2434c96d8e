"""Reconstruction of a secret column from counts, three defences that fail, and a budget."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.attacks.literature.answers import least_squares_accuracy

BITS = 40 * 100
LIMIT = 5.0 * math.sqrt(0.25 / BITS)
"""5 standard deviations of a share of independent bits; those of one column are nearly uncorrelated."""


@pytest.fixture(scope="module")
def found():
    return played("column-from-counts").names


def test_the_demo_reads_well():
    check_demo("column-from-counts")


def test_accuracy_grows_with_queries_and_follows_the_formula(found):
    for noise, values in found.shares.items():
        by_queries = dict(zip(found.QUERIES, values, strict=True))
        for m in (500, 1_000, 3_000):
            predicted = least_squares_accuracy(100, m, noise)
            assert predicted - LIMIT <= by_queries[m] <= predicted + 0.02 + LIMIT  # the box helps by a little
        assert 0.5 < by_queries[50] < by_queries[200] < by_queries[3_000] + LIMIT


def test_l1_decoding_survives_what_least_squares_does_not(found):
    for share in found.arbitrary.values():
        assert share["L1 decoding"] == 1.0
        assert share["least squares"] < 0.9


def test_three_heuristic_defences_fail(found):
    assert found.system.n_asked == 2_000
    assert found.careful > 0.9


def test_a_budget_keeps_every_share_below_the_ceiling(found):
    for epsilon, row in found.budget.iterrows():
        assert row["ceiling of any attack"] == pytest.approx(1.0 / (1.0 + math.exp(-epsilon)))
        assert row["correct bits"] <= row["ceiling of any attack"] + LIMIT
    assert found.budget.loc[1.0, "scale of the noise"] > 100.0
    assert found.budget.loc[10.0, "correct bits"] < 0.65


def test_half_as_many_exact_answers_as_bits_give_most_of_the_column(found):
    # for equations in general position the column is unique with probability Pr[Bin(n - 1, 1/2) >= n - m]
    assert found.few[25] < 0.85 < found.few[50] < 1.0
    assert found.few[75] > 0.99
