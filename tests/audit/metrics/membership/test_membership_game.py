"""The membership game: fair coins, scores that do not see them, and bounds that hold."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier
from tests.audit import calls

from dpassay.attacks.canaries import Dirac
from dpassay.attacks.membership import MembershipAttack, Shadows, draw_inclusion
from dpassay.attacks.membership.catalogue import catalogue
from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.audit.bounds.bits.guessing import Guessing
from dpassay.audit.bounds.bits.one_run import OneRun, least_epsilon
from dpassay.audit.games import gradient_canary_game, membership_game, one_run, train_shadows
from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import AttackError, ParameterError, RelationError
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import SoftmaxRegression

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 4)), RNG.integers(0, 2, 200)
NEAREST = EstimatorLearner(KNeighborsClassifier(1))


def private(**options):
    settings = {"steps": 4, "noise_multiplier": 1.0, "sampling": "full-batch", "batch_size": 1, "learning_rate": 0.1}
    return DPSGD(SoftmaxRegression(60, 10), **settings | options)


def gradients(n, mechanism):
    return mechanism.clip_norm * np.eye(mechanism.network.n_parameters)[:n]


def test_a_memorising_learner_gives_every_coin_away():
    game = membership_game(NEAREST, (X, Y), seed=1)
    assert (game.n_runs, game.n_canaries) == (1, 200)
    bound = calls.lower_bound(OneRun(), game, delta=0.0, confidence=0.95)
    assert bound.epsilon > 1.0


def test_records_are_in_every_run_and_canaries_by_the_toss_of_a_coin():
    rows = []

    class Spy:
        def fit_subsets(self, records, inclusion, rng):
            rows.append((len(records), inclusion))
            return NEAREST.fit_subsets(records, inclusion, rng)

    game = membership_game(Spy(), (X[:80], Y[:80]), records=(X[80:], Y[80:]), n_runs=3, seed=2)
    assert {n_records for n_records, _ in rows} == {200}
    inclusion = np.concatenate([inside for _, inside in rows])
    assert inclusion[:, 80:].all()
    np.testing.assert_array_equal(inclusion[:, :80], game.bits)
    assert abs(game.bits.mean() - 0.5) < 4.9 * 0.5 / np.sqrt(240)
    assert (game.bits[0] != game.bits[1]).any()


def test_references_have_coins_of_their_own_and_help():
    game = membership_game(NEAREST, (X, Y), attack=LiRA(), n_references=8, n_runs=2, seed=3)
    assert game.n_runs == 2
    assert game.scores[game.bits].mean() > game.scores[~game.bits].mean()
    with pytest.raises(AttackError, match="reference models"):
        membership_game(NEAREST, (X, Y), attack="lira", seed=3)


@pytest.mark.parametrize("attack", sorted(set(catalogue) - {"gradient-norm", "gradient-inner-product", "label-only"}))
def test_scores_of_a_run_see_neither_its_coins_nor_its_complement(attack):
    """To the last bit: among equal scores even a rounding would tell."""
    shadows = train_shadows(NEAREST, (X[:160], Y[:160]), 8, seed=4, population=(X[160:], Y[160:]))
    flipped, said = shadows.inclusion.copy(), shadows.log_probabilities.copy()
    flipped[[2, 3]] = ~flipped[[2, 3]]
    said[2] = np.log(np.random.default_rng(0).dirichlet([1.0, 1.0], 160))
    game = one_run(shadows, attack, model=3)
    other = one_run(replace(shadows, inclusion=flipped, log_probabilities=said), attack, model=3)
    np.testing.assert_array_equal(other.scores, game.scores)
    np.testing.assert_array_equal(other.bits, ~game.bits)
    np.testing.assert_array_equal(game.bits[0], shadows.inclusion[3])


class NextModel(MembershipAttack):
    """Member where the run says so and the model after it, in pairs the complement, does not."""

    name = "next-model"

    def scores_of(self, shadows):
        says = shadows.signal("loss")
        return says - np.roll(says, -1, axis=0)


class OwnBits(MembershipAttack):
    name = "own-bits"

    def scores_of(self, shadows):
        return shadows.inclusion.astype(np.float64)


def randomized_response(epsilon, design, seed):
    """Models that say of each record, with the truth of randomised response, whether they hold it."""
    rng = np.random.default_rng(seed)
    inclusion = draw_inclusion(6, 4000, rng, design=design)
    answers = inclusion ^ (rng.random(inclusion.shape) < 1.0 / (1.0 + np.exp(epsilon)))
    partner = np.arange(6) ^ 1 if design == "pairs" else None
    return Shadows(inclusion, np.zeros(4000), {"loss": answers.astype(np.float64)}, partner=partner, fair=True)


@pytest.mark.parametrize("attack", [NextModel(), OwnBits(), "loss"], ids=lambda attack: getattr(attack, "name", attack))
@pytest.mark.parametrize("design", ["pairs", "bernoulli"])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_no_attack_makes_two_runs_of_one(attack, design, epsilon):
    game = one_run(randomized_response(epsilon, design, seed=9), attack)
    bound = calls.lower_bound(OneRun(), game, delta=0.0, confidence=1 - 1e-6).epsilon
    assert bound <= epsilon
    most = max(Guessing().division(4000), key=lambda each: each.size)
    n_guesses, share = most.size, 1e-6 * most.share
    n_correct = int(stats.binom.ppf(1e-6, n_guesses, 1.0 / (1.0 + np.exp(-epsilon))))  # fewer: with probability 1e-6
    assert attack != "loss" or bound >= least_epsilon(4000, n_guesses, n_correct, delta=0.0, significance=share)


def test_a_natural_split_is_refused():
    shadows = train_shadows(NEAREST, (X, Y), 2, seed=5)
    natural = Shadows(shadows.inclusion, Y, log_probabilities=shadows.log_probabilities)
    with pytest.raises(AttackError, match="fair coins"):
        one_run(natural, "loss")
    one_run(shadows, "loss")
    for model in (2, -1):
        with pytest.raises(ParameterError, match="model must be"):
            one_run(shadows, "loss", model=model)


def test_records_without_a_score_are_guessed_last():
    inclusion = np.array([[True, True, False, False], [True, False, False, False]])
    shadows = Shadows(inclusion, np.zeros(4), {"loss": np.array([[5.0, 1, 2, 3], [0, 0, 0, 0]])}, fair=True)
    game = one_run(shadows, "calibration")
    assert game.scores[0].tolist() == [2.0, 1.0, 2.0, 3.0]


def test_gradient_canaries_follow_the_gaussian_law():
    mechanism = private(noise_multiplier=2.0)
    game = gradient_canary_game(mechanism, gradients(600, mechanism), n_runs=20, seed=6)
    mu = np.sqrt(4) / 2.0
    assert game.bits.shape == (20, 600)
    for side, mean in ((game.bits, 0.5 * mu**2), (~game.bits, -0.5 * mu**2)):
        scores, n = game.scores[side], side.sum()
        assert abs(scores.mean() - mean) < 4.9 * mu / np.sqrt(n)
        assert abs(scores.std() - mu) < 4.9 * mu / np.sqrt(2 * n)


def test_gradient_canaries_are_separated_among_other_records():
    mechanism = private(noise_multiplier=0.3)
    records = np.zeros((30, 60)), np.zeros(30, dtype=int)  # their gradients touch the biases only
    touched = mechanism.fit(records, 1, np.random.default_rng(0)).gradients(*records)[0].any(axis=0)
    game = gradient_canary_game(mechanism, gradients(610, mechanism)[~touched][:150], records=records, seed=7)
    assert game.scores[game.bits].min() > game.scores[~game.bits].max()
    assert game.bits.shape == (1, 150)


def test_the_one_run_bound_never_exceeds_the_truth_beyond_its_confidence():
    mechanism = private(noise_multiplier=2.0)
    delta = 1e-5
    truth = mechanism.guarantee().epsilon(delta)
    wrong = 0
    for seed in range(40):
        game = gradient_canary_game(mechanism, gradients(200, mechanism), seed=seed)
        wrong += calls.lower_bound(OneRun(), game, delta=delta, confidence=0.8).epsilon > truth
    assert wrong <= 21  # binomial(40, 0.2), 1 - 1e-6


def test_noiseless_training_is_caught_by_one_run():
    mechanism = private(noise_multiplier=0.05)
    game = gradient_canary_game(mechanism, gradients(500, mechanism), seed=8)
    assert calls.lower_bound(OneRun(), game, delta=1e-5, confidence=0.95).epsilon > 3.0


def test_canaries_of_the_wrong_kind_are_refused():
    mechanism = private()
    with pytest.raises(ParameterError, match="norm clip_norm"):
        gradient_canary_game(mechanism, 0.5 * gradients(5, mechanism), seed=0)
    from dpassay.mechanisms.learning.base import TrainingData

    crafted = TrainingData(np.zeros((1, 60)), np.zeros(1), gradients(2, mechanism))
    with pytest.raises(ParameterError, match="gradient_canary_game"):
        membership_game(mechanism, crafted, seed=0)
    with pytest.raises(ParameterError, match="features"):
        membership_game(NEAREST, (X, Y), records=(X[:, :2], Y), seed=0)


@pytest.mark.parametrize(
    ("canaries", "message"),
    [
        (np.eye(60), r"shape \(n_canaries, 610\) .* but have shape \(60, 60\)"),
        (np.ones((2, 2, 610)), r"but have shape \(2, 2, 610\)"),
        (np.empty((0, 610)), r"but have shape \(0, 610\)"),
        ((X, Y), "but are of type tuple.* use membership_game"),
        (Dirac(), "but are of type Dirac"),
        (np.full((2, 610), np.nan), "have norms from nan to nan"),
        (np.full((2, 610), np.inf), "have norms from inf to inf"),
    ],
)
def test_gradient_canaries_that_are_no_gradients_are_refused_by_their_name(canaries, message):
    with pytest.raises(ParameterError, match=f"^canaries must .*{message}"):
        gradient_canary_game(private(), canaries, seed=0)


def test_records_and_canaries_that_are_no_examples_are_refused_by_name():
    mechanism = private()
    with pytest.raises(ParameterError, match=r"^canaries: a dataset to learn from"):
        membership_game(mechanism, gradients(3, mechanism), seed=0)
    for play, canaries in ((membership_game, (X, Y)), (gradient_canary_game, gradients(3, mechanism))):
        with pytest.raises(ParameterError, match=r"^records: a dataset to learn from"):
            play(mechanism, canaries, records=X, seed=0)


@pytest.mark.parametrize("play", [membership_game, gradient_canary_game])
def test_a_guarantee_about_replaced_records_is_not_played(play):
    mechanism = private(sampling="shuffled", batch_size=10)
    canaries = gradients(3, mechanism) if play is gradient_canary_game else (np.zeros((3, 60)), np.zeros(3))
    with pytest.raises(RelationError, match="add_remove"):
        play(mechanism, canaries, seed=0)
