"""Noise by basic and by advanced composition, and where the two lines cross."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms.noise.calibration import laplace_scale


@pytest.fixture(scope="module")
def found():
    return played("basic-or-advanced").names


def test_the_demo_reads_well():
    check_demo("basic-or-advanced")


def test_the_lines_of_noise_cross_at_30_counts(found):
    assert 2.0 * (math.log(1e6) + 1.0) == pytest.approx(29.63, abs=5e-3)
    advanced_is_better = found.scales["advanced"] < found.scales["basic"]
    assert (advanced_is_better == (found.counts >= 30)).all()
    assert round(laplace_scale(1.0, 1e-6, 1, composition="concentrated"), 1) == 5.4


def test_the_totals_of_fixed_noise_cross_at_31_counts(found):
    better = [k for k, (basic, advanced, _) in found.totals.items() if advanced < basic]
    assert min(better) == 31
    assert found.totals[30][:2] == pytest.approx((3.0, 3.02912), abs=5e-6)
    assert found.totals[31][:2] == pytest.approx((3.1, 3.08171), abs=5e-6)
    assert found.totals[100] == pytest.approx((10.0, 5.75652, 4.77457), abs=5e-6)
    assert all(optimal <= min(basic, advanced) + 1e-12 for basic, advanced, optimal in found.totals.values())


def test_the_noise_of_advanced_composition_costs_more_at_delta_0():
    assert 30 / laplace_scale(1.0, 1e-6, 30, composition="concentrated") > 1.0
    assert 29 / laplace_scale(1.0, 1e-6, 29, composition="concentrated") < 1.0
    assert "epsilon 1.84 at delta 0, 0.75 at delta 1e-6" in played("basic-or-advanced").text


def test_the_largest_error_is_the_harmonic_number_times_the_scale(found):
    for k, (basic, _) in found.worst.items():
        mean, two_errors = map(float, basic.split(" ± "))
        limit = 2.5 * (two_errors + 0.5) + 0.5  # 5 standard errors, and what the printed numbers are rounded by
        assert mean == pytest.approx(k * np.sum(1.0 / np.arange(1, k + 1)), abs=limit)


def test_the_scale_without_its_factor_is_refuted(found):
    assert round(math.sqrt(2.0 * math.log(1e6)), 1) == 5.3
    assert found.careless.guarantee().epsilon(0.0) == 4.0
    assert found.found.verdict is Verdict.VIOLATION
    assert 2.0 < found.found.bound.epsilon <= 4.0
