"""Scores are chosen on the pilot by what left-out thirds show, so that luck has no advantage."""

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.distinguishing.cross_fit import best_events, calibrated_losses, choose, cross_fit, cross_fit_scores
from dpassay.attacks.distinguishing.simple_scores import Statistic

RNG = np.random.default_rng


def naive_limit(k1, n1, k0, n0, delta):
    """The limit at three times as many trials, written out for one event."""
    p1, p0 = (3 * k1 + 0.5) / (3 * n1 + 1), (3 * k0 + 0.5) / (3 * n0 + 1)
    gain = max(p1 - delta, 0.5 / (3 * n1 + 1))
    return np.log(gain / p0) - 1.645 * np.sqrt(p1 * (1 - p1) / (3 * n1 * gain**2) + (1 - p0) / (3 * n0 * p0))


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_best_event_is_that_of_a_search_over_all(delta):
    rng = RNG(0)
    out, in_ = rng.integers(0, 9, (40, 6)).astype(float), rng.integers(2, 12, (50, 6)).astype(float)
    out[:, 3:], in_[:, 3:] = -out[:, 3:], -in_[:, 3:]
    for column, event in enumerate(best_events(out, in_, delta)):
        side0, side1 = out[:, column], in_[:, column]
        searched = []
        for threshold in np.unique(np.concatenate([side0, side1])):
            for above in (True, False):
                hits0, hits1 = (((side >= threshold) == above).sum() for side in (side0, side1))
                searched += [naive_limit(hits1, 50, hits0, 40, delta), naive_limit(hits0, 40, hits1, 50, delta)]
        assert event.is_reversed == (column >= 3)
        assert event.limit == pytest.approx(max(searched))
        hits0, hits1 = event.holds(side0).sum(), event.holds(side1).sum()
        counts = (hits1, 50, hits0, 40) if event.side else (hits0, 40, hits1, 50)
        assert naive_limit(*counts, delta) == pytest.approx(event.limit)


def test_the_best_of_many_lucky_events_has_no_limit_where_it_is_measured():
    """With 60 coordinates that say nothing, the best event looks good where it is chosen."""
    fits, proposed = [], []
    for seed in range(20):
        rng = RNG(seed)
        rows = rng.normal(size=(150, 30)), rng.normal(size=(150, 30))
        scorer = Statistic.fit(rows, 0.0)
        (event,) = best_events(*(scorer.of_rows(side)[:, None] for side in rows), 0.0)
        proposed.append(event.limit)
        fits.append(cross_fit(lambda sides: Statistic.fit(sides, 0.0), rows, 0.0))
    assert np.mean(proposed) > 0.4
    limits = np.array([fit.limit for fit in fits])
    assert limits.mean() < -0.2
    assert (limits > 0.0).sum() <= stats.binom.isf(1e-6, 20, 0.05)


def test_the_standard_error_is_that_of_repeated_pilots():
    differences, errors = [], []
    for seed in range(200):
        rng = RNG(seed)
        out, in_ = rng.laplace(size=(2, 900)), rng.laplace(size=(2, 900)) + 1.0
        first = cross_fit_scores((out[0], in_[0]), 0.0)
        second = cross_fit_scores((out[0] + 0.5 * out[1], in_[0] + 0.5 * in_[1] - 0.5), 0.0)
        differences.append(first.limit - second.limit)
        errors.append(first.standard_error(second))
    assert np.std(differences) == pytest.approx(np.mean(errors), rel=0.35)


def test_losses_do_not_depend_on_the_scale_of_scores():
    rng = RNG(1)
    out, in_ = rng.normal(size=500), rng.normal(size=500) + 1.0
    losses = calibrated_losses((out, in_))
    np.testing.assert_allclose(calibrated_losses((40.0 * out - 7.0, 40.0 * in_ - 7.0)), losses, rtol=1e-6)
    assert losses.mean() == pytest.approx(np.mean(np.logaddexp(0.0, np.concatenate([out - 0.5, 0.5 - in_]))), abs=0.01)
    assert losses.mean() < np.log(2.0) < calibrated_losses((out, out)).mean() + 1e-9


def test_the_simplest_of_equal_scores_is_chosen_and_a_clearly_better_one_later():
    rng = RNG(2)
    out, in_ = rng.normal(size=2_000), rng.normal(size=2_000) + 1.0
    good, same = cross_fit_scores((out, in_), 0.0), cross_fit_scores((np.exp(0.1 * out), np.exp(0.1 * in_)), 0.0)
    noise = cross_fit_scores((rng.normal(size=2_000), rng.normal(size=2_000)), 0.0)
    assert choose([good, same]) == 0
    assert choose([noise, good, noise]) == 1


def test_a_score_with_a_worse_loss_and_a_far_better_event_is_chosen():
    """Of side 1, 6 % are marked, and 0.1 % of side 0: an event of large log ratio, and a small part of the loss."""
    rng, n = RNG(3), 4_000
    bulk = cross_fit_scores((rng.laplace(size=n).clip(0.0, 1.0), (1.0 + rng.laplace(size=n)).clip(0.0, 1.0)), 0.0)
    marks = cross_fit_scores(tuple(rng.random(n) + 4.0 * (rng.random(n) < rate) for rate in (0.001, 0.06)), 0.0)
    assert marks.losses.mean() > bulk.losses.mean() + 0.005
    assert choose([bulk, marks]) == 1
