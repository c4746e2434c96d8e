"""Demos on what is learned about people: every number that they teach."""

import math

import pytest
from tests.experiments.demo_runs import check_reading, demos_in, play

from dpassay.audit import Verdict
from dpassay.experiments.demos.people import leave_one_out


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


@pytest.fixture(scope="module")
def left_out():
    return play("leave-one-out")


class TestLeaveOneOut:
    def test_learners_are_right_equally_often_and_hide_the_average_record(self, left_out):
        errors = [one.test_error for one in left_out.learners.values()]
        assert max(errors) - min(errors) < 0.015
        for one in left_out.learners.values():
            assert one.test_error - one.train_error < 0.02
            assert one.average_advantage < 0.12

    def test_one_generator_leaks_the_outlier_and_the_private_one_does_not(self, left_out):
        shown, plain, private = left_out.learners.values()
        assert shown.outlier_advantage == 1.0
        assert plain.outlier_advantage < 0.6
        assert private.outlier_advantage < 0.3  # 0.11 at most, and a standard deviation of 0.08 of 75 runs a side
        verdicts = [result.verdict for result in left_out.audits.values()]
        assert verdicts[0] is Verdict.VIOLATION
        assert verdicts[2] is Verdict.CONSISTENT

    def test_a_support_vector_machine_holds_records_and_always_the_outlier(self, left_out):
        pool = {row.tobytes() for row in left_out.trial.data.X}
        for place, machine in enumerate(left_out.machines):
            held = {row.tobytes() for row in machine.support_vectors_}
            assert held <= pool
            assert (leave_one_out.OUTLIER.tobytes() in held) == bool(place % 2)
