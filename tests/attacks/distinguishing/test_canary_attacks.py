"""Attacks on trained models: what they score, against slow twins; the law of the scores; what is refused."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.attacks.attack_laws import check_scorer

from dpassay.attacks.base import Target
from dpassay.attacks.canaries import Blank, ClipBKD, Dirac, Mislabelled, Natural, RandomDirection
from dpassay.attacks.catalogue import catalogue, choose
from dpassay.attacks.distinguishing import CanaryDirection, CanaryLoss, GradientProduct
from dpassay.attacks.distinguishing.canary_attacks import TargetedAttack
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import AttackError, Neighbours, Outputs
from dpassay.mechanisms.learning.base import TrainingData, differing
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.broken.divisors import ExpectedBatchSizeOfData
from dpassay.mechanisms.learning.dp_sgd.sampling import FullBatch
from dpassay.mechanisms.learning.models import LogisticRegression, MultiLayerPerceptron, SoftmaxRegression
from dpassay.mechanisms.learning.models.trained import TrainedModels

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

FALSE_ALARM = 1e-6
MODEL = SoftmaxRegression(4, 3)
NET = MultiLayerPerceptron(4, hidden=(3,), n_outputs=3)


def records(n=10, seed=0):
    """The third feature is dead."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = 0.0
    return X, rng.integers(0, 3, n)


def learner(model=MODEL, **options):
    given = {"steps": 6, "noise_multiplier": 2.0, "sampling": FullBatch(expected_batch_size=10), "learning_rate": 0.7}
    return DPSGD(model, **(given | options))


def scorer_of(attack, mechanism, pair):
    nothing = mechanism.release(pair.d0, 0, np.random.default_rng(0))
    return attack.fit(Target(mechanism, pair), nothing, nothing, np.random.default_rng(0))


def both_sides(mechanism, pair, size, seed=0):
    rng = np.random.default_rng(seed)
    return mechanism.release(pair.d0, size, rng), mechanism.release(pair.d1, size, rng)


TARGETED = {
    "canary-loss": (CanaryLoss(), learner(), Mislabelled()),
    "canary-direction": (CanaryDirection(), learner(), Dirac()),
    "gradient-product": (GradientProduct(), learner(view="trajectory"), Mislabelled()),
}
every = pytest.mark.parametrize("name", TARGETED)


def test_every_targeted_attack_of_the_catalogue_is_tested_here():
    assert {name for name in catalogue if issubclass(catalogue.get(name), TargetedAttack)} == set(TARGETED)


@every
def test_side_1_scores_higher_whatever_the_pilot(name):
    attack, mechanism, canary = TARGETED[name]
    pair = canary.pair(records(), mechanism)
    scorer = scorer_of(catalogue.build(name), mechanism, pair)
    out, in_ = (scorer.score(outputs) for outputs in both_sides(mechanism, pair, 2000))
    assert stats.mannwhitneyu(in_, out, alternative="greater").pvalue < FALSE_ALARM
    pilot = both_sides(mechanism, pair, 50, seed=3)
    again = attack.fit(Target(mechanism, pair), *pilot, np.random.default_rng(5))
    assert np.array_equal(again.score(pilot[0]), scorer.score(pilot[0]))
    assert attack.minimum_pilot == 0


@every
def test_scorers_score_each_run_independently(name):
    attack, mechanism, canary = TARGETED[name]
    pair = canary.pair(records(), mechanism)
    check_scorer(scorer_of(attack, mechanism, pair), both_sides(mechanism, pair, 7)[1].values, rtol=1e-9)


@every
def test_other_mechanisms_and_views_are_refused_by_check_and_fit(name):
    attack, _, canary = TARGETED[name]
    with pytest.raises(AttackError, match=r"needs a trainer .*which Laplace lacks.*classifier"):
        choose(name, Target(Laplace(1.0), Laplace(1.0).worst_case()))
    seen = Target(learner(view="noisy_gradients"), canary.pair(records(), learner()))
    assert not attack.supports(seen)
    nothing = Outputs(np.empty((0, MODEL.n_parameters)))
    for refuses in (attack.check, lambda target: attack.fit(target, nothing, nothing, np.random.default_rng(0))):
        with pytest.raises(AttackError, match=r"needs view .*, but the mechanism releases 'noisy_gradients'"):
            refuses(seen)


# --- which one "auto" takes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("canary", "options", "name"),
    [
        (Natural(), {}, "canary-loss"),
        (ClipBKD(copies=3), {}, "canary-loss"),
        (Mislabelled(), {"model": NET, "initial": "random"}, "canary-loss"),
        (Dirac(), {}, "canary-direction"),
        (RandomDirection(), {"averaging": "mean"}, "canary-direction"),
        (Mislabelled(), {"view": "trajectory"}, "gradient-product"),
        (Dirac(), {"view": "trajectory"}, "gradient-product"),
        (Mislabelled(), {"view": "trajectory", "noise_multiplier": 0.0}, "canary-loss"),
        (Dirac(), {"view": "noisy_gradients"}, "likelihood-ratio"),
    ],
)
def test_auto_takes_the_attack_on_the_canary(canary, options, name):
    mechanism, pair = canary.stage(records(), learner(**options))
    assert choose("auto", Target(mechanism, pair))[0] == name


def test_auto_takes_the_classifier_where_nothing_else_can_be_used():
    same = learner(relation="replace_one")
    X, y = records()
    twice = [TrainingData(X, y, size * np.eye(MODEL.n_parameters)[:1]) for size in (2.0, 3.0)]
    target = Target(same, Neighbours(*twice, "replace_one"))  # clipped, they are the same
    assert choose("auto", target)[0] == "classifier"


def test_auto_takes_the_classifier_on_a_trainer_that_may_leak_elsewhere():
    """The divisor depends on the data: the canary has no gradient, and the scale of all noise tells."""
    broken = ExpectedBatchSizeOfData(view="trajectory")
    pair = broken.worst_case()
    options = {"trials": 400, "delta": 1e-5, "confidence": 1 - 1e-6, "seed": 1}
    observed = audit(broken, pair, **options)
    assert (observed.attack, observed.verdict) == ("classifier", Verdict.VIOLATION)
    assert audit(broken, pair, attack="gradient-product", **options).verdict is not Verdict.VIOLATION


@pytest.mark.parametrize("canary", [pytest.param(Blank(label=1), marks=pytest.mark.slow), Dirac()])
def test_auto_finds_more_than_the_classifier(canary):
    mechanism = learner(steps=20, noise_multiplier=4.0)
    pair = canary.pair(records(), mechanism)
    options = {"trials": 300, "delta": 1e-5, "bound": "accountant-family"}
    auto, classifier = (
        np.mean([audit(mechanism, pair, attack=attack, seed=seed, **options).bound.epsilon for seed in range(3)])
        for attack in ("auto", "classifier")
    )
    assert auto > 1.15 * classifier


# --- canary-loss -----------------------------------------------------------------------------------------------------


def naive_loss(parameters, x, label):
    logits = parameters.reshape(3, 5) @ np.append(x, 1.0)
    return math.log(np.exp(logits).sum()) - logits[label]


@pytest.mark.parametrize(
    ("canary", "options"),
    [
        (Mislabelled(record=4), {}),
        (Mislabelled(record=4), {"view": "trajectory"}),
        (Mislabelled(record=4), {"relation": "zero_out"}),
        (ClipBKD(record=4), {"relation": "replace_one"}),
    ],
)
def test_canary_loss_is_the_difference_of_losses_of_the_final_model(canary, options):
    """The blank record of zero_out has no loss."""
    mechanism = learner(**options)
    pair = canary.pair(records(), mechanism)
    outputs = both_sides(mechanism, pair, 5)[1]
    replaced = [(1.0, differing(pair)[0])] if options.get("relation") == "replace_one" else []
    terms = [(sign, only.X[0], int(only.y[0])) for sign, only in [*replaced, (-1.0, differing(pair)[1])]]
    last = outputs.values.reshape(5, -1, MODEL.n_parameters)[:, -1]
    expected = [sum(sign * naive_loss(p, x, label) for sign, x, label in terms) for p in last]
    score = scorer_of(CanaryLoss(), mechanism, pair).score(outputs)
    assert np.allclose(score, expected, rtol=1e-9, atol=1e-12)


def test_canary_loss_refuses_gradient_records():
    with pytest.raises(AttackError, match="gradient records, which have no loss"):
        CanaryLoss().check(Target(learner(), Dirac().pair(records(), learner())))


# --- canary-direction ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MODEL, NET])
@pytest.mark.parametrize("view", ["final", "trajectory"])
@pytest.mark.parametrize("canary", [Dirac(), Dirac(alone=True), RandomDirection(alone=True)])
def test_without_noise_the_displacement_is_that_of_the_canary(model, view, canary):
    start = np.random.default_rng(1).normal(size=model.n_parameters)
    mechanism = learner(model, noise_multiplier=0.0, view=view, initial=start, clip_norm=0.5)
    pair = canary.pair(records(), mechanism)
    out, in_ = (scorer_of(CanaryDirection(), mechanism, pair).score(o) for o in both_sides(mechanism, pair, 2))
    assert np.allclose(out, 0.0, atol=1e-12)
    assert np.allclose(in_, 6 * 0.7 * 0.5 / 10, rtol=1e-12)


def test_hiding_the_state_hides_nothing_of_a_gradient_in_every_step():
    """The score has the law N(0, s^2) against N(mu s, s^2), mu = sqrt(steps) / noise_multiplier: that of the claim."""
    mechanism = learner(noise_multiplier=3.0, steps=9)
    pair = Dirac().pair(records(), mechanism)
    unit = 0.7 / 10 * 3.0 * math.sqrt(9)
    out, in_ = (
        scorer_of(CanaryDirection(), mechanism, pair).score(o) / unit for o in both_sides(mechanism, pair, 4000)
    )
    mu = mechanism.guarantee().mu
    assert mu == pytest.approx(1.0)
    assert stats.kstest(out, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(in_ - mu, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(in_ - 0.8 * mu, "norm").pvalue < FALSE_ALARM  # the test would see a weaker canary


@pytest.mark.parametrize(
    ("canary", "options"),
    [
        (Mislabelled(record=4), {"initial": np.random.default_rng(1).normal(size=MODEL.n_parameters)}),
        (ClipBKD(record=4), {"relation": "replace_one", "clip_norm": 0.4}),
    ],
    ids=["added", "replaced"],
)
def test_examples_are_projected_on_the_difference_of_clipped_gradients(canary, options):
    mechanism, start = learner(**options), options.get("initial", np.zeros(MODEL.n_parameters))
    pair = canary.pair(records(), mechanism)
    outputs = both_sides(mechanism, pair, 4)[1]
    direction = np.zeros(MODEL.n_parameters)
    for sign, only in zip((-1.0, 1.0), differing(pair), strict=True):
        for gradient in TrainedModels(MODEL, start[None]).gradients(only.X, only.y)[0] if len(only.X) else ():
            direction += sign * gradient * min(1.0, options.get("clip_norm", 1.0) / np.linalg.norm(gradient))
    expected = (start - outputs.values) @ direction / np.linalg.norm(direction)
    score = scorer_of(CanaryDirection(), mechanism, pair).score(outputs)
    assert np.allclose(score, expected, rtol=1e-10, atol=1e-14)


def test_canary_direction_refuses_unknown_or_equal_gradients():
    random = learner(NET, initial="random")
    with pytest.raises(AttackError, match="drawn for every run"):
        CanaryDirection().check(Target(random, Mislabelled().pair(records(), random)))
    assert CanaryDirection().supports(Target(random, Dirac().pair(records(), random)))
    X, y = records()
    saturated = np.zeros((3, 5))
    saturated[:, -1] = (1000.0, 0.0, 0.0)
    sure = learner(initial=saturated.ravel())
    y[4] = 0
    with pytest.raises(AttackError, match="no direction to project on"):
        CanaryDirection().check(Target(sure, Natural(record=4).pair((X, y), sure)))


# --- gradient-product ------------------------------------------------------------------------------------------------


def naive_log_ratio(trajectory, mechanism, pair):
    """Exact log density of a trajectory on both sides, with explicit gradients of every record. Full batches only."""
    scale = mechanism.noise_multiplier * mechanism.clip_norm
    total = 0.0
    velocity = np.zeros(trajectory.shape[1])
    for at, following, rate in zip(trajectory[:-1], trajectory[1:], mechanism.recipe.rates, strict=True):
        moved = (at - following) / rate * 10
        noisy_sum, velocity = moved - mechanism.momentum * velocity, moved
        for side, sign in ((1, 1.0), (0, -1.0)):
            data = pair.side(side)
            gradients = TrainedModels(mechanism.network, at[None]).gradients(data.X, data.y)[0]
            norms = np.linalg.norm(gradients, axis=1)
            clipped = gradients * np.minimum(1.0, mechanism.clip_norm / norms)[:, None]
            if mechanism.relation == "zero_out":
                clipped = clipped[np.any(data.X != 0, axis=1) | (data.y != 0)]
            total += sign * stats.norm.logpdf(noisy_sum, clipped.sum(axis=0), scale).sum()
    return total


@pytest.mark.parametrize("model", [MODEL, NET])
@pytest.mark.parametrize("relation", ["add_remove", "zero_out", "replace_one"])
@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_with_known_others_it_is_the_exact_log_likelihood_ratio(model, relation, momentum):
    mechanism = learner(model, view="trajectory", relation=relation, momentum=momentum, clip_norm=0.8)
    pair = Mislabelled(record=4).pair(records(), mechanism)
    outputs = both_sides(mechanism, pair, 3)[1]
    expected = [naive_log_ratio(trajectory, mechanism, pair) for trajectory in outputs.values]
    assert np.allclose(scorer_of(GradientProduct(), mechanism, pair).score(outputs), expected, rtol=1e-8, atol=1e-9)


def test_with_unknown_others_it_is_the_sum_of_inner_products():
    mechanism = learner(view="trajectory")
    pair = Natural(record=4).pair(records(), mechanism)
    outputs = both_sides(mechanism, pair, 3)[1]
    only1 = differing(pair)[1]
    expected = []
    for trajectory in outputs.values:
        gradients = [TrainedModels(MODEL, at[None]).gradients(only1.X, only1.y)[0, 0] for at in trajectory[:-1]]
        clipped = [g * min(1.0, 1.0 / np.linalg.norm(g)) for g in gradients]
        steps = (trajectory[:-1] - trajectory[1:]) * 10 / 0.7
        expected.append(sum(s @ g for s, g in zip(steps, clipped, strict=True)))
    score = scorer_of(GradientProduct(others="unknown"), mechanism, pair).score(outputs)
    assert np.allclose(score, expected, rtol=1e-10)


def test_poisson_score_of_a_single_gradient_is_the_exact_log_ratio():
    mechanism = learner(
        LogisticRegression(4), view="trajectory", sampling="poisson", sampling_probability=0.3, batch_size=10
    )
    pair = Dirac(feature=2, alone=True).pair((records()[0], np.zeros(10, dtype=int)), mechanism)
    outputs = both_sides(mechanism, pair, 6)[1]
    sums = (outputs.values[:, :-1, 2] - outputs.values[:, 1:, 2]) * 10 / 0.7
    expected = np.log(0.7 + 0.3 * np.exp((sums - 0.5) / 4.0)).sum(axis=1)
    assert np.allclose(scorer_of(GradientProduct(), mechanism, pair).score(outputs), expected, rtol=1e-9, atol=1e-12)


def test_trajectories_reveal_more_than_final_models():
    mechanism = learner(view="trajectory", steps=30, learning_rate=5.0)
    pair = Natural(record=1).pair(records(30), mechanism)
    out, in_ = both_sides(mechanism, pair, 2000)
    observed = []
    for attack in (CanaryLoss(), GradientProduct()):
        scorer = scorer_of(attack, mechanism, pair)
        observed.append(stats.mannwhitneyu(scorer.score(in_), scorer.score(out)).statistic / 2000**2)
    assert observed[1] > observed[0] + 0.02


def test_gradient_product_refuses_steps_without_noise():
    silent = learner(view="trajectory", noise_multiplier=0.0)
    pair = Natural().pair(records(), silent)
    with pytest.raises(AttackError, match="noise_multiplier is 0"):
        GradientProduct().check(Target(silent, pair))
    assert GradientProduct(others="unknown").supports(Target(silent, pair))


# --- through an audit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attack", "canary", "options"),
    [
        ("canary-loss", Blank(label=1), {}),
        ("canary-direction", Dirac(), {}),
        ("gradient-product", Natural(), {"view": "trajectory"}),
        ("likelihood-ratio", Dirac(), {"view": "noisy_gradients"}),
        ("canary-loss", ClipBKD(copies=3), {}),
    ],
)
def test_no_attack_refutes_a_true_claim(attack, canary, options):
    mechanism, pair = canary.stage(records(), learner(**options))
    bounds = ["accountant-family", "joint-exact"]
    result = audit(mechanism, pair, attack=attack, bound=bounds, trials=400, delta=1e-5, confidence=1 - 1e-6, seed=2)
    assert result.verdict is not Verdict.VIOLATION
    assert result.attack == attack
    assert any("GaussianDP" in text for bound in result.bounds for text in bound.assumptions)


@pytest.mark.parametrize(("attack", "canary"), [("canary-loss", Blank(label=1)), ("canary-direction", Dirac())])
def test_too_little_noise_is_detected_from_the_final_model(attack, canary):
    honest = learner(noise_multiplier=8.0)
    short = learner(noise_multiplier=1.0)
    pair = canary.pair(records(), short)
    result = audit(
        short, pair, attack=attack, claim=honest.guarantee(), trials=1000, delta=1e-5, confidence=1 - 1e-6, seed=2
    )
    assert result.verdict is Verdict.VIOLATION


def test_copies_of_a_canary_would_refute_the_claim_for_one_record():
    """Why k copies need the claim of a group."""
    mechanism, pair = ClipBKD(copies=8).stage(records(20), learner(noise_multiplier=6.0))
    options = {"attack": "canary-loss", "trials": 2000, "delta": 1e-5, "confidence": 1 - 1e-6, "seed": 1}
    assert audit(mechanism, pair, **options).verdict is not Verdict.VIOLATION
    one = mechanism.base.guarantee()
    assert audit(mechanism, pair, claim=one, **options).verdict is Verdict.VIOLATION
