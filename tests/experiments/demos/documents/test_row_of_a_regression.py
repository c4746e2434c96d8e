"""A published regression, and an attacker who knows all patients but one."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played


@pytest.fixture(scope="module")
def found():
    return played("row-of-a-regression").names


def test_the_demo_reads_well():
    check_demo("row-of-a-regression")


def test_the_patient_comes_out_to_the_last_digit(found):
    assert np.abs(found.record.x[0] - found.X[found.patient]).max() < 1e-6
    assert found.record.y[0] == pytest.approx(found.y[found.patient], abs=1e-6)


def test_only_the_gain_counts_and_it_is_most_of_it(found):
    assert found.result.attack.value == 1.0
    assert found.result.headline.lower > 0.75
    person, release = (found.result[f"without the {what}"].success.value for what in ("person", "release"))
    assert 0.05 < person < release < 0.2


def test_rounding_hides_less_the_more_digits_are_printed(found):
    shares = list(found.by_digits.values())
    assert max(shares[:3]) < 0.2 < shares[3] < 0.9 < shares[4] <= shares[5] <= shares[6]
    assert shares[6] == 1.0


def test_noise_does_as_the_formula_says(found):
    spread = 5.0 * math.sqrt(0.25 / (20 * 100))
    assert found.measured == pytest.approx(found.formula, abs=spread)
    assert found.formula[-1] < 0.2 < 0.99 < found.formula[0]


def test_a_careful_attacker_is_not_worse_than_a_guess(found):
    for epsilon in (1.0, 10.0):
        plain, careful, _ = found.private[epsilon]
        assert plain < found.blind_right.mean() - 0.05
        assert careful.headline.lower < 0.0 < careful.headline.upper
    plain, careful, _ = found.private[1e5]
    assert plain > 0.99
    assert careful.headline.lower > 0.75


def test_privacy_leaves_the_predictions(found):
    assert found.private[10.0][2] > found.private[1e5][2] - 0.05


def test_rounding_protects_patients_with_small_residuals(found):
    assert 0 < (~found.right).sum() < 60
    assert np.median(found.residuals[~found.right]) < 0.2 * np.median(found.residuals[found.right])
