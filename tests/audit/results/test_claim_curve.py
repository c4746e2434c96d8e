"""The claimed curves as they are kept for drawing: few points, and no corner that is not there."""

import numpy as np
import pytest

from dpassay.audit.results.claim_curve import MAX_CURVE_POINTS, _drawn_points, claim_curve
from dpassay.mechanisms import ApproximateDP, Laplace, PureDP
from dpassay.mechanisms.accounting import GaussianDP

CLAIMS = {
    "Laplace, epsilon 1": Laplace(epsilon=1.0).guarantee(),
    "Laplace, epsilon 10": Laplace(epsilon=10.0).guarantee(),
    "Gaussian, mu 2": GaussianDP(2.0),
    "Gaussian, mu 0.3": GaussianDP(0.3),
    "Gaussian, mu 4": GaussianDP(4.0),
}


def turns(x, y):
    """Degrees by which a drawn line turns at each of its points, on axes of equal length."""
    return np.abs(np.diff(np.degrees(np.arctan2(np.diff(y), np.diff(x)))))


def between(x):
    """Points between, and in the middle of the logarithms of, neighbours."""
    positive = x[x > 0]
    return np.unique(np.concatenate([0.5 * (x[1:] + x[:-1]), np.sqrt(positive[1:] * positive[:-1])]))


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_the_tradeoff_curve_looks_smooth_and_misses_nothing(claim):
    curve = claim_curve(claim, claim.epsilon(1e-5))
    x, y = np.array(curve.fpr), np.array(curve.fnr)
    assert len(x) <= MAX_CURVE_POINTS
    assert (x[0], x[-1]) == (0.0, 1.0)
    assert turns(x, y).max() < 6.0  # even points: 13 to 45
    at = between(x)
    drawn, exact = np.interp(at, x, y), np.asarray(claim.tradeoff(at))
    slope = np.gradient(np.interp(at, x, y), at)
    assert np.max(np.abs(drawn - exact) / np.hypot(1.0, slope)) < 3e-4
    seen = (at > 1e-5) & (at < 0.5) & (exact > 1e-5)  # where logarithmic axes show it; the rest is its mirror image
    assert np.max(np.abs(np.log10(drawn[seen] / exact[seen]))) < 0.02


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_the_tradeoff_curve_is_kept_equally_well_at_both_ends(claim):
    curve = claim_curve(claim, claim.epsilon(1e-5))
    x, y = np.array(curve.fpr), np.array(curve.fnr)
    mirrored = np.interp(x, y[::-1], x[::-1])
    assert np.max(np.abs(mirrored - y) / np.hypot(1.0, np.gradient(y, x))) < 1e-3


def test_straight_lines_need_no_points_and_corners_few():
    n = [len(claim_curve(claim, 1.0).fpr) for claim in (PureDP(0.0), PureDP(1.0), ApproximateDP(1.0, 1e-3))]
    assert max(n) < 40


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_profile_of_a_pure_claim_ends_at_its_epsilon(epsilon):
    claim = PureDP(epsilon)
    curve = claim_curve(claim, epsilon)
    grid, delta = np.array(curve.epsilon), np.array(curve.delta)
    assert epsilon in grid
    assert grid[-1] == pytest.approx(1.5 * epsilon)
    assert delta[grid >= epsilon].max() <= 1e-15
    assert 0.0 < delta[grid < epsilon][-1] < 2e-5 * delta[0]
    assert len(grid) <= 130


def test_claims_of_nothing_and_of_anything_have_a_profile_too():
    assert claim_curve(PureDP(0.0), 0.0).epsilon[-1] == 0.5
    assert np.isfinite(claim_curve(ApproximateDP(1.0, 1e-3), np.inf).epsilon).all()


def test_the_worst_point_is_added_first():
    x = np.linspace(0.0, 1.0, 1001)
    y = np.maximum(1.0 - 4.0 * x, 0.25 * (1.0 - x))
    kept = _drawn_points(x, y, start=np.array([0]))
    assert 200 in kept
    assert len(kept) <= 6
