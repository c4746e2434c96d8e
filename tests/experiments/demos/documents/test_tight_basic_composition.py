"""Basic composition is optimal through an event that is too rare to be seen."""

import math

import pytest
from scipy.stats import binom
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("tight-basic-composition").names


def test_the_demo_reads_well():
    check_demo("tight-basic-composition")


def test_the_largest_ratio_has_probability_two_to_the_minus_k(found):
    assert found.visible == {k: 0.5**k for k in found.sizes}
    assert f"{found.visible[64]:.0e}" == "5e-20"  # as the text says
    reached = int((found.losses[4] > 1.0 - 1e-9).sum())
    assert binom.isf(1 - 5e-7, found.RUNS, 1 / 16) <= reached <= binom.isf(5e-7, found.RUNS, 1 / 16)
    assert not (found.losses[64] > 16.0 - 1e-9).any()


def test_the_losses_have_the_mean_and_the_scatter_of_the_text(found):
    mean = 0.25 + math.exp(-0.25) - 1.0
    assert round(mean, 4) == 0.0288
    for k, losses in found.losses.items():
        assert losses.mean() == pytest.approx(k * mean, abs=5.0 * 0.24 * math.sqrt(k / found.RUNS))
        assert losses.std() == pytest.approx(0.24 * math.sqrt(k), rel=0.02)


def test_the_bound_comes_close_for_few_counts_and_not_for_many(found):
    shares = {k: result.bound.epsilon / (0.25 * k) for k, result in found.audits.items()}
    assert max(shares.values()) <= 1.0
    assert shares[2] > 0.9
    assert shares[64] < 0.4


def test_half_of_the_epsilon_is_refuted_for_4_counts_and_not_for_64(found):
    assert found.halved[4].verdict is Verdict.VIOLATION
    assert found.halved[64].verdict is Verdict.CONSISTENT


def test_epsilon_at_a_small_delta_grows_more_slowly(found):
    exact = [found.all_counts[k].exact_guarantee().epsilon(1e-6) for k in (16, 64)]
    assert exact[1] < 3.0 * exact[0]  # four times as many counts
