"""A textbook formula for Gaussian noise: what is slack of the formula, and what is lack of runs."""

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("nominal-epsilon").names


def test_the_demo_reads_well():
    check_demo("nominal-epsilon")


def test_the_nominal_noise_has_epsilon_0_735(found):
    assert f"{found.counts.standard_deviation:.2f}" == "4.94"
    assert found.exact == pytest.approx(0.7350, abs=5e-5)


def test_the_four_calibrations_have_the_published_constants(found):
    assert list(found.slack["sigma"]) == ["4.9409", "4.8448", "4.7985", "3.7306"]
    assert list(found.slack["exact epsilon"]) == ["0.7350", "0.7510", "0.7589", "1.0000"]


def test_the_bound_approaches_the_exact_epsilon_and_not_the_nominal_one(found):
    last = found.gaussian_curve[1_000_000].bound.epsilon
    assert 0.94 * found.exact < last <= found.exact
    for audits in (found.any_curve, found.gaussian_curve):
        assert {result.verdict for result in audits.values()} <= {Verdict.CONSISTENT, Verdict.UNDERPOWERED}
        assert max(result.bound.epsilon for result in audits.values()) <= found.exact


def test_the_formula_is_refused_where_it_is_false():
    assert "promises (epsilon, delta) = (10, 1e-05)" in played("nominal-epsilon").text


def test_less_noise_is_detected_by_the_bound_for_gaussian_noise_only(found):
    exact = found.less_noise.guarantee().epsilon(1e-5)
    assert f"{exact:.2f}" == "0.93"
    assert found.sharp.verdict is Verdict.VIOLATION
    assert found.sharp.bound.epsilon <= exact
    assert found.blind.verdict is Verdict.CONSISTENT
