"""Membership attacks on models that were really trained."""

import numpy as np
import pytest

from dpassay.attacks.membership.likelihood_ratios import RMIA, LiRA
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.games import train_shadows
from dpassay.experiments.data.datasets import load
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import MultiLayerPerceptron, SoftmaxRegression


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


def test_lira_finds_many_times_the_members_that_the_loss_finds():
    shadows = train_shadows(overfitted(32, 60, 0.2), load("purchase-like", n=600), 12, seed=1)
    lira, loss = (measured(attack, shadows).rate_at(0.01) for attack in (LiRA(variance="global"), LossThreshold()))
    assert lira.lower > 5 * loss.tpr


@pytest.mark.slow
def test_lira_with_pooled_variance_finds_ten_times_as_many_at_low_false_positive_rates():
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


def test_much_noise_leaves_nothing_to_find():
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
        found = measured(attack, shadows, confidence=1 - 1e-6)
        assert found.auc_lower < 0.5 < found.auc_upper
        usual = measured(attack, shadows, confidence=0.95)
        assert usual.auc_upper - usual.auc_lower < 0.1
