"""Point estimates and lower bounds in the tails of Laplace and Gaussian noise."""

import numpy as np
import pytest
from scipy.stats import binom
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("gaussian-tails").names


def test_the_demo_reads_well():
    check_demo("gaussian-tails")


def test_the_log_ratio_is_2_for_laplace_noise_and_grows_for_gaussian_noise(found):
    assert found.truth["Laplace"] == pytest.approx(2.0)
    assert (np.diff(found.truth["Gaussian"]) > 0.7 * 0.25).all()
    assert (found.truth["Gaussian"] > found.thresholds - 0.5).all()  # every output of the event has at least this ratio


def test_a_point_estimate_nearly_always_exceeds_the_truth(found):
    # The largest estimate is above 2 unless all 21 are not: of 2,000 people 98 % or more.
    assert np.mean(found.reported > 2.0) > 0.95
    assert np.mean(np.isinf(found.reported)) > 0.5


def test_the_bounds_at_all_thresholds_exceed_the_truth_for_at_most_5_percent(found):
    misses = int(np.sum(found.bounded > 2.0))
    assert misses <= binom.isf(1e-6, found.PEOPLE, 0.05)


def test_the_bound_falls_to_zero_where_the_outputs_run_out(found):
    for bounds in found.bounds.values():
        assert bounds[-1] == 0.0
        assert bounds.max() > 1.8


def test_only_the_claim_of_gaussian_noise_is_refuted(found):
    assert {result.verdict for result in found.more_runs["Laplace"].values()} == {Verdict.CONSISTENT}
    gaussian = found.more_runs["Gaussian"]
    assert gaussian[1_000_000].verdict is Verdict.VIOLATION
    assert gaussian[1_000_000].bound.epsilon > gaussian[10_000].bound.epsilon


def test_the_relaxed_claim_of_the_exercise_holds(found):
    curve = found.gaussian.guarantee()
    assert f"{curve.epsilon(0.03):.2f} {curve.delta(2.0):.4f}" == "1.83 0.0209"  # as the text says
    assert found.relaxed.verdict is Verdict.CONSISTENT
    assert 0.9 * 1.83 < found.relaxed.bound.epsilon <= curve.epsilon(0.03)
