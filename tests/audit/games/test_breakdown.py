"""The parts of a claim sum to it, and each is right where the truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import audit
from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.results.breakdown import PARTS, break_down
from dpassay.audit.results.estimates.gaussian_fit import gaussian_fit
from dpassay.experiments.present.plots.breakdown import BreakdownPlot
from dpassay.experiments.present.plots.style import new_figure
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.core import Neighbours, ParameterError, Relation, ResultError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.catalogue import samplings
from dpassay.mechanisms.learning.models import SoftmaxRegression

DELTA = 1e-5
MODEL = SoftmaxRegression(4, 3)
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(30, 3)), np.zeros(30)])  # the last feature is dead
Y = RNG.integers(0, 3, 30)


def trainer(**options):
    given = {"steps": 20, "noise_multiplier": 4.0, "sampling": "full-batch", "batch_size": 30, "learning_rate": 0.5}
    return DPSGD(MODEL, **(given | options))


def pair(norm=1.0, coordinate=3):
    """Return the examples, and on side 1 a gradient of this norm on a weight; weight 3 reads the dead feature."""
    gradient = np.zeros((1, MODEL.n_parameters))
    gradient[0, coordinate] = norm
    return Neighbours(TrainingData(X, Y), TrainingData(X, Y, gradient), Relation.ADD_REMOVE)


def parts_of(mechanism, neighbours, **options):
    result = audit(mechanism, neighbours, trials=400, delta=DELTA, seed=0, bound="accountant-family", **options)
    return result, {part.name: part for part in result.breakdown.parts}


def test_each_part_is_right_for_a_gradient_of_half_the_norm_and_a_loose_claim():
    loose = GaussianDP(2.0)
    result, parts = parts_of(trainer(view="noisy_gradients"), pair(norm=0.5), claim=loose, attack="likelihood-ratio")
    white = GaussianDP(math.sqrt(20) / 4.0).epsilon(DELTA)
    view = GaussianDP(0.5 * math.sqrt(20) / 4.0).epsilon(DELTA)
    assert parts["accounting"].epsilon == pytest.approx(loose.epsilon(DELTA) - white)
    assert parts["threat model"].epsilon == pytest.approx(white - view)
    assert parts["attack"].epsilon == 0.0
    assert parts["estimator"].epsilon == pytest.approx(view - result.bound.epsilon)
    assert result.exact_epsilon == pytest.approx(view)
    assert min(part.epsilon for part in parts.values()) >= 0.0
    assert result.breakdown.claim == pytest.approx(result.claim)


def test_a_claim_below_the_exact_epsilon_has_no_parts_even_if_it_is_not_refuted():
    false = GaussianDP(0.9 * math.sqrt(20) / 4.0)
    result = audit(trainer(view="noisy_gradients"), pair(), claim=false, trials=400, delta=DELTA, seed=0)
    assert (result.refuted_by, result.breakdown) == (None, None)


def test_final_model_with_a_dirac_canary_has_a_known_view_and_an_estimated_attack():
    _, parts = parts_of(trainer(learning_rate=0.5), pair(), attack="canary-direction")
    assert parts["threat model"].epsilon == pytest.approx(0.0, abs=1e-9)
    low, high = parts["attack"].interval
    assert low <= 0.0 + 1e-9 < high  # the direction is the likelihood ratio there: nothing is lost


def test_parts_that_cannot_be_separated_are_one_part_with_both_names():
    neighbours = Neighbours(TrainingData(X[:-1], Y[:-1]), TrainingData(X, Y), Relation.ADD_REMOVE)
    result, parts = parts_of(trainer(), neighbours, attack="canary-loss")
    assert list(parts) == ["accounting", "threat model + attack", "estimator"]
    assert result.breakdown.claim == pytest.approx(result.claim)
    assert AuditResult.from_json(result.to_json()) == result


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("view", ["final", "noisy_gradients"])
def test_curve_of_a_view_is_that_of_the_outputs_along_the_canary(view, momentum):
    mechanism = trainer(view=view, momentum=momentum, steps=5).bind(pair())
    sides = []
    for side in (0, 1):
        values = mechanism.release(pair().side(side), 4000, np.random.default_rng(side)).values
        sides.append(values[:, 3] if view == "final" else values.sum(axis=(1, 2)))
    found = abs(sides[1].mean() - sides[0].mean()) / np.sqrt(0.5 * (sides[0].var() + sides[1].var()))
    mu = mechanism.view_guarantee(pair()).mu
    reach = stats.norm.isf(0.5e-6) * math.sqrt((2.0 + mu * mu / 4.0) / 4000)
    assert abs(found - mu) < reach
    assert abs(found - 2.0 * mu) > reach  # a curve that is wrong by a factor would not pass


@pytest.mark.parametrize(
    ("options", "coordinate"),
    [
        ({}, 0),
        ({"projection": 1.0}, 3),
        ({"initial": "random"}, 3),
        ({"averaging": "mean"}, 3),
        ({"optimizer": "adam"}, 3),
    ],
    ids=["live feature", "projection", "random start", "mean of iterates", "adam"],
)
def test_final_view_has_no_known_curve_where_something_disturbs_it(options, coordinate):
    assert trainer(**options).view_guarantee(pair(coordinate=coordinate)) is None


def test_poisson_view_with_a_dirac_canary_is_that_of_the_accountant():
    mechanism = trainer(sampling="poisson", sampling_probability=0.2, view="noisy_gradients", steps=5).bind(pair())
    known = mechanism.view_guarantee(pair()).epsilon(DELTA)
    assert known == pytest.approx(mechanism.white_box_guarantee().epsilon(DELTA), rel=1e-6)
    assert mechanism.curve(pair()) is None  # on a grid: not exact


@pytest.mark.parametrize("attack", [None, 4.0])
@pytest.mark.parametrize("view", [None, 5.0])
@pytest.mark.parametrize("white_box", [None, 8.0])
def test_parts_and_bound_sum_to_the_claim_whatever_is_unknown(white_box, view, attack):
    found = break_down(10.0, white_box=white_box, view=view, attack=attack, bound=3.0)
    assert tuple(step for part in found.parts for step in part.steps) == PARTS
    assert found.claim == pytest.approx(10.0)
    found.check(10.0, 3.0, "")
    with pytest.raises(ResultError, match="sum to"):
        replace(found, parts=(*found.parts[:-1], replace(found.parts[-1], epsilon=9.0))).check(10.0, 3.0, "")


def test_infinite_claim_has_no_parts():
    with pytest.raises(ParameterError, match="finite"):
        break_down(math.inf, white_box=None, view=None, attack=None, bound=1.0)


def test_interval_of_the_gaussian_fit_holds_its_level_on_gaussian_scores_only():
    def misses(mu, scale):
        rng, missed, truth = np.random.default_rng(0), 0, GaussianDP(1.0).epsilon(DELTA)
        for _ in range(60):
            out, in_ = rng.normal(size=(2, 300))
            scores = PairScores(out, mu + scale * in_)
            low, high = gaussian_fit(scores, rng=rng, delta=DELTA, level=0.8, resamples=200).interval
            missed += not low <= truth <= high
        return missed

    limit = stats.binom.isf(1e-6, 60, 0.2)
    assert misses(1.0, 1.0) <= limit < misses(2.0, 1.0)


def test_only_schemes_with_an_attained_accountant_are_tight():
    assert {name for name in samplings if samplings.get(name).tight} == {"full-batch", "poisson"}


def test_correlated_noise_has_a_white_box_curve_and_no_curve_of_the_view():
    mechanism = trainer(view="noisy_gradients", noise="tree")
    worst = mechanism.white_box_guarantee()
    assert worst.epsilon(DELTA) == pytest.approx(mechanism.guarantee().epsilon(DELTA))
    assert mechanism.bind(pair()).view_guarantee(pair()) is None
    assert trainer(view="noisy_gradients").bind(pair()).view_guarantee(pair()) is not None


def test_legend_marks_the_parts_that_no_bar_shows():
    found = break_down(10.0, white_box=10.0, view=None, attack=6.0, bound=5.0)
    axes = BreakdownPlot((("audit", found),), "", 0.95).plot(new_figure().add_subplot())
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["lower bound", "estimator", "threat model + attack", "accounting: 0 in all bars"]
