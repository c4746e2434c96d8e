"""Shadow models of other code, from the outputs of their models."""

import numpy as np
import pytest

from dpassay.attacks.membership import Shadows
from dpassay.attacks.membership.likelihood_ratios import BaVarIA, LiRA
from dpassay.attacks.membership.outputs import shadows_of
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.core import AttackError, ParameterError

N_MODELS, N_RECORDS = 32, 400


def halves(rng, n_models=N_MODELS, n_records=N_RECORDS):
    half = rng.random((n_models // 2, n_records)) < 0.5
    return np.stack([half, ~half], axis=1).reshape(n_models, n_records)


@pytest.fixture(scope="module")
def margins():
    """Membership, and the logit of the label of a binary classifier that remembers its members."""
    rng = np.random.default_rng(0)
    member = halves(rng)
    hardness = rng.normal(5.0, 4.0, N_RECORDS)
    return member, hardness + 2.4 * rng.normal(size=member.shape) + 4.0 * member


def two_classes(margin):
    return np.stack([margin, np.zeros_like(margin)], axis=-1)


def softplus(margin):
    return np.logaddexp(0.0, -margin)


ZEROS = np.zeros(N_RECORDS, dtype=int)


def test_every_kind_of_output_gives_the_same_signals(margins):
    member, margin = margins
    logits = two_classes(margin)
    log_p = logits - np.logaddexp(margin, 0.0)[..., None]
    given = {"logits": logits, "log_probabilities": log_p, "probabilities": np.exp(log_p)}
    by_kind = [shadows_of(member, labels=ZEROS, **{kind: values}) for kind, values in given.items()]
    by_kind.append(shadows_of(member, losses=softplus(margin)))
    for shadows in by_kind:
        np.testing.assert_allclose(shadows.signal("loss"), -softplus(margin), atol=1e-9)
        np.testing.assert_allclose(shadows.signal("rescaled-logit"), margin, rtol=1e-6, atol=1e-6)


def test_complements_are_found_and_scored_as_pairs(margins):
    member, margin = margins
    np.testing.assert_array_equal(shadows_of(member, scores=margin).partner, np.arange(N_MODELS) ^ 1)
    order = np.random.default_rng(1).permutation(N_MODELS)
    shuffled = shadows_of(member[order], scores=margin[order])
    np.testing.assert_array_equal(member[order][shuffled.partner], ~member[order])


def test_independent_training_sets_have_no_partners():
    rng = np.random.default_rng(2)
    assert not shadows_of(rng.random((8, 100)) < 0.5, scores=rng.normal(size=(8, 100))).paired


def test_losses_that_single_precision_rounds_to_zero_keep_the_attack(margins):
    """The AUC of LiRA is that of exact losses within 0.01; unrepaired, it is not.

    Without the repair, more than 1 % of the signals are at the floor of the logarithm, far from all others.
    """
    member, margin = margins
    exact = shadows_of(member, losses=softplus(margin))
    rounded = np.maximum(-np.log((1.0 / (1.0 + np.exp(-margin))).astype(np.float32)), 0.0)
    assert 0.01 < np.mean(rounded == 0.0) < 0.2
    repaired = shadows_of(member, losses=rounded)
    unrepaired = Shadows(member, ZEROS, {"loss": -rounded.astype(np.float64)}, partner=exact.partner)
    auc = [evaluate(shadows, ["lira"])["lira"].auc for shadows in (exact, repaired, unrepaired)]
    assert abs(auc[0] - auc[1]) < 0.01
    assert abs(auc[0] - auc[2]) > 0.01


def test_saturated_probabilities_keep_the_attack(margins):
    member, margin = margins
    p = (1.0 / (1.0 + np.exp(-margin))).astype(np.float32)
    exact = shadows_of(member, labels=ZEROS, logits=two_classes(margin))
    repaired = shadows_of(member, labels=ZEROS, probabilities=np.stack([p, 1 - p], axis=-1))
    assert np.isfinite(repaired.signal("rescaled-logit")).all()
    assert repaired.signal("rescaled-logit").max() < 20.0
    assert abs(evaluate(exact, ["lira"])["lira"].auc - evaluate(repaired, ["lira"])["lira"].auc) < 0.01


def test_infinite_losses_of_labels_with_probability_zero_keep_every_attack(margins):
    member, margin = margins
    losses = softplus(margin)
    losses[losses > np.quantile(losses, 0.98)] = np.inf
    given = shadows_of(member, losses=losses)
    assert all(np.isfinite(signal).all() for signal in given.signals.values())
    assert (
        abs(
            evaluate(given, ["lira"])["lira"].auc
            - evaluate(shadows_of(member, losses=softplus(margin)), "lira")["lira"].auc
        )
        < 0.02
    )
    assert all(np.isfinite(metrics.auc) for metrics in evaluate(given).attacks)


def test_several_queries_of_a_record_are_averaged_and_help(margins):
    member, margin = margins
    noise = np.random.default_rng(3).normal(scale=6.0, size=(*member.shape, 8))
    one = shadows_of(member, losses=softplus(margin + noise[..., 0]))
    eight = shadows_of(member, losses=softplus(margin[..., None] + noise))
    assert eight.signal("loss").shape == member.shape
    assert evaluate(eight, ["lira"])["lira"].auc > evaluate(one, ["lira"])["lira"].auc + 0.03
    logits = np.stack([margin[..., None] + noise, np.zeros_like(noise)], axis=-1)
    by_class = shadows_of(member, labels=ZEROS, logits=logits)
    np.testing.assert_allclose(by_class.signal("loss"), eight.signal("loss"), atol=1e-12)


def test_a_population_is_read_with_the_same_models(margins):
    member, margin = margins
    population = np.random.default_rng(4).normal(size=(N_MODELS, 50, 2))
    shadows = shadows_of(
        member, labels=ZEROS, logits=two_classes(margin), population_logits=population, population_labels=np.ones(50)
    )
    assert shadows.population.n_records == 50
    assert evaluate(shadows, ["attack-p"])["attack-p"].auc > 0.6


def test_predictions_of_a_regression_have_residuals_and_a_normal_loss():
    rng = np.random.default_rng(20)
    member, targets = halves(rng), rng.normal(50.0, 20.0, N_RECORDS)
    predictions = targets + rng.normal(size=member.shape) * np.where(member, 1.0, 3.0) + rng.normal(size=N_RECORDS)
    shadows = shadows_of(member, labels=targets, predictions=predictions)
    scaled = shadows_of(member, labels=1e3 * targets, predictions=1e3 * predictions)
    np.testing.assert_allclose(np.mean(shadows.signal("residual") ** 2), 1.0)
    np.testing.assert_allclose(shadows.signal("loss"), -0.5 * shadows.signal("residual") ** 2)
    np.testing.assert_allclose(scaled.signal("residual"), shadows.signal("residual"), rtol=1e-9)
    found = evaluate(shadows, ["loss", "base", BaVarIA(signal="residual"), BaVarIA()])
    assert found["bavaria on residual"].auc > 0.7
    assert found["bavaria on residual"].rate_at(0.1).tpr > found["bavaria"].rate_at(0.1).tpr
    for attack in (LiRA(mode="offline-tail", signal="residual"), BaVarIA(mode="offline", signal="residual")):
        with pytest.raises(AttackError, match="no direction"):
            attack.score(shadows)
    with pytest.raises(AttackError, match="predictions of a regression"):
        LiRA(signal="residual").score(shadows_of(member, losses=rng.exponential(size=member.shape)))


def test_scores_below_one_half_are_noted(margins):
    member, margin = margins
    result = evaluate(shadows_of(member, scores=-margin), ["loss"])
    assert "wrong sign" in result.summary()


MEMBER = np.random.default_rng(5).random((4, 100)) < 0.5
SOME = np.random.default_rng(6).random((4, 100))
CLASSES = np.random.default_rng(7).normal(size=(4, 100, 3))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "none is given"),
        ({"losses": SOME, "scores": SOME}, "are given"),
        ({"losses": -SOME}, "below 0"),
        ({"losses": 0.0 * SOME}, "neither 0 nor infinite"),
        ({"losses": np.where(SOME < 0.5, 0.0, np.inf)}, "neither 0 nor infinite"),
        ({"losses": np.where(SOME < 0.1, np.nan, SOME)}, "are NaN"),
        ({"losses": SOME[:3]}, "must have shape"),
        ({"losses": np.where(np.arange(4)[:, None] == 2, 0.5, SOME)}, "model 2"),
        ({"losses": SOME.astype(str)}, "must be real numbers"),
        ({"scores": SOME + 1j}, "must be real numbers"),
        ({"scores": SOME * 1e300}, "Divide all"),
        ({"losses": SOME * 1e300}, "Divide all"),
        ({"scores": np.where(SOME < 0.5, -np.inf, np.inf)}, "must have a finite value"),
        ({"log_probabilities": CLASSES, "labels": np.zeros(100)}, "give logits"),
        ({"probabilities": np.exp(CLASSES), "labels": np.zeros(100)}, "sum to 1"),
        ({"logits": CLASSES}, "labels must be given"),
        ({"logits": CLASSES, "labels": np.full(100, 3)}, "0 to 2"),
        ({"logits": np.where(CLASSES > 2, np.inf, CLASSES), "labels": np.zeros(100)}, "must be finite"),
        ({"predictions": SOME}, "target of each record"),
        ({"predictions": SOME, "labels": np.zeros(7)}, "one finite target"),
        ({"predictions": SOME, "labels": np.full(100, np.inf)}, "one finite target"),
        ({"predictions": 0.0 * SOME, "labels": np.zeros(100)}, "equal to the targets"),
        ({"predictions": np.where(SOME < 0.1, np.inf, SOME), "labels": np.zeros(100)}, "must be finite"),
        ({"losses": SOME, "labels": np.zeros(7)}, "one entry per record"),
        ({"losses": SOME, "population_predictions": SOME}, "another scale"),
        ({"losses": SOME, "population_loss": SOME}, "population_losses"),
        ({"losses": SOME, "population_losses": SOME[:2]}, "4 models"),
    ],
)
def test_unusable_outputs_are_refused_by_name(given, problem):
    with pytest.raises(ParameterError, match=problem):
        shadows_of(MEMBER, **given)


@pytest.mark.parametrize("infinite", [-np.inf, np.inf])
def test_infinite_scores_become_the_last_finite_ones(infinite):
    rng = np.random.default_rng(8)
    member = rng.random((16, 64)) < 0.5
    scores = rng.normal(size=member.shape)
    given = shadows_of(member, scores=np.where(scores * np.sign(infinite) > 1.0, infinite, scores), fair=True)
    limited = np.clip(scores, *((-1.0, None) if infinite < 0 else (None, 1.0)))
    assert (np.sign(limited[:, 1:] - limited[:, :-1]) == np.sign(np.diff(given.signal("loss")))).all()
    assert all(np.isfinite(metrics.auc) for metrics in evaluate(given).attacks)


@pytest.mark.parametrize("membership", [MEMBER[0], MEMBER.astype(float) * 0.5, np.empty((0, 3), dtype=bool)])
def test_membership_is_a_table_of_bits(membership):
    with pytest.raises(ParameterError, match="membership"):
        shadows_of(membership, losses=SOME)


def test_rescaled_logits_and_probabilities_of_the_label_are_read(margins):
    member, margin = margins
    p = 1.0 / (1.0 + np.exp(-margin))
    for given in (
        {"rescaled_logits": margin},
        {"scores": margin, "signal": "rescaled-logit"},
        {"probabilities": p},
        {"scores": p, "signal": "confidence"},
        {"log_probabilities": -softplus(margin)},
    ):
        shadows = shadows_of(member, **given)
        np.testing.assert_allclose(shadows.signal("loss"), -softplus(margin), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(shadows.signal("rescaled-logit"), margin, rtol=1e-5, atol=1e-5)


def test_rescaled_logits_beyond_double_precision_of_the_probability_are_kept(margins):
    member, margin = margins
    shadows = shadows_of(member, rescaled_logits=20.0 * margin)
    np.testing.assert_array_equal(shadows.signal("rescaled-logit"), 20.0 * margin)


@pytest.mark.parametrize("signal", ["margin", "hinge", "my-signal", None])
def test_attacks_by_name_read_a_signal_of_the_user(margins, signal):
    member, margin = margins
    found = evaluate(shadows_of(member, scores=margin, signal=signal), ["loss", "lira", "bavaria", "calibration"])
    expected = evaluate(shadows_of(member, rescaled_logits=margin), ["lira", "bavaria"])
    loss, lira, bavaria, _ = found.attacks
    assert lira.attack == f"lira on {signal or 'loss'}"
    assert lira.auc == expected["lira"].auc
    assert bavaria.auc == expected["bavaria"].auc
    assert loss.auc > 0.55


def test_scores_above_zero_are_not_advised_a_sign_that_is_wrong(margins):
    member, margin = margins
    with pytest.raises(AttackError, match=r"shadows_of\(rescaled_logits="):
        evaluate(shadows_of(member, scores=margin), "rmia")


def test_one_model_needs_no_axis_of_models(margins):
    member, margin = margins[0][0], margins[1][0]
    alone = shadows_of(member, losses=softplus(margin))
    np.testing.assert_array_equal(alone.inclusion, member[None])
    with_axis = shadows_of(member[None], losses=softplus(margin)[None])
    np.testing.assert_array_equal(alone.signal("loss"), with_axis.signal("loss"))
    classes = shadows_of(member, labels=ZEROS, logits=two_classes(margin))
    np.testing.assert_allclose(classes.signal("margin")[0], margin)
    outside = shadows_of(member, losses=softplus(margin), population_losses=softplus(margin[:50]))
    assert outside.population.n_records == 50


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"token_logprobs": 1.0}, "dpassay text FILE"),
        ({"losses": np.ones((4, 9)), "signal": "margin"}, "given with scores"),
        ({"probabilities": np.full((9, 4), 1.5)}, "those of the label, from 0 to 1"),
        ({"log_probabilities": np.full((9, 4), 0.5)}, "those of the label, from -inf to 0"),
        ({"losses": np.ones((4, 9))}, r"exchanged in one of the two: losses\.swapaxes\(0, 1\)"),
        ({"logits": np.ones((9, 4, 2)), "labels": np.zeros(9)}, "exchange their first two axes"),
        ({"losses": -np.ones((9, 4))}, "give them as log_probabilities"),
    ],
)
def test_what_cannot_be_read_names_what_can(given, words):
    with pytest.raises(ParameterError, match=words):
        shadows_of(np.arange(36).reshape(9, 4) % 2 == 0, **given)
