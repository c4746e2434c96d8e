"""Inference within the reconstruction game: rounds played by hand, success below what the claim allows."""

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.attributes import ModelConfidence
from dpassay.attacks.reconstruction import FairBits, OneOf, SecretTarget
from dpassay.attacks.reconstruction.catalogue import catalogue
from dpassay.audit.evidence.scores import Successes
from dpassay.mechanisms import KAryRandomizedResponse, Laplace
from dpassay.mechanisms.core import AttackError
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import LogisticRegression

ROUNDS = 2000


def learner(noise_multiplier=1.0):
    return DPSGD(
        LogisticRegression(2),
        steps=5,
        noise_multiplier=noise_multiplier,
        sampling="full-batch",
        batch_size=8,
        learning_rate=4.0,
        relation="replace_one",
    )


DATA = np.array([[0.3, -0.2], [1.0, 0.1], [-0.4, 0.8], [0.5, 0.5], [-0.9, 0.2], [0.0, 1.0], [0.7, -0.7], [1.5, 1.5]])
LABELS = np.array([0, 1, 0, 1, 0, 1, 1, 0])


def play(mechanism, secret, attack, rounds=ROUNDS, seed=0):
    rng = np.random.default_rng(seed)
    target = SecretTarget(mechanism, secret)
    guesser = attack.fit(target, rng)
    right = 0
    for place, size in enumerate(secret.draw(rounds, rng)):
        guesses = guesser.guess(target.run(secret.candidates[place], int(size), rng))
        right += int(secret.correct(np.full(int(size), place), guesses).sum())
    return Successes(right, rounds, secret.prior_success)


@pytest.mark.parametrize(
    "values",
    [[(DATA[-1], 0), (DATA[-1], 1)], [(np.array([1.5, v]), 0) for v in (-1.5, 1.5)]],
    ids=["label", "attribute"],
)
def test_success_on_a_noisy_model_stays_below_the_claim(values):
    mechanism = learner(noise_multiplier=4.0)
    secret = OneOf.in_record((DATA, LABELS), 7, values)
    successes = play(mechanism, secret, ModelConfidence())
    allowed = 1.0 - float(mechanism.guarantee().tradeoff(np.array([0.5]))[0])
    assert successes.n_success <= stats.binom.isf(1e-6, ROUNDS, allowed)
    assert successes.n_success > stats.binom.isf(1e-3, ROUNDS, 0.5)  # and more than chance


def test_models_without_noise_leak_the_label_and_noisy_ones_the_prior():
    secret = OneOf.in_record((DATA, LABELS), 7, [(DATA[-1], 0), (DATA[-1], 1)])
    assert play(learner(noise_multiplier=0.0), secret, ModelConfidence(), 20).n_success == 20
    blind = OneOf.in_record((DATA, LABELS), 7, [(DATA[-1], 0), (DATA[-1], 1)], prior=[0.001, 0.999])
    assert play(learner(noise_multiplier=500.0), blind, ModelConfidence(), 50).n_success >= 45


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (8, 2.0)])
def test_randomised_response_is_guessed_as_often_as_its_optimum(k, epsilon):
    mechanism = KAryRandomizedResponse(epsilon=epsilon, k=k)
    successes = play(mechanism, OneOf.in_record([0, 1], 1, range(k)), catalogue.build("maximum-likelihood"), 4000)
    assert stats.binomtest(successes.n_success, 4000, np.exp(epsilon) / (np.exp(epsilon) + k - 1)).pvalue > 1e-6


def test_unusable_targets_are_refused():
    secret = OneOf.in_record((DATA, LABELS), 7, [(DATA[-1], 0), (DATA[-1], 1)])
    with pytest.raises(AttackError, match="model-confidence attack needs"):
        ModelConfidence().check(SecretTarget(Laplace(1.0), secret))
    with pytest.raises(AttackError, match="candidates for a known record"):
        ModelConfidence().check(SecretTarget(learner(), FairBits.column(3)))
    with pytest.raises(AttackError, match="candidates for a known record"):
        ModelConfidence().check(SecretTarget(learner(), OneOf(secret.candidates)))
    assert ModelConfidence().supports(SecretTarget(learner(), secret))
