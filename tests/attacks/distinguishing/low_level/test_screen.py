"""What a level adds to a score that already says something."""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpassay.attacks.distinguishing.low_level.screen import (
    PILOT_LEVEL,
    LevelOdds,
    fit_level_odds,
    largest_log_ratio,
    log_p_value,
)

N = 4_000


def sample(seed, leak=0.0, skill=1.0):
    """Sides, a calibrated score, and levels: level 3 is likelier on side 1 by `leak` in log odds."""
    rng = np.random.default_rng(seed)
    sides = np.repeat([0, 1], N // 2)
    x = rng.normal(size=N) + skill * sides  # log odds of side 1: skill (x - skill / 2)
    rare = rng.random(N) < 0.1 * np.where(sides == 1, math.exp(leak), 1.0)
    return np.where(rare, 3, rng.integers(0, 3, N)), sides, skill * (x - skill / 2)


def test_a_level_adds_what_the_score_does_not_say():
    added = [float(fit_level_odds(*sample(seed, leak=1.0)).of(np.array([3]))[0]) for seed in range(20)]
    assert np.mean(added) == pytest.approx(1.0, abs=0.15)


def test_a_level_of_one_side_only_adds_the_smoothed_log_odds_of_its_counts():
    levels, sides = np.repeat([0, 1, 2], [500, 500, 33]), np.repeat([0, 1, 1], [500, 500, 33])
    added = fit_level_odds(levels, sides, np.full(len(levels), -math.log(533 / 500))).of(np.array([2]))[0]
    assert added == pytest.approx(math.log(33.5 / 0.5), abs=1e-3)


def test_what_the_score_says_already_is_not_added_again():
    _, sides, scores = sample(0, skill=2.0)
    levels = (scores > 0.5).astype(np.int64)  # a level that points to side 1 strongly, as the score does
    assert log_p_value(levels, sides, np.zeros(N)) < -100.0
    assert log_p_value(levels, sides, scores) > math.log(1e-3)


@pytest.mark.parametrize("skill", [0.0, 1.0, 3.0])
def test_a_level_that_says_nothing_is_rarely_taken_for_one_that_does(skill):
    taken = sum(log_p_value(*sample(seed, skill=skill)) <= math.log(0.05) for seed in range(200))
    assert taken <= stats.binom.isf(1e-6, 200, 0.05)


def test_a_level_that_says_something_is_seen():
    assert log_p_value(*sample(0, leak=1.0)) < math.log(1e-6)


def test_unequal_sides_do_not_make_a_level():
    levels, sides, scores = sample(0)
    fewer = np.flatnonzero((sides == 0) | (np.arange(N) % 3 == 0))
    assert log_p_value(levels[fewer], sides[fewer], scores[fewer]) > math.log(1e-3)


def test_levels_that_the_pilot_lacked_add_nothing():
    assert LevelOdds(np.array([2, 5]), np.array([1.0, -1.0])).of(np.array([1, 2, 5, 9])).tolist() == [
        0.0,
        1.0,
        -1.0,
        0.0,
    ]
    assert fit_level_odds(np.arange(100), np.arange(100) % 2, np.zeros(100)).of(np.arange(3)).tolist() == [0.0] * 3


def test_the_promise_is_that_of_every_threshold_tried_in_turn():
    rng = np.random.default_rng(0)
    out, in_ = rng.normal(size=150).round(1), rng.normal(0.7, size=200).round(1)

    def ratio(gain, n_gain, loss, n_loss):
        if not gain or loss == n_loss:
            return -math.inf
        lower = stats.beta.ppf(PILOT_LEVEL, gain, n_gain - gain + 1)
        return math.log(lower / stats.beta.ppf(1 - PILOT_LEVEL, loss + 1, n_loss - loss))

    best = max(
        max(
            ratio(np.sum(in_ >= t), 200, np.sum(out >= t), 150),
            ratio(np.sum(out < t), 150, np.sum(in_ < t), 200),
        )
        for t in np.concatenate([out, in_])
    )
    assert largest_log_ratio(out, in_) == pytest.approx(best)


def test_nothing_is_promised_where_sides_are_alike_or_empty():
    same = special.ndtri((np.arange(500) + 0.5) / 500)
    assert largest_log_ratio(same, same) < 0.02
    assert largest_log_ratio(np.empty(0), same) == 0.0
