"""Shuffled answers: epsilon by theorems and exactly, and messages that carry a user id."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict

LOG_3 = math.log(3.0)


@pytest.fixture(scope="module")
def found():
    return played("shuffled-responses").names


def test_the_demo_reads_well():
    check_demo("shuffled-responses")


def test_the_formula_is_the_one_of_the_text(found):
    for n in found.PEOPLE:
        growth = 16.0 * (3.0 - 1.0) / (3.0 + 1.0) * math.sqrt(3.0 * math.log(4.0 / 1e-6) / n)
        assert found.table["formula"][n] == pytest.approx(math.log1p(growth))
    assert found.table["formula"][10_000] == pytest.approx(0.43195, abs=5e-6)


def test_the_exact_epsilon_is_that_of_two_binomials(found):
    n, epsilon = 10_000, found.table["exact"][10_000]
    yes, others = np.arange(n + 1), binom(n - 1, 0.25)
    no_dodger = 0.75 * others.pmf(yes) + 0.25 * others.pmf(yes - 1)
    dodger = 0.25 * others.pmf(yes) + 0.75 * others.pmf(yes - 1)
    deltas = [np.maximum(0.0, a - math.exp(epsilon) * b).sum() for a, b in ((dodger, no_dodger), (no_dodger, dodger))]
    assert max(deltas) == pytest.approx(1e-6, rel=1e-3)


def test_the_formula_is_seven_to_fourteen_times_the_exact_epsilon(found):
    ratio = found.table["formula"] / found.table["exact"]
    assert 6.9 < ratio.min() < ratio.max() < 14.0
    assert (found.table["exact"] < found.table["numerical bound"]).all()


def test_a_user_id_loses_everything(found):
    assert found.with_id.claim == found.table["numerical bound"][1_000]
    assert found.with_id.verdict is Verdict.VIOLATION
    assert 0.9 < found.with_id.bound.epsilon <= LOG_3


def test_the_towns_of_the_exercise_cost_a_factor_of_12(found):
    assert 10.0 < found.in_town / found.in_country < 13.0
