"""Which of k known records DP-SGD was trained on."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp, ndtr, ndtri
from scipy.stats import binom, multivariate_normal

from dpassay.attacks.literature.training import PriorAware, orthogonal_success, simplex, simplex_success
from dpassay.attacks.reconstruction import FairBits, OneOf, SecretTarget
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import AttackError, Outputs, ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.models.architectures import LogisticRegression

FALSE_ALARM = 1e-6
RNG = np.random.default_rng(2023)
X, Y = RNG.normal(size=(12, 9)), RNG.integers(0, 2, size=12)
CORNERS = [(8.0 * corner, 1) for corner in simplex(10, 9)]


def learner(mu, *, steps=4, sampling="full-batch", batch_size=12.0, **options):
    """Small steps: the gradients of the corners stay as long as the clip norm."""
    options = {"learning_rate": 0.01, "noise_multiplier": np.sqrt(steps) / mu, **options}
    model = LogisticRegression(options.pop("n_features", 9), bias=False)
    return DPSGD(model, steps=steps, sampling=sampling, batch_size=batch_size, view="trajectory", **options)


def play(mechanism, secret, rounds, seed=0, **options):
    """Right guesses."""
    rng = np.random.default_rng(seed)
    counts = secret.draw(rounds, rng)
    runs = [mechanism.release(one, int(n), rng).values for one, n in zip(secret.candidates, counts, strict=True)]
    guesser = PriorAware(**options).fit(SecretTarget(mechanism, secret), rng)
    guesses = guesser.guess(Outputs(np.concatenate(runs)))
    return int(secret.correct(np.repeat(np.arange(secret.k), counts), guesses).sum())


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("score", ["likelihood", "product"])
def test_a_simplex_of_gradients_is_guessed_as_often_as_theory_says(mu, score):
    """With full batches at prior success 0.1: 0.9 of the ceiling and more, and never above it."""
    secret, rounds = OneOf.in_record((X, Y), 0, CORNERS), 1000
    right = play(learner(mu), secret, rounds, score=score)
    p = simplex_success(mu, 10)
    assert min(binom.cdf(right, rounds, p), binom.sf(right - 1, rounds, p)) > FALSE_ALARM
    ceiling = learner(mu).guarantee()
    assert right / rounds < 1.0 - ceiling.tradeoff(0.1) + 5.0 / np.sqrt(rounds)


def test_theory_attains_the_known_shares_of_the_ceiling():
    mu = np.linspace(0.05, 4.0, 80)
    ceiling = ndtr(ndtri(0.1) + mu)
    for success, least in ((simplex_success, 0.915), (orthogonal_success, 0.866)):
        computed = np.array([success(m, 10) for m in mu])
        assert (computed < ceiling).all()
        assert np.min(computed / ceiling) == pytest.approx(least, abs=1e-3)


@pytest.mark.parametrize(("success", "corners"), [(orthogonal_success, np.eye(4)), (simplex_success, simplex(4, 4))])
def test_success_at_corners_is_that_of_the_nearest_one(success, corners):
    """Guessing the nearest corner, simulated: 200,000 draws."""
    draws = np.random.default_rng(1).normal(size=(200_000, 4)) + 1.3 * corners[0]
    hits = int(np.sum((draws @ corners.T).argmax(axis=1) == 0))
    assert min(binom.cdf(hits, 200_000, success(1.3, 4)), binom.sf(hits - 1, 200_000, success(1.3, 4))) > FALSE_ALARM


def test_the_likelihood_of_full_batches_is_that_of_the_whole_trajectory():
    """By brute force: each step is normal around the clipped sum of the candidate dataset, momentum and all."""
    mechanism = learner(1.0, steps=3, momentum=0.5, learning_rate=0.7, noise_multiplier=0.8)
    secret = OneOf.in_record((X, Y), 2, [(RNG.normal(size=9), 1), (np.zeros(9), 0), (3.0 * np.ones(9), 0)])
    outputs = mechanism.release(secret.candidates[2], 5, np.random.default_rng(1))
    brute = np.zeros((5, 3))
    for z, run in itertools.product(range(3), range(5)):
        theta, velocity = outputs.values[run], np.zeros(9)
        for t in range(3):
            centre = mechanism.clipped_sum_of(TrainingData.of(secret.candidates[z]))(theta[t][None])[0]
            step = (theta[t] - theta[t + 1]) * 12.0 / 0.7
            noisy, velocity = step - 0.5 * velocity, step
            brute[run, z] += multivariate_normal.logpdf(noisy, centre, 0.8**2)
    guesser = PriorAware().fit(SecretTarget(mechanism, secret), np.random.default_rng(0))
    computed = guesser.scores(outputs)
    np.testing.assert_allclose(computed - computed[:, :1], brute - brute[:, :1], atol=1e-8)


@pytest.mark.parametrize("sampling", ["poisson", "fixed-size", "shuffled"])
def test_the_likelihood_of_samples_is_exact_where_the_others_add_nothing(sampling):
    """By brute force over who is in which batch; blank records count for nothing under zero_out."""
    options = {"sampling_probability": 0.3} if sampling == "poisson" else {}
    mechanism = learner(1.0, sampling=sampling, batch_size=2, relation="zero_out", noise_multiplier=0.9, **options)
    secret = OneOf.in_record((np.zeros((6, 9)), np.zeros(6, dtype=int)), 1, CORNERS[:3])
    outputs = mechanism.release(secret.candidates[1], 6, np.random.default_rng(2))
    rest = -np.diff(outputs.values, axis=1) * 2.0 / 0.01  # (runs, steps, 9)
    guesser = PriorAware().fit(SecretTarget(mechanism, secret), np.random.default_rng(0))
    computed = guesser.scores(outputs)
    brute = np.zeros((6, 3))
    for z in range(3):
        at = outputs.values[:, :-1].reshape(-1, 9)
        gradients = mechanism.clipped_gradients(guesser.candidates, at)[:, z].reshape(6, 4, 9)
        exponent = np.einsum("rtp,rtp->rt", rest - 0.5 * gradients, gradients) / 0.9**2
        if sampling == "shuffled":  # epochs of three batches of two; the fourth step begins the second epoch
            last = logsumexp(np.stack([exponent[:, 3] + np.log(1 / 3), np.full(6, np.log(2 / 3))]), axis=0)
            brute[:, z] = logsumexp(exponent[:, :3] + np.log(1 / 3), axis=1) + last
        else:
            q = 0.3 if sampling == "poisson" else 1 / 3
            brute[:, z] = np.sum(np.logaddexp(np.log1p(-q), np.log(q) + exponent), axis=1)
    np.testing.assert_allclose(computed, brute, atol=1e-8)


@pytest.mark.parametrize("score", ["likelihood", "product"])
@pytest.mark.parametrize(
    ("sampling", "options"), [("poisson", {"sampling_probability": 0.5}), ("fixed-size", {}), ("shuffled", {})]
)
def test_success_on_sampled_batches_lies_between_chance_and_ceiling(sampling, options, score):
    relation = "add_remove" if sampling == "poisson" else "zero_out"
    if sampling != "poisson":
        options = {"n_records": 12}
    mechanism = learner(4.0, sampling=sampling, batch_size=6, relation=relation, **options)
    secret, rounds = OneOf.in_record((X, Y), 0, CORNERS), 400
    right = play(mechanism, secret, rounds, score=score)
    assert binom.sf(right - 1, rounds, 0.1) < FALSE_ALARM  # better than a blind guess
    assert binom.sf(right - 1, rounds, min(1.0, 1.0 - mechanism.guarantee().tradeoff(0.1))) > FALSE_ALARM


def test_only_the_product_is_biased_against_short_gradients():
    """A clipped gradient of length 1 against one of 0.1: products point to the long one, whatever was trained on."""
    secret = OneOf.in_record((X, Y), 0, [(8.0 * np.eye(9)[0], 1), (0.2 * np.eye(9)[0], 1)])
    rounds = 1000
    right = {score: play(learner(2.0), secret, rounds, score=score) for score in ("likelihood", "product")}
    # mu = 2; 0.9 apart; the likelihood is cut in the middle, the product at 0
    theory = {"likelihood": ndtr(0.9), "product": 0.5 * (ndtr(2.0) + ndtr(-0.2))}
    for score, p in theory.items():
        assert min(binom.cdf(right[score], rounds, p), binom.sf(right[score] - 1, rounds, p)) > FALSE_ALARM


def test_a_prior_and_a_tolerance_are_used():
    """The more probable of two equal records; the guess that most of the posterior is close to."""
    twins = [(X[1], 1), (X[1], 1), (-X[1], 1)]
    target = SecretTarget(learner(1.0), OneOf.in_record((X, Y), 0, twins, prior=[0.2, 0.5, 0.3]))
    outputs = target.mechanism.release(target.secret.candidates[0], 50, np.random.default_rng(0))
    assert 0 not in PriorAware().fit(target, RNG).guess(outputs)
    ring = np.abs(np.subtract.outer(np.arange(3), np.arange(3))) <= 1
    near = SecretTarget(learner(1.0), OneOf.in_record((X, Y), 0, twins, close=ring))
    assert set(PriorAware().fit(near, RNG).guess(outputs)) == {1}


def test_unusable_targets_are_refused_with_the_reason():
    secret = OneOf.in_record((X, Y), 0, CORNERS)
    for mechanism, what, reason in [
        (Laplace(1.0), secret, "Laplace lacks"),
        (DPSGD(LogisticRegression(9), steps=1, noise_multiplier=1.0, sampling_probability=0.5, batch_size=6), secret,
         "needs view 'trajectory'"),
        (learner(1.0, noise_multiplier=0.0), secret, "noise_multiplier is 0"),
        (learner(1.0, sampling="cyclic", batch_size=6, n_records=12), secret, "CyclicBatches"),
        (learner(1.0), OneOf(secret.candidates), "for a known record"),
        (learner(1.0), FairBits.column(3), "for a known record"),
    ]:  # fmt: skip
        assert not PriorAware().supports(SecretTarget(mechanism, what))
        with pytest.raises(AttackError, match=reason):
            PriorAware().fit(SecretTarget(mechanism, what), RNG)
    with pytest.raises(ParameterError, match="at least 9"):
        simplex(10, 8)
