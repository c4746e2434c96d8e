"""Selection that is wrong on purpose: what is true, next to the correct twins."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.distinguishing.likelihood_ratio import LikelihoodRatioScorer
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs
from dpassay.mechanisms.selection import Exponential, ReportNoisyMax
from dpassay.mechanisms.selection.broken import ExponentialMaxValue, HalvedScoreSensitivity, LaplaceMaxValue

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("n", [3, 5, 20])
def test_value_of_laplace_noise_tells_half_of_epsilon_a_candidate(n):
    broken = LaplaceMaxValue(0.1, n)
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(0.05 * n, rel=1e-9)
    pair = broken.worst_case()
    low = Outputs(np.array([-50.0, -1.0]))
    loss = broken.log_density(low, pair.d0) - broken.log_density(low, pair.d1)
    np.testing.assert_allclose(loss, 0.05 * n, rtol=1e-9)


def test_event_below_all_utilities_has_the_known_probabilities():
    # five queries at epsilon 0.1: 2^-5 = 0.031 against (e^-0.05 / 2)^5 = 0.024
    broken = LaplaceMaxValue(0.1, 5)
    values = broken.release(np.ones(5), 400_000, np.random.default_rng(1)).values
    assert stats.binomtest(int(np.count_nonzero(values < 1.0)), 400_000, 2.0**-5).pvalue > FALSE_ALARM
    moved = broken.release(np.full(5, 2.0), 400_000, np.random.default_rng(2)).values
    assert stats.binomtest(int(np.count_nonzero(moved < 1.0)), 400_000, 0.5**5 * math.exp(-0.25)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("n", "probability"), [(1, 0.0488), (5, 2.77e-7)])
def test_value_of_exponential_noise_is_impossible_on_the_other_side(n, probability):
    broken = ExponentialMaxValue(0.1, n)
    truth, pair = broken.exact_guarantee(), broken.worst_case()
    assert truth.epsilon(0.0) == math.inf
    assert truth.delta(30.0) == pytest.approx(probability, rel=0.02)
    between = Outputs(np.array([0.5]))
    assert np.isneginf(broken.log_density(between, pair.d1))[0]
    score = LikelihoodRatioScorer(broken, pair.d0, pair.d1).score(Outputs(np.array([0.5, 3.0, -1.0])))
    assert score[0] == -np.inf
    assert np.isfinite(score[1:]).all()


@pytest.mark.parametrize("kind", [LaplaceMaxValue, ExponentialMaxValue])
def test_values_are_drawn_from_their_law(kind):
    broken, utilities = kind(0.5, 3), np.array([0.0, 4.0, -3.0])
    noise = stats.laplace(scale=4.0) if kind is LaplaceMaxValue else stats.expon(scale=4.0)
    values = broken.release(utilities, 100_000, np.random.default_rng(3)).values
    cdf = lambda x: np.prod([noise.cdf(x - u) for u in utilities], axis=0)  # noqa: E731
    assert stats.kstest(values, cdf).pvalue > FALSE_ALARM
    grid, step = np.linspace(4.5, 30.0, 7), 1e-4
    slope = (cdf(grid + step) - cdf(grid - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(broken.log_density(Outputs(grid), utilities)), slope, rtol=1e-6)


def test_score_of_two_errors_tells_twice_the_claim():
    broken = HalvedScoreSensitivity(1.0, 2, sensitivity=2.0)
    pair = broken.worst_case()
    assert np.abs(broken.scores(pair.d1) - broken.scores(pair.d0)) == pytest.approx([4.0, 4.0])
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(1.6)
    twin = Exponential(1.0, 2, sensitivity=4.0)
    law = (twin.probabilities(broken.scores(pair.side(side))) for side in (0, 1))
    assert np.abs(np.log(next(law) / next(law))).max() <= 1.0
    with pytest.raises(NeighboursError):
        broken.bind(Neighbours(pair.d0, pair.d0 + 3.0, "add_remove"))


@pytest.mark.parametrize(
    ("broken", "twin"),
    [
        (LaplaceMaxValue(1.0, 8), ReportNoisyMax(1.0, 8)),
        (ExponentialMaxValue(0.1, 1), ReportNoisyMax(0.1, 2, noise="exponential")),
        (HalvedScoreSensitivity(0.5, 2), Exponential(0.5, 2, sensitivity=2.0)),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_audit_detects_the_bug_and_the_twin_passes(broken, twin, without_power):
    assert audit(broken, trials=30_000, seed=1).verdict is Verdict.VIOLATION
    result = audit(twin, trials=30_000, seed=1)
    assert result.verdict is not Verdict.VIOLATION
