"""Demos on what is learned about people: every number that they teach."""

import math

import pytest
from tests.experiments.demo_runs import check_reading, demos_in, play

from dpassay.audit import Verdict


@demos_in("people")
def test_a_demo_reads_well_in_a_pipe(name):
    check_reading(name)


@pytest.fixture(scope="module")
def recovered():
    return play("row-of-a-regression")


class TestRowOfARegression:
    def test_the_patient_comes_out_to_the_last_digit(self, recovered):
        assert recovered.error < 1e-6

    def test_only_the_gain_counts_and_it_is_most_of_it(self, recovered):
        gain = recovered.gain
        assert gain.attack.value == 1.0
        assert gain.headline.lower > 0.75
        assert 0.05 < gain["without the person"].success.value < gain["without the release"].success.value < 0.2

    def test_rounding_hides_less_the_more_digits_are_printed(self, recovered):
        shares = list(recovered.digits.values())
        assert shares[2] < 0.2 < shares[3] < 0.9 < shares[4] <= shares[-1]

    def test_noise_does_as_the_formula_says(self, recovered):
        curve = recovered.noise
        spread = 5.0 * math.sqrt(0.25 / (20 * 100))
        assert curve.measured == pytest.approx(curve.theory, abs=spread)
        assert curve.theory[-1] < curve.blind < 0.99 < curve.theory[0]

    def test_a_promise_hides_the_patient_and_leaves_the_predictions(self, recovered):
        hits, accuracy = zip(*(recovered.private[e] for e in (10.0, 1e6)), strict=True)
        assert hits[0] < 0.25 < 0.99 < hits[1]
        assert accuracy[0] > accuracy[1] - 0.05
