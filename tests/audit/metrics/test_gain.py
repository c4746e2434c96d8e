"""The gain of an attack over its baselines: known values, coverage of the headline, words, and what is refused."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.audit.metrics import Gain, gain
from dpassay.mechanisms.core import ParameterError, ResultError


def flags(right, n):
    return np.arange(n) < right


def test_headline_is_the_gain_over_the_better_baseline():
    result = gain(flags(70, 100), without_release=flags(40, 100), without_person=flags(55, 100))
    assert result.headline.value == pytest.approx(0.15)
    assert result.better.baseline == "without the person"
    assert result.headline.lower == result["without the person"].gain.lower > 0
    assert result["without the release"].gain.value == pytest.approx(0.30)
    assert result.significant


def test_residual_risk_is_the_share_of_the_missed_that_the_attack_adds():
    result = gain(flags(70, 100), without_release=flags(40, 100))
    risk = result.over[0].residual_risk
    assert risk.value == pytest.approx(0.5)
    assert 0 < risk.lower < 0.5 < risk.upper < 1


def test_the_same_answers_gain_nothing():
    right = flags(30, 80)
    result = gain(right, without_release=right, without_person=right)
    assert result.headline.value == 0.0
    assert result.over[0].residual_risk.value == 0.0
    assert not result.significant
    assert result.minimum_detectable == pytest.approx(-result.headline.lower)


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize("attack", [True, False])
def test_all_and_none_right_give_numbers(attack, base, n):
    result = gain([attack] * n, without_release=[base] * n, without_person=[base] * n)
    value = float(attack) - float(base)
    assert result.headline.lower <= value <= result.headline.upper
    risk = result.over[0].residual_risk
    assert risk.lower <= risk.value <= risk.upper
    assert risk.value == (0.0 if attack == base else 1.0 if attack else -math.inf)
    assert result.summary()
    assert Gain.from_json(result.to_json()) == result


REPEATS = 150


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (0.25, 0.0), (0.0, 0.9)])
def test_interval_of_the_headline_misses_no_more_often_than_it_may(first, second):
    """Baselines that are equally good are the hard case of the upper limit: either may look better by chance."""
    rng, missed = np.random.default_rng(3), np.zeros(2)
    for _ in range(REPEATS):
        attack = rng.random(9) < 0.5
        base = [np.where(rng.random(9) < 0.9, rng.random(9) < 0.5 - f / 2, attack) for f in (first, second)]
        true = min(0.9 * f / 2 for f in (first, second))
        result = gain(attack, without_release=base[0], without_person=base[1], confidence=0.6)
        missed += [result.headline.lower > true, result.headline.upper < true]
    assert (missed <= stats.binom.isf(1e-6, REPEATS, 0.2)).all()
    assert missed.sum() <= stats.binom.isf(1e-6, REPEATS, 0.4)


def test_the_upper_limits_of_two_baselines_share_the_level():
    attack, a, b = flags(30, 60), flags(20, 60), flags(20, 60)
    both, one = gain(attack, without_release=a, without_person=b), gain(attack, without_release=a)
    assert both.headline.upper > one.headline.upper
    assert both.headline.lower == one.headline.lower


def test_scores_are_averaged_without_a_law():
    rng = np.random.default_rng(0)
    control = rng.random(400)
    result = gain(0.5 * control + 0.5, without_person=control)
    assert not result.exact
    assert result.headline.lower < result.headline.value < result.headline.upper
    assert result.headline.value == pytest.approx(0.5 - control.mean() / 2)
    assert result.significant
    assert "mean score" in result.summary()


def test_words_say_what_was_learned_and_what_would_have_shown():
    population = gain(flags(90, 100), without_release=flags(50, 100), without_person=flags(89, 100)).summary()
    assert "No gain was detected" in population
    assert "would have been detected" in population
    assert "learns from the population" in population
    assert "gains at least" in gain(flags(90, 100), without_person=flags(30, 100)).summary()
    assert "is worse than a baseline" in gain(flags(10, 100), without_person=flags(60, 100)).summary()
    assert "not memorised" in gain(flags(90, 100), without_release=flags(30, 100)).summary()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"attack": [True]}, "without_release"),
        ({"attack": [True], "without_release": [True, False]}, "without_release"),
        ({"attack": [], "without_person": []}, "attack"),
        ({"attack": [2.0], "without_person": [True]}, "attack"),
        ({"attack": [0.5], "without_person": [math.nan]}, "without_person"),
        ({"attack": ["yes"], "without_person": [True]}, "attack"),
        ({"attack": [True], "without_person": [True], "confidence": 1.0}, "confidence"),
    ],
)
def test_wrong_arguments_are_named(given, named):
    with pytest.raises(ParameterError) as caught:
        gain(**given)
    assert caught.value.argument == named


def test_a_value_out_of_range_is_shown_with_its_place():
    with pytest.raises(ParameterError, match=r"without_person must be .*, but at 1 is 1.5"):
        gain([0.5, 0.5], without_person=[0.5, 1.5])


def test_a_baseline_that_is_missing_is_named():
    with pytest.raises(ParameterError, match="without the person"):
        gain([True], without_person=[False])["without the release"]


def test_saved_numbers_that_contradict_each_other_are_refused():
    result = gain([True, False], without_person=[False, False])
    broken = Gain(result.attack, (), result.headline, result.n, result.of, result.exact, result.confidence)
    with pytest.raises(ResultError, match="no baseline"):
        Gain.from_json(broken.to_json())
