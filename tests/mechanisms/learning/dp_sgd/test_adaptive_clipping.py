"""Adaptive clipping: sums, counts and clipping norms against a slow twin, the claim, and what is refused."""

import numpy as np
import pytest
from tests.mechanisms.learning.dp_sgd.empirical import empirical_curves
from tests.mechanisms.sgd_twin import gradient

from dpassay.audit.games.canaries import gradient_canary_game
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD, AdaptiveClippingDPSGD, PoissonSampling
from dpassay.mechanisms.learning.dp_sgd.adaptive_clipping import MAX_NORM_FACTOR
from dpassay.mechanisms.learning.models import LogisticRegression, MultiLayerPerceptron

EPSILONS = np.array([0.0, 0.2, 0.5, 1.0, 2.0])
LIMIT = np.log(2.0 * 2.0 * 2.0 * 6 * len(EPSILONS) / 1e-6)
"""Of both directions and both sides of all cells together."""
PERCEPTRON = MultiLayerPerceptron(3, hidden=(4,), n_outputs=2)


def learner(model=PERCEPTRON, **options):
    defaults = {"steps": 5, "noise_multiplier": 0.0, "count_noise": 3.0, "sampling": "full-batch", "batch_size": 4}
    return AdaptiveClippingDPSGD(model, **(defaults | {"view": "noisy_gradients"} | options))


@pytest.mark.parametrize("relation", ["add_remove", "zero_out"])
@pytest.mark.parametrize("clip_norm", [0.05, 0.7, 30.0])
def test_sums_counts_and_norms_are_those_of_a_slow_twin(relation, clip_norm):
    """Without noise, on examples and gradient records of which some are clipped; one of each is blank."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(6, 3)) * np.arange(6)[:, None], np.array([0, 1, 0, 1, 1, 0])
    gradients = rng.normal(size=(3, PERCEPTRON.n_parameters)) * np.array([[0.0], [0.1], [9.0]])
    first = rng.normal(size=PERCEPTRON.n_parameters)
    mechanism = learner(
        directions=np.eye(PERCEPTRON.n_parameters),
        relation=relation,
        initial=first,
        quantile=0.3,
        clip_rate=0.9,
        learning_rate=0.4,
        clip_norm=clip_norm,
    )
    values = mechanism.release(TrainingData(X, y, gradients), 2, np.random.default_rng(0)).values
    theta, norm = first.copy(), clip_norm
    for step in range(5):
        total, count = np.zeros(len(theta)), 0.0
        examples = [gradient(PERCEPTRON, theta, X[i], y[i]) for i in range(6)]
        blank = [not X[i].any() and not y[i] for i in range(6)] + [not g.any() for g in gradients]
        for g, is_blank in zip([*examples, *gradients], blank, strict=True):
            if is_blank and relation == "zero_out":
                continue
            length = np.linalg.norm(g)
            total += g * min(1.0, norm / length) if length else 0.0
            count += 0.5 if length <= norm else -0.5
        np.testing.assert_allclose(values[:, step, :-1], np.tile(total / norm, (2, 1)), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(values[:, step, -1], count, atol=1e-12)
        theta -= 0.4 * total / 4.0
        norm *= np.exp(-0.9 * (0.5 + count / 4.0 - 0.3))


def test_the_clipping_norm_finds_the_quantile_of_the_norms():
    """Of 100 gradient records with norms 1 to 100, a share of 0.3 is left unclipped at 30."""
    model = LogisticRegression(2)
    records = np.linspace(1.0, 100.0, 100)[:, None] * np.array([1.0, 0.0, 0.0])
    data = TrainingData(np.empty((0, 2)), np.empty(0), records)
    options = {"steps": 400, "quantile": 0.3, "clip_rate": 0.3, "batch_size": 100}
    mechanism = learner(model, **options, noise_multiplier=0.5, count_noise=2.0)
    trainer = mechanism.trainer_on(data)
    for _ in trainer.train(50, np.random.default_rng(0)):
        pass
    assert 27.0 < np.median(trainer.norms) < 33.0
    assert np.all((trainer.norms > 20.0) & (trainer.norms < 45.0))


def test_the_clipping_norm_stays_in_its_range():
    data = TrainingData(np.empty((0, 2)), np.empty(0), 1e12 * np.eye(3))
    mechanism = learner(LogisticRegression(2), steps=40, clip_rate=10.0, batch_size=1)
    trainer = mechanism.trainer_on(data)
    for _ in trainer.train(1, np.random.default_rng(0)):
        pass
    assert trainer.norms == MAX_NORM_FACTOR


@pytest.mark.parametrize("count_noise", [1.1, 3.0, 100.0])
@pytest.mark.parametrize("sampling", ["full-batch", PoissonSampling(sampling_probability=0.4, expected_batch_size=2)])
def test_the_claim_is_that_of_a_fixed_norm_whatever_the_noise_of_the_count(count_noise, sampling):
    options = {"steps": 6, "noise_multiplier": 2.0, "sampling": sampling}
    options |= {"batch_size": 4 if sampling == "full-batch" else None}
    adaptive = learner(LogisticRegression(2), count_noise=count_noise, **options)
    fixed = DPSGD(LogisticRegression(2), view="noisy_gradients", **options)
    assert adaptive.guarantee().epsilon(1e-5) == fixed.guarantee().epsilon(1e-5)
    assert adaptive.sum_noise**-2 + (2.0 * count_noise) ** -2 == pytest.approx(0.25)
    claim = adaptive.guarantee().delta(EPSILONS)
    curves = list(empirical_curves(adaptive, EPSILONS, runs=40_000, log_limit=LIMIT))
    assert all(np.all(claim >= mean - spread) for mean, spread in curves)
    assert np.all(claim <= np.max([mean + spread for mean, spread in curves], axis=0))
    smaller = learner(LogisticRegression(2), count_noise=count_noise, **(options | {"noise_multiplier": 1.5}))
    curves = list(empirical_curves(smaller, EPSILONS, runs=40_000, log_limit=LIMIT))
    assert any(np.any(claim < mean - spread) for mean, spread in curves)  # power: with less noise the claim is refuted


@pytest.mark.parametrize("view", ["final", "trajectory"])
def test_other_views_make_no_exact_claim(view):
    mechanism = learner(LogisticRegression(2), noise_multiplier=2.0, view=view)
    assert mechanism.output_law() is None
    assert not mechanism.guarantee().exact
    assert mechanism.release(([[1.0, 2.0]], [1]), 3, np.random.default_rng(0)).values.shape[0] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_multiplier": 6.0}, "count_noise must be above noise_multiplier / 2 = 3"),
        ({"clipping": "per-layer"}, "clipping must be 'flat'"),
        ({"quantile": 1.0}, "quantile"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        learner(**options)


def test_gradient_canaries_are_scored_by_the_sums_only():
    learner = AdaptiveClippingDPSGD(
        LogisticRegression(60), steps=3, noise_multiplier=0.2, count_noise=0.5, sampling="full-batch", batch_size=1
    )
    game = gradient_canary_game(learner, np.eye(61)[:20], n_runs=20, seed=0)
    assert game.scores.shape == game.bits.shape == (20, 20)
    assert game.scores[game.bits].mean() > game.scores[~game.bits].mean() + 10.0
