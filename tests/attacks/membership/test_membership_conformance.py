"""Every membership attack of the catalogue, on synthetic signals and on trained models."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.attacks.membership_laws import auc, softmax_shadows

from dpassay.attacks.membership.base import MembershipAttack
from dpassay.attacks.membership.catalogue import catalogue
from dpassay.attacks.membership.likelihood_ratios import RMIA, LiRA
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.games import train_shadows
from dpassay.experiments.data.datasets import load
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import MultiLayerPerceptron, SoftmaxRegression

VARIANTS = [
    *(catalogue.build(name) for name in catalogue),
    LiRA(variance="record"),
    LiRA(mode="offline-tail"),
    LiRA(mode="offline-density"),
    RMIA(mode="offline", gamma=1.0),
]
REPEATS = 16


def named(attack):
    return f"{attack.name}-{getattr(attack, 'mode', '')}-{getattr(attack, 'variance', '')}"


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
@pytest.mark.parametrize("design", ["pairs", "bernoulli"])
def test_auc_is_one_half_if_members_and_non_members_have_one_law(attack, design):
    areas = []
    for seed in range(REPEATS):
        shadows = softmax_shadows(8, 100, np.random.default_rng([seed, 7]), design=design)
        areas.append(auc(attack.score(shadows), shadows.inclusion))
    error = np.std(areas, ddof=1) / np.sqrt(REPEATS)
    assert error < 0.02
    assert abs(np.mean(areas) - 0.5) < stdtrit(REPEATS - 1, 1 - 5e-7) * error


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_a_leak_is_detected(attack):
    shadows = softmax_shadows(10, 300, np.random.default_rng(3), leak=2.0)
    assert auc(attack.score(shadows), shadows.inclusion) > 0.55


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_scores_move_with_the_records(attack):
    shadows = softmax_shadows(8, 120, np.random.default_rng(4), leak=1.0)
    order = np.random.default_rng(5).permutation(120)
    columns = {name: getattr(shadows, name)[:, order] for name in ("inclusion", "log_probabilities")}
    rows = {name: getattr(shadows, name)[order] for name in ("y", "X")}
    signals = {name: values[:, order] for name, values in shadows.signals.items()}
    moved = replace(shadows, **columns, **rows, signals=signals)
    before, after = attack.score(shadows)[:, order], attack.score(moved)
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-3 if attack.name == "shadow-classifier" else 1e-8)


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_scores_move_with_the_models(attack):
    shadows = softmax_shadows(8, 120, np.random.default_rng(6), leak=1.0)
    order = np.arange(8) ^ 1 if attack.name == "shadow-classifier" else np.random.default_rng(7).permutation(8)
    before, after = attack.score(shadows)[order], attack.score(shadows.take(order))
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-3 if attack.name == "shadow-classifier" else 1e-8)


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_scores_do_not_depend_on_the_bits_of_the_target_pair(attack):
    shadows = softmax_shadows(8, 120, np.random.default_rng(8), leak=1.0)
    flipped = shadows.inclusion.copy()
    flipped[:2] = ~flipped[:2]
    again = attack.score(replace(shadows, inclusion=flipped))
    np.testing.assert_allclose(again[:2], attack.score(shadows)[:2], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_scores_are_finite_and_do_not_change_the_shadows(attack):
    shadows = softmax_shadows(8, 60, np.random.default_rng(9))
    kept = shadows.signal("loss").copy()
    scores = attack.score(shadows)
    assert scores.shape == (8, 60)
    assert np.isfinite(scores).all()
    scores[:] = 0.0
    np.testing.assert_array_equal(shadows.signal("loss"), kept)
    assert isinstance(attack, MembershipAttack)
    assert catalogue.get(attack.name) is type(attack)


def measured(attack, shadows, confidence=0.95):
    from dpassay.audit.metrics.membership.evaluate import measure

    return measure(attack.name, attack.score(shadows), shadows, confidence=confidence)


def overfitted(hidden, steps, learning_rate):
    return DPSGD(
        MultiLayerPerceptron(n_features=100, hidden=(hidden,), n_outputs=20, activation="relu"),
        steps=steps,
        noise_multiplier=0.0,
        clipping="none",
        sampling="shuffled",
        batch_size=100,
        learning_rate=learning_rate,
        momentum=0.9,
        dtype="float32",
    )


def test_lira_detects_five_times_as_many_members_as_the_loss():
    shadows = train_shadows(overfitted(32, 60, 0.2), load("purchase-like", n=600), 12, seed=1)
    lira, loss = (measured(attack, shadows).rate_at(0.01) for attack in (LiRA(variance="global"), LossThreshold()))
    assert lira.lower > 5 * loss.tpr


@pytest.mark.slow
def test_pooled_lira_detects_ten_times_as_many_at_low_fpr():
    shadows = train_shadows(overfitted(64, 300, 0.1), load("purchase-like"), 16, seed=1)
    lira, loss = (measured(attack, shadows) for attack in (LiRA(variance="global"), LossThreshold()))
    for fpr in (0.01, 0.001):
        assert lira.rate_at(fpr).tpr > 10 * loss.rate_at(fpr).tpr, fpr
        assert lira.rate_at(fpr).lower > 5 * loss.rate_at(fpr).upper, fpr


@pytest.mark.slow
def test_rmia_with_two_references_is_at_least_offline_lira_with_two():
    X, y = load("purchase-like", n=3000)
    population = X[2000:], y[2000:]
    shadows = train_shadows(overfitted(64, 300, 0.1), (X[:2000], y[:2000]), 24, seed=2, population=population)
    gaps = []
    for first in range(0, 24, 6):  # three pairs: two models without the record for each target
        some = shadows.take(np.arange(first, first + 6))
        rmia, lira = (measured(a, some) for a in (RMIA(mode="offline"), LiRA(mode="offline-tail", variance="global")))
        gaps.append([rmia.auc - lira.auc, *(rmia.rate_at(f).tpr - lira.rate_at(f).tpr for f in (0.1, 0.01))])
    assert (np.mean(gaps, axis=0) > 0).all()


def test_no_attack_succeeds_under_much_noise():
    learner = DPSGD(
        SoftmaxRegression(100, 20),
        steps=10,
        noise_multiplier=200.0,
        sampling_probability=0.2,
        batch_size=60,
        learning_rate=0.1,
    )
    shadows = train_shadows(learner, load("purchase-like", n=300), 24, seed=3)
    for attack in (LossThreshold(), LiRA(), RMIA(mode="offline", gamma=1.0)):
        measurement = measured(attack, shadows, confidence=1 - 1e-6)
        assert measurement.auc_lower < 0.5 < measurement.auc_upper
        usual = measured(attack, shadows, confidence=0.95)
        assert usual.auc_upper - usual.auc_lower < 0.1
