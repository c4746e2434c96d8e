"""Federated averaging: what clients send, how sums are made of it, and what a server may be told."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.training import invert_gradient
from dpassay.mechanisms.accounting import GaussianDP, PrivacyLossDP
from dpassay.mechanisms.core import AccountingError, Neighbours, NeighboursError, ParameterError, RelationError
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.models.architectures import LogisticRegression, MultiLayerPerceptron, SoftmaxRegression
from dpassay.mechanisms.learning.models.trained import TrainedModels
from dpassay.mechanisms.literature.federated import FederatedAveraging, LocalNoiseAveraging, split_by_client
from dpassay.mechanisms.literature.federated.broken import PerRecordClipping, RealisedClients

FALSE_ALARM = 1e-6
MODEL = SoftmaxRegression(3, 3)


def made_clients(sizes, seed=0, n_features=3, n_classes=3):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, n_features)), rng.integers(0, n_classes, size=n)) for n in sizes]


@pytest.mark.parametrize("model", [MODEL, MultiLayerPerceptron(3, 3, hidden=(4,))], ids=["linear", "hidden layer"])
def test_update_is_that_of_local_gradient_steps_one_after_another(model):
    learner = FederatedAveraging(model, noise_multiplier=1.0, clip_norm=0.4, local_steps=3, local_rate=0.7)
    clients, theta = made_clients((1, 4, 9)), np.random.default_rng(1).normal(size=(5, model.n_parameters))
    updates = learner.client_updates(clients, theta)
    for run, place in np.ndindex(5, 3):
        moved = theta[run].copy()
        for _ in range(3):
            moved -= 0.7 * TrainedModels(model, moved[None]).gradients(*clients[place])[0].mean(axis=0)
        update = moved - theta[run]
        expected = update * min(1.0, 0.4 / np.linalg.norm(update))
        np.testing.assert_allclose(updates[run, place], expected, rtol=1e-9, atol=1e-12)
    assert (np.linalg.norm(updates, axis=2) <= 0.4 * (1 + 1e-12)).all()
    assert (np.linalg.norm(updates, axis=2) > 0.39).any()


def test_clients_of_one_record_make_it_dp_sgd():
    clients = made_clients((1,) * 12)
    X, y = (np.concatenate([one[part] for one in clients]) for part in (0, 1))
    options = {"noise_multiplier": 0.0, "clip_norm": 0.5}
    federated = FederatedAveraging(MODEL, rounds=6, local_rate=1.0, expected_clients=4.0, server_rate=0.3, **options)
    central = DPSGD(MODEL, steps=6, sampling="full-batch", batch_size=4.0, learning_rate=0.3, **options)
    two = (
        learner.release(data, 1, np.random.default_rng(0))
        for learner, data in ((federated, clients), (central, (X, y)))
    )
    trajectory, final = (outputs.values[0] for outputs in two)
    np.testing.assert_allclose(trajectory[-1], final, rtol=1e-10)


def test_clients_are_sampled_at_their_rate_and_the_sum_gets_the_noise():
    learner = FederatedAveraging(MODEL, noise_multiplier=0.01, sampling_probability=0.3, expected_clients=2.0)
    sent = np.eye(MODEL.n_parameters)[:3] * 0.8
    change = learner.release(list(sent), 20_000, np.random.default_rng(0)).values[:, 1] * 2.0
    taken = (change[:, :3] > 0.4).sum(axis=0)
    assert (stats.binom.cdf(taken, 20_000, 0.3) > FALSE_ALARM / 6).all()
    assert (stats.binom.sf(taken - 1, 20_000, 0.3) > FALSE_ALARM / 6).all()
    assert stats.kstest(change[:, 3:].ravel() / 0.01, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("rate", [0.4, 1.0])
def test_law_of_several_adaptive_rounds_averages_its_ratio_to_one(rate):
    learner = FederatedAveraging(
        MODEL, noise_multiplier=2.0, rounds=3, local_steps=2, local_rate=2.0, server_rate=3.0, sampling_probability=rate
    )
    clients = made_clients((4, 2, 7))
    law, outputs = learner.output_law(), learner.release(clients, 20_000, np.random.default_rng(2))
    ratio = np.exp(law.log_density(outputs, clients[1:]) - law.log_density(outputs, clients))
    error = ratio.std() / math.sqrt(len(ratio))
    assert error > 1e-3
    assert abs(ratio.mean() - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * error


def test_a_raw_message_reveals_the_record_and_a_private_one_does_not():
    model = SoftmaxRegression(64, 10)
    record = np.random.default_rng(5).uniform(size=64)
    silent = LocalNoiseAveraging(model, noise_multiplier=0.0, clip_norm=None)
    for learner, exact in ((silent, True), (LocalNoiseAveraging(model, noise_multiplier=4.0), False)):
        message = learner.release([(record[None], np.array([7]))], 1, np.random.default_rng(0)).values[0, 0, 0]
        inverted = invert_gradient(model, -message)
        correlation = np.corrcoef(inverted.x[0], record)[0, 1]
        if exact:
            np.testing.assert_allclose(inverted.x[0], record, rtol=1e-9)
            assert inverted.y[0] == 7
        else:
            assert abs(correlation) < 0.5
    with pytest.raises(AccountingError, match="without noise"):
        silent.guarantee()


def test_claims_are_those_of_rounds_of_clients():
    assert FederatedAveraging(MODEL, noise_multiplier=3.0, rounds=9).guarantee() == GaussianDP(1.0, "add_remove")
    replaced = FederatedAveraging(MODEL, noise_multiplier=3.0, rounds=9, relation="replace_one")
    assert replaced.guarantee() == GaussianDP(2.0, "replace_one")
    sampled = FederatedAveraging(MODEL, noise_multiplier=6.0, rounds=2, sampling_probability=0.5, local_steps=7)
    expected = PrivacyLossDP.gaussian(6.0, steps=2, sampling_probability=0.5)
    assert sampled.guarantee().epsilon(1e-5) == pytest.approx(expected.epsilon(1e-5), rel=1e-9)
    assert LocalNoiseAveraging(MODEL, noise_multiplier=6.0, rounds=9).guarantee() == GaussianDP(1.0, "replace_one")


def test_noise_of_the_average_message_falls_with_the_number_of_clients():
    clients = made_clients((3,) * 25)
    learner = LocalNoiseAveraging(MODEL, noise_multiplier=1.0, view="final")
    final = learner.release(clients, 4_000, np.random.default_rng(0)).values
    centre = learner.client_updates(clients, np.zeros((1, MODEL.n_parameters)))[0].mean(axis=0)
    assert stats.kstest(((final - centre) * 5.0).ravel(), "norm").pvalue > FALSE_ALARM


def test_pairs_differ_in_one_client_with_all_of_its_records():
    clients, other = made_clients((2, 5, 3)), made_clients((4,), seed=9)[0]
    learner = FederatedAveraging(MODEL, noise_multiplier=1.0)
    learner.bind(Neighbours(clients[1:], clients, "add_remove"))
    learner.bind(Neighbours(clients[1:], clients[::-1], "add_remove"))
    shuffled = [(X[::-1], y[::-1]) for X, y in clients]
    learner.bind(Neighbours(clients[:-1], shuffled, "add_remove"))
    X, y = clients[1]
    for wrong in (clients, clients[2:], [clients[0], (X[1:], y[1:]), clients[2]]):
        with pytest.raises(NeighboursError):
            learner.bind(Neighbours(wrong, clients, "add_remove"))
    local = LocalNoiseAveraging(MODEL, noise_multiplier=1.0)
    local.bind(Neighbours([other, *clients[1:]], clients, "replace_one"))
    with pytest.raises(NeighboursError, match="differ in place"):
        local.bind(Neighbours([*clients[1:], other], clients, "replace_one"))
    blank = LocalNoiseAveraging(MODEL, noise_multiplier=1.0, relation="zero_out")
    blank.bind(Neighbours([np.zeros(12), *clients[1:]], clients, "zero_out"))
    with pytest.raises(NeighboursError, match="no data"):
        blank.bind(Neighbours([other, *clients[1:]], clients, "zero_out"))


def test_bad_input_is_refused_by_name():
    clients = made_clients((2, 5))
    options = {"noise_multiplier": 1.0}
    with pytest.raises(ParameterError, match="list of clients"):
        FederatedAveraging(MODEL, **options).release((np.eye(3), np.arange(3)), 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="client 1 must be"):
        FederatedAveraging(MODEL, **options).release([clients[0], np.zeros(5)], 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="client 0 must be"):
        FederatedAveraging(MODEL, **options).release([np.full(12, np.nan)], 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="n_features = 3"):
        FederatedAveraging(MODEL, **options).release(made_clients((2,), n_features=4), 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="relative to clip_norm"):
        FederatedAveraging(MODEL, noise_multiplier=1.0, clip_norm=None)
    with pytest.raises(ParameterError, match="initial must hold 12"):
        FederatedAveraging(MODEL, initial=np.zeros(3), **options)
    half, many = FederatedAveraging(MODEL, sampling_probability=0.5, **options), made_clients((1,) * 11)
    outputs = half.release(many, 2, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="too many possible sums"):
        half.output_law().log_density(outputs, many)
    with pytest.raises(ParameterError, match="owners must name"):
        split_by_client(np.eye(3), np.zeros(3), [1, 2])
    with pytest.raises(RelationError, match="number reveals the clients"):
        LocalNoiseAveraging(MODEL, relation="add_remove", **options)
    with pytest.raises(ParameterError, match="local_steps must be 1"):
        PerRecordClipping(local_steps=2)
    with pytest.raises(ParameterError, match="must be 'add_remove'"):
        RealisedClients(relation="zero_out")


def test_a_client_without_records_adds_nothing_to_a_named_model():
    named = FederatedAveraging("logistic-regression", n_features=2, noise_multiplier=1.0)
    assert named.network == LogisticRegression(2)
    empty_client = (np.empty((0, 2)), np.empty(0))
    assert not named.client_updates([empty_client], np.ones((2, 3))).any()


def test_learners_with_arrays_compare_by_value_to_the_last_digit():
    model = LogisticRegression(2)
    starts = [np.full(model.n_parameters, 0.1) + off for off in (0.0, 0.0, 1e-16)]
    one, same, other = (FederatedAveraging(model, noise_multiplier=1.0, initial=start) for start in starts)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != FederatedAveraging(model, noise_multiplier=1.0)
