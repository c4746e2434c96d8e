"""Census tables by a top-down algorithm: errors by level, bias of small counties, and invariants."""

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms.literature.query_release.top_down import GeometricTopDown


@pytest.fixture(scope="module")
def found():
    return played("top-down").names


def test_the_demo_reads_well():
    check_demo("top-down")


def test_each_processing_step_reduces_the_error_as_predicted(found):
    for level in range(3):
        noise, linear, kept, whole = (found.error[step][level] for step in found.error)
        assert linear == pytest.approx(found.predicted[level], rel=0.06)
        assert noise > 1.1 * linear
        assert linear * 1.01 > kept
        assert whole == pytest.approx(kept, rel=0.01)
    assert found.error["integer"][2] < 0.9 * found.error["least squares"][2]


def test_the_smallest_counties_gain_people_and_larger_ones_lose_them(found):
    mean = {step: bias.mean(axis=0) for step, bias in found.bias.items()}
    assert (mean["whole"][found.order[:2]] > 5.0).all()
    assert mean["whole"][found.order[-2:]].sum() < -10.0
    standard_error = found.bias["least-squares"].std(axis=0) / 10.0
    assert (np.abs(mean["least-squares"]) < 5.7 * standard_error).all()  # Student, 99 degrees: 1e-7 for each county


def test_the_invariant_total_of_each_state_has_no_error(found):
    for bias in found.bias.values():
        of_states = np.add.reduceat(bias, (0, 5, 9), axis=1)
        np.testing.assert_allclose(of_states, 0.0, atol=1e-6)
    assert (found.tables["least-squares"]["county"] < -0.5).any()
    assert (found.tables["whole"]["county"] >= 0.0).all()


def test_only_the_pair_that_differs_in_an_invariant_is_told_apart(found):
    assert "differs in an invariant" in played("top-down").text.replace("\n", " ")
    assert found.kept.verdict is Verdict.CONSISTENT
    assert found.forgotten.verdict is Verdict.VIOLATION
    assert found.forgotten.witness is not None
    assert GeometricTopDown(1.0).invariants == found.census.invariants
