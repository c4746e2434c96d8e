"""Noisy max with its gap: the law, and that the gap costs nothing."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp

from dpassay.mechanisms.accounting.numerics.laplace import laplace_log_cdf
from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.literature.selection import NoisyMaxWithGap
from dpassay.mechanisms.selection import ReportNoisyMax
from dpassay.mechanisms.selection.laws import nodes_between, piece_ends

FALSE_ALARM = 1e-6
UTILITIES = np.array([1.0, 0.0, -4.0, 2.5])


def density(mechanism, index, gap, utilities=UTILITIES):
    index = np.broadcast_to(index, np.shape(gap))
    return np.exp(mechanism.log_density(Outputs(np.column_stack([index, gap])), utilities))


def test_density_is_that_of_a_slow_integral():
    """Over the next noisy score y: f(y + gap) times the density of the largest of the others."""
    mechanism, noise = NoisyMaxWithGap(2.0, 4, monotone=True), stats.laplace(scale=0.5)
    for i, gap in ((0, 0.3), (1, 2.0), (2, 1.0), (3, 6.0)):
        others = np.delete(UTILITIES, i)

        def joint(y, i=i, gap=gap, others=others):
            cdf = noise.cdf(y - others)
            return noise.pdf(y + gap - UTILITIES[i]) * cdf.prod() * (noise.pdf(y - others) / cdf).sum()

        ends = np.unique([*UTILITIES, UTILITIES[i] - gap, -25.0, 25.0])
        slow = sum(integrate.quad(joint, a, b, epsabs=1e-12)[0] for a, b in pairwise(ends))
        assert density(mechanism, i, [gap])[0] == pytest.approx(slow, rel=1e-7)


def test_without_the_gap_it_is_report_noisy_max():
    mechanism = NoisyMaxWithGap(1.0, 4)
    gap = np.linspace(0.0, 120.0, 60_001)
    for i, probability in enumerate(ReportNoisyMax(1.0, 4).probabilities(UTILITIES)):
        assert integrate.simpson(density(mechanism, i, gap), x=gap) == pytest.approx(probability, rel=1e-6)


def test_gaps_are_drawn_from_their_density():
    mechanism = NoisyMaxWithGap(1.0, 4)
    values = mechanism.release(UTILITIES, 100_000, np.random.default_rng(1)).values
    gap = np.linspace(0.0, 150.0, 20_001)
    for i in range(4):
        seen = values[values[:, 0] == i, 1]
        cdf = integrate.cumulative_simpson(density(mechanism, i, gap), x=gap, initial=0.0)
        assert stats.kstest(seen, lambda g, cdf=cdf: np.interp(g, gap, cdf / cdf[-1])).pvalue > FALSE_ALARM
        assert stats.kstest(seen * 1.1, lambda g, cdf=cdf: np.interp(g, gap, cdf / cdf[-1])).pvalue < 0.1


@pytest.mark.parametrize("n_candidates", [2, 3, 5])
def test_gap_costs_nothing(n_candidates):
    """The claim of the index alone holds for both together, over all gaps, and is approached where one wins by much."""
    rng, top = np.random.default_rng(2), 0.0
    gap = np.linspace(0.0, 60.0, 400)
    for _ in range(5):
        mechanism = NoisyMaxWithGap(0.8, n_candidates)
        start = rng.normal(scale=3.0, size=n_candidates)
        moved = start + rng.choice([-1.0, 1.0], size=n_candidates)
        for i in range(n_candidates):
            two = [np.log(density(mechanism, i, gap, x)) for x in (start, moved)]
            top = max(top, float(np.abs(two[0] - two[1]).max()))
    assert 0.7 < top <= 0.8 * (1 + 1e-8)


def test_where_the_gap_disappears_the_worst_case_shows_nearly_all():
    mechanism = NoisyMaxWithGap(0.5, 5)
    mechanism.bind(mechanism.worst_case())
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(0.5, rel=1e-9)
    alone, together = (kind(0.5, 5).exact_guarantee() for kind in (ReportNoisyMax, NoisyMaxWithGap))
    assert together.epsilon(1e-3) > alone.epsilon(1e-3)


def test_what_is_no_candidate_or_gap_is_impossible():
    wrong = Outputs(np.array([[4.0, 1.0], [-1.0, 1.0], [0.5, 1.0], [0.0, -1.0]]))
    assert np.isneginf(NoisyMaxWithGap(1.0, 4).log_density(wrong, UTILITIES)).all()


def test_density_between_many_candidates_is_that_of_a_table_of_all_of_them():
    """Over the next noisy score, by a quadrature with a column for each of the others."""
    scores = np.concatenate([np.random.default_rng(5).normal(scale=3.0, size=40), np.full(10, 2.0)])
    mechanism = NoisyMaxWithGap(1.0, len(scores), monotone=True)
    top = int(scores.argmax())
    for i, gap in ((0, 0.1), (top, 2.0), (top, 60.0), (45, 0.7), (int(scores.argmin()), 3.0)):
        y, weights = nodes_between(piece_ends(np.append(scores, scores[i] - gap), 0.5))
        away = y[:, np.newaxis] - np.delete(scores, i)
        log_below = laplace_log_cdf(away)
        log_next = log_below.sum(axis=1) + logsumexp(-np.abs(away) - np.log(2.0) - log_below, axis=1)
        expected = logsumexp(log_next - np.abs(y + gap - scores[i]), b=0.5 * weights)
        result = mechanism.log_density(Outputs(np.array([[i, gap]])), scores)[0]
        assert result == pytest.approx(expected, rel=1e-10)


def test_densities_of_utilities_thousands_of_scales_apart_are_finite():
    mechanism = NoisyMaxWithGap(1.0, 3)
    for top in (1_000.0, 20_000.0):
        utilities = np.array([0.0, 1.0, top])
        runs = mechanism.release(utilities, 50, np.random.default_rng(0))
        near = np.array([0.0, 1.0, 100.0])
        moved = Outputs(runs.values - [[0.0, top - 100.0]])
        np.testing.assert_allclose(
            mechanism.log_density(runs, utilities), mechanism.log_density(moved, near), atol=1e-9
        )


def test_many_equal_utilities_are_quick_and_many_different_ones_refused():
    mechanism = NoisyMaxWithGap(1.0, 10_000)
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(1.0, rel=1e-9)
    mechanism, utilities = NoisyMaxWithGap(1.0, 1_000), np.arange(1_000) * 3.0
    runs = mechanism.release(utilities, 2, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="1000 different values"):
        mechanism.log_density(runs, utilities)


def test_utilities_far_apart_leave_the_law_of_the_gap_as_it_is():
    """Gaps that no noise bridges are cut in the law: the density of what is seen is that of utilities not as far
    apart, at a gap that is smaller by as much."""
    near, far = np.array([2000.0, 1.0, 0.0]), np.array([2e6, 1.0, 0.0])
    mechanism = NoisyMaxWithGap(1.0, 3)
    outputs = mechanism.release(far, 200, np.random.default_rng(0))
    moved = outputs.values.copy()
    moved[:, 1] -= far[0] - near[0]
    assert (outputs.values[:, 0] == 0).all()
    np.testing.assert_allclose(
        mechanism.log_density(outputs, far), mechanism.log_density(Outputs(moved), near), atol=1e-8
    )
