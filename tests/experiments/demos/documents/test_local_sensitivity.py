"""A median with noise for its local sensitivity, which reveals a salary by its scale."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms.accounting.kinds.two_laws import TwoLaplacesDP


@pytest.fixture(scope="module")
def found():
    return played("local-sensitivity").names


def test_the_demo_reads_well():
    check_demo("local-sensitivity")


def test_the_median_stays_and_its_local_sensitivity_jumps(found):
    assert len(found.company) == 101
    assert (found.company != found.with_a_raise).sum() == 1
    assert np.median(found.company) == np.median(found.with_a_raise) == 0.5
    for data, expected in ((found.company, 0.01), (found.with_a_raise, 0.5)):
        moved = []  # brute force: one record is replaced by 0 or 1
        for place in range(101):
            for salary in (0.0, 1.0):
                changed = data.copy()
                changed[place] = salary
                moved.append(abs(np.median(changed) - 0.5))
        assert max(moved) == pytest.approx(expected)
        assert found.local.noise_scale(data) == pytest.approx(expected)


def test_the_scale_of_the_noise_breaks_the_claim(found):
    law = TwoLaplacesDP(0.5, 0.01, 0.5, 0.5)
    assert law.epsilon(0.0) == math.inf
    assert found.results["local sensitivity"].verdict is Verdict.VIOLATION
    assert found.results["local sensitivity"].bound.epsilon > 5.0


def test_smooth_and_global_sensitivity_keep_the_claim(found):
    for name in ("smooth sensitivity", "global sensitivity"):
        assert found.results[name].verdict is Verdict.CONSISTENT
        assert found.results[name].bound.epsilon < 1.0


def test_smooth_sensitivity_helps_where_data_are_concentrated(found):
    company, concentrated = (found.smooth.scale(data) for data in (found.company, found.concentrated))
    assert 0.9 < company <= 1.0
    assert concentrated < 0.2
    assert np.abs(found.concentrated - 0.5).max() <= 0.05 + 1e-12


def test_a_floor_is_no_repair(found):
    assert [found.floor.noise_scale(data) for data in (found.company, found.with_a_raise)] == [0.1, 0.5]
    assert TwoLaplacesDP(0.5, 0.1, 0.5, 0.5).epsilon(0.0) == math.inf
    assert found.repaired.verdict is Verdict.VIOLATION
