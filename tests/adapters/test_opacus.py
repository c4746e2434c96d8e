"""Training with the real PyTorch and Opacus: run by `make test-adapters`, skipped where they are not installed."""

import contextlib
import io
import logging
from dataclasses import replace

import numpy as np
import pytest
from tests.adapters.adapter_page import blocks, said
from tests.mechanisms.opacus_training import NORM, training

from dpassay.attacks.base import Target
from dpassay.attacks.canaries import Mislabelled, RandomDirection
from dpassay.attacks.catalogue import choose
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games import gradient_canary_game, membership_game
from dpassay.mechanisms.core import NeighboursError, ParameterError, ReleaseError, remove_record
from dpassay.mechanisms.learning.base import Learner, TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.capabilities import (
    SupportsCanaries,
    SupportsGradientCanaries,
    SupportsModels,
    SupportsNoisyGradients,
    require_capability,
)
from dpassay.mechanisms.learning.models import SoftmaxRegression

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 3)), RNG.integers(0, 2, size=12)


def torch():
    pytest.importorskip("opacus", reason="needs dpassay[torch]")
    return pytest.importorskip("torch", reason="needs dpassay[torch]")


def linear(n_features=3, n_outputs=2, rate=0.5, **changes):
    nn, optim = torch().nn, torch().optim
    changes = {"make_optimizer": lambda parameters: optim.SGD(parameters, lr=rate)} | changes
    return training(make_model=lambda: nn.Linear(n_features, n_outputs), **changes)


def draw(mechanism, dataset, size=3, seed=0):
    return mechanism.release(dataset, size, np.random.default_rng(seed))


def test_without_noise_it_is_our_own_dp_sgd():
    mechanism = linear(batch_size=12, epochs=5, noise_multiplier=0.0, max_grad_norm=0.5, initial=np.zeros(8))
    ours = DPSGD(
        SoftmaxRegression(3, 2), steps=5, noise_multiplier=0.0, clip_norm=0.5, sampling="full-batch", batch_size=12,
        learning_rate=0.5,
    )  # fmt: skip
    weights = ours.release((X, Y), 1, RNG).values.reshape(2, 4)
    expected = np.concatenate([weights[:, :3].ravel(), weights[:, 3]])
    for constants in ("opacus", "public"):
        result = draw(replace(mechanism, constants=constants), (X, Y)).values
        np.testing.assert_allclose(result, np.tile(expected, (3, 1)), rtol=1e-4, atol=1e-6)


def test_a_gradient_record_adds_one_to_each_observation_of_a_full_batch():
    mechanism = linear(batch_size=12, epochs=5, noise_multiplier=0.0, max_grad_norm=0.5, view="noisy_gradients")
    masked = X[1:] * [0.0, 1.0, 1.0]  # no example touches the first weight
    pair = mechanism.canary_pair((masked, Y[1:]))
    for constants, divisor0 in (("opacus", 11), ("public", 12)):
        chosen = replace(mechanism, constants=constants)
        np.testing.assert_allclose(draw(chosen, pair.d0).values, np.zeros((3, 5, 1)), atol=1e-6)
        np.testing.assert_allclose(draw(chosen, pair.d1).values, np.ones((3, 5, 1)), rtol=1e-5)
        noisy = draw(replace(chosen, noise_multiplier=3.0, epochs=2000), pair.d0, size=1).values
        assert noisy.std() == pytest.approx(3.0 * 12 / divisor0, rel=0.1)  # 6 standard errors


def test_poisson_batches_hold_a_record_at_the_rate_of_the_claim():
    mechanism = linear(epochs=400, noise_multiplier=0.0, view="noisy_gradients", constants="public")
    seen = draw(mechanism, mechanism.canary_pair((X[1:] * [0.0, 1.0, 1.0], Y[1:])).d1, size=1).values
    np.testing.assert_allclose(seen, np.round(seen), atol=1e-4)
    assert set(np.round(seen).ravel()) == {0.0, 1.0}
    assert abs(seen.mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 1200)


def test_runs_repeat_and_leave_the_state_of_pytorch_alone():
    state, threads, level = torch().random.get_rng_state(), torch().get_num_threads(), logging.getLogger("opacus").level
    mechanism = linear()
    first, again, other = (draw(mechanism, (X, Y), seed=seed).values for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    assert len(np.unique(first[:, 0])) == 3
    assert torch().equal(torch().random.get_rng_state(), state)
    assert (torch().get_num_threads(), logging.getLogger("opacus").level) == (threads, level)


def test_make_private_leaks_the_number_of_records():
    """Opacus #571 and #819, in 1.6.0: it divides by int(sample_rate * n), n the private number of records."""
    pair = remove_record((RNG.normal(size=(3, 64)), np.array([0, 1, 2])), 0)
    mechanism = linear(64, 10, n_records=3, batch_size=3, noise_multiplier=10.0)
    verdicts = [
        audit(replace(mechanism, constants=constants), pair, attack=NORM, trials=120, delta=1e-5, seed=0).verdict
        for constants in ("opacus", "public")
    ]
    assert verdicts == [Verdict.VIOLATION, Verdict.CONSISTENT]


def test_make_private_divides_by_zero_where_a_float_rounds_down():
    """49 records, batches of 1: int(49 * (1 / 49)) is 0."""
    data = RNG.normal(size=(49, 3)), RNG.integers(0, 2, size=49)
    mechanism = linear(n_records=49, batch_size=1, noise_multiplier=1.0)
    assert draw(mechanism, data, size=1).events[0].startswith("nan at 0, 1")
    assert draw(replace(mechanism, constants="public"), data, size=1).events is None


@pytest.mark.parametrize("mode", ["ew", "functorch", "ghost"])
def test_other_ways_to_make_gradients_give_the_same_model(mode):
    mechanism = linear(epochs=2)
    other = replace(mechanism, grad_sample_mode=mode)
    np.testing.assert_allclose(draw(other, (X, Y)).values, draw(mechanism, (X, Y)).values, rtol=1e-4, atol=1e-6)
    if mode == "ghost":
        with pytest.raises(ParameterError, match="makes no gradients of single records"):
            draw(other, other.canary_pair((X[1:], Y[1:])).d1)


def test_classifiers_are_the_trained_modules():
    mechanism = linear(n_outputs=3, noise_multiplier=0.1, epochs=3)
    assert isinstance(mechanism, Learner)
    models = mechanism.fit_subsets(TrainingData(X, Y), RNG.random((4, 12)) < 0.7, np.random.default_rng(0))
    log_p = models.log_probabilities(X)
    assert (len(models), models.n_classes, log_p.shape) == (4, 3, (4, 12, 3))
    weights, biases = models.parameters[:, :9].reshape(4, 3, 3), models.parameters[:, 9:]
    logits = np.einsum("rkf,nf->rnk", weights, X) + biases[:, None]
    np.testing.assert_allclose(log_p, logits - np.log(np.exp(logits).sum(axis=2, keepdims=True)), atol=1e-5)


def test_one_output_is_the_logit_of_class_one():
    nn = torch().nn

    class Flat(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 1)

        def forward(self, x):
            return self.linear(x).squeeze(1)

    mechanism = replace(linear(), make_model=Flat, loss=nn.BCEWithLogitsLoss())
    models = mechanism.fit_subsets(TrainingData(X, Y.astype(float)), np.ones((2, 12), dtype=bool), RNG)
    logits = models.parameters[:, :3] @ X.T + models.parameters[:, 3:]
    np.testing.assert_allclose(models.log_probabilities(X)[:, :, 1], -np.log1p(np.exp(-logits)), atol=1e-5)


def test_opacus_claims_what_we_claim():
    mechanism = linear(n_records=577, batch_size=64, epochs=3)
    ours = mechanism.guarantee().epsilon(1e-5)
    assert mechanism.opacus_claim(1e-5).epsilon(1e-5) == pytest.approx(ours, rel=0.02)
    assert mechanism.opacus_claim(1e-5, accountant="rdp").epsilon(1e-5) > ours


def test_a_module_that_opacus_refuses_is_an_error_not_an_outcome():
    nn = torch().nn
    mechanism = replace(linear(), make_model=lambda: nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)))
    with pytest.raises(ReleaseError, match="raised UnsupportedModuleError on both sides"):
        mechanism.bind(remove_record((X, Y), 0))


def test_pairs_whose_difference_is_not_observed_are_refused():
    mechanism = linear(batch_size=12, view="noisy_gradients", constants="public")
    with pytest.raises(NeighboursError, match=r"differ in an example.*canary_pair"):
        mechanism.bind(remove_record((X, Y), 0))
    pair = mechanism.canary_pair((X[1:], Y[1:]))
    elsewhere = replace(mechanism, directions=np.eye(mechanism.n_parameters)[1])
    with pytest.raises(NeighboursError, match=r"at right angles"):
        elsewhere.bind(pair)
    elsewhere.bind(elsewhere.canary_pair((X[1:], Y[1:])))


def test_observations_of_noisy_gradients_reach_the_claim():
    mechanism = linear(batch_size=12, epochs=4, view="noisy_gradients", constants="public", noise_multiplier=1.0)
    pair = mechanism.canary_pair((X[1:] * [0.0, 1.0, 1.0], Y[1:]))
    result = audit(mechanism, pair, trials=200, delta=1e-5, bound="accountant-family", seed=0)
    assert result.claim == pytest.approx(9.997, abs=1e-3)
    assert 0.7 * result.claim < result.bound.epsilon <= result.claim


CAPABILITIES = (SupportsCanaries, SupportsGradientCanaries, SupportsNoisyGradients, SupportsModels)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_it_can_be_asked_what_adversaries_ask(capability):
    assert require_capability(linear(), capability, "this test").n_records == 12


def test_what_adversaries_ask_is_answered_as_by_our_own_dp_sgd():
    """Losses and clipped gradients of a linear module, in the order of its own parameters."""
    ours = DPSGD(SoftmaxRegression(3, 2), steps=1, noise_multiplier=1.0, clip_norm=0.5, sampling="full-batch",
                 batch_size=12)  # fmt: skip
    mechanism = linear(max_grad_norm=0.5)
    theirs = np.array([[0, 1, 2, 4, 5, 6, 3, 7]])  # weights of both units, then their biases
    data, parameters = TrainingData(X[:2], Y[:2], RNG.normal(size=(1, 8))), RNG.normal(size=(4, 8))
    moved = TrainingData(data.X, data.y, data.gradients[:, theirs[0]])
    np.testing.assert_allclose(
        mechanism.losses(moved, parameters[:, theirs[0]]), ours.losses(data, parameters), rtol=1e-5
    )
    np.testing.assert_allclose(
        mechanism.clipped_gradient(moved, parameters[:, theirs[0]]),
        ours.clipped_gradient(data, parameters)[:, theirs[0]],
        rtol=1e-4, atol=1e-6,
    )  # fmt: skip
    assert mechanism.count_classes(data) == 2
    assert mechanism.initial_models(data) is None
    started = replace(mechanism, initial=parameters[0, theirs[0]]).initial_models(data)
    first = ours.starting_from(parameters[0]).initial_models(data)
    np.testing.assert_allclose(started.log_probabilities(data.X), first.log_probabilities(data.X), rtol=1e-5)


@pytest.mark.parametrize("attack", ["canary-loss", "canary-direction"])
def test_attacks_on_trained_models_see_a_canary_in_it(attack):
    mechanism = linear(batch_size=12, epochs=40, noise_multiplier=0.05, initial=np.zeros(8), constants="public")
    canary = Mislabelled() if attack == "canary-loss" else RandomDirection(seed=1)
    mechanism, pair = canary.stage((X, Y), replace(mechanism, n_records=12))
    target = Target(mechanism, pair)
    scorer = choose(attack, target)[1].fit(target, None, None, RNG)
    out, in_ = (scorer.score(draw(mechanism, pair.side(side), size=4)) for side in (0, 1))
    assert in_.min() > out.max()


def test_gradient_canaries_are_seen_in_every_noisy_step():
    mechanism = linear(n_features=30, batch_size=12, epochs=20, noise_multiplier=0.5, constants="public")
    canaries = np.linalg.qr(RNG.normal(size=(62, 6)))[0].T
    records = np.zeros((6, 30)), np.arange(6) % 2
    game = gradient_canary_game(mechanism, canaries, records=records, n_runs=3, seed=0)
    assert game.scores[game.bits].min() > game.scores[~game.bits].max()
    with pytest.raises(ParameterError, match="records must be given"):
        gradient_canary_game(mechanism, canaries, seed=0)
    with pytest.raises(ParameterError, match="Set constants='public'"):
        gradient_canary_game(replace(mechanism, constants="opacus"), canaries, records=records, seed=0)


def test_canaries_that_are_examples_play_the_membership_game():
    mechanism = linear(n_outputs=2, rate=2.0, batch_size=12, epochs=60, noise_multiplier=0.01, max_grad_norm=5.0)
    canaries, always = Mislabelled().several((X, Y), mechanism, 6)
    game = membership_game(mechanism, canaries, records=always, n_runs=2, seed=0)
    assert game.scores[game.bits].mean() > game.scores[~game.bits].mean()


def test_a_direction_that_faces_the_pair_is_taken():
    mechanism = linear(batch_size=12, view="noisy_gradients", constants="public")
    pair = RandomDirection(seed=3).pair((X, Y), mechanism)
    np.testing.assert_allclose(mechanism.bind(pair).seen_directions @ pair.d1.gradients[0], [1.0], rtol=1e-6)
    assert mechanism.bind(mechanism.canary_pair((X[1:], Y[1:]))) is mechanism


@pytest.mark.slow
def test_workers_are_processes_and_do_not_change_the_result():
    pair = remove_record((X, Y), 0)
    results = [audit(linear(), pair, attack=NORM, trials=40, delta=1e-5, seed=0, n_jobs=n) for n in (1, 2)]
    assert results[0].bound == results[1].bound


def test_the_page_in_the_docs_says_what_happens():
    torch()
    code = blocks("Opacus")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    assert printed.getvalue().splitlines() == said(code)
