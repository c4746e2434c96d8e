"""DP-Adam: the formula, post-processing of the same noisy sums, and what is refused."""

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.experiments.config.sections import Named
from dpassay.experiments.config.tasks.build import build_mechanism
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD, Adam
from dpassay.mechanisms.learning.models import LogisticRegression

MODEL = LogisticRegression(2)
OPTIONS = {"steps": 7, "noise_multiplier": 2.0, "sampling": "full-batch", "batch_size": 5, "learning_rate": 0.3}


def adam(**options):
    return DPSGD(MODEL, **(OPTIONS | {"optimizer": "adam"} | options))


def test_parameters_are_those_of_a_slow_twin():
    """The noisy sums of a run, one after the other, through the formulas of Kingma and Ba."""
    optimizer = Adam(beta1=0.8, beta2=0.95, stability=0.01)
    mechanism = adam(optimizer=optimizer)
    rng = np.random.default_rng(1)
    data = TrainingData(rng.normal(size=(6, 2)), np.arange(6) % 2)
    theta = np.zeros((4, 3))
    m, v = np.zeros((4, 3)), np.zeros((4, 3))
    for t, (total, parameters) in enumerate(mechanism.trainer_on(data).train(4, np.random.default_rng(2)), start=1):
        g = total / 5.0
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g * g
        theta = theta - 0.3 * (m / (1.0 - 0.8**t)) / (np.sqrt(v / (1.0 - 0.95**t)) + 0.01)
        np.testing.assert_allclose(parameters, theta, rtol=1e-10)


def test_noisy_sums_of_gradient_records_and_the_claim_are_those_of_gradient_descent():
    options = {"view": "noisy_gradients", "directions": np.eye(3)}
    descent = DPSGD(MODEL, **OPTIONS, **options)
    pair = descent.worst_case()
    runs = [mechanism.release(pair.d1, 50, np.random.default_rng(0)) for mechanism in (descent, adam(**options))]
    np.testing.assert_array_equal(runs[0].values, runs[1].values)
    assert adam(**options).guarantee().epsilon(1e-5) == descent.guarantee().epsilon(1e-5)


@pytest.mark.usefixtures("without_power")
def test_audits_of_adam_are_below_the_claim_and_see_the_record():
    """All steps are nearly the whole claim; the last iterate, whose scale Adam takes away, shows less."""
    options = {"relation": "add_remove", "noise_multiplier": 3.0}
    everything = audit(adam(view="noisy_gradients", **options), trials=40_000, delta=1e-3, confidence=1 - 1e-6, seed=0)
    last = audit(adam(**options), trials=40_000, delta=1e-3, confidence=1 - 1e-6, seed=0)
    assert everything.verdict.value == last.verdict.value == "consistent"
    assert 0.0 < last.bound.epsilon < everything.bound.epsilon <= everything.claim


def test_each_run_has_its_own_means():
    """Blocks of runs do not share the state: one run alone is that of a batch with the same numbers."""
    data = TrainingData(np.eye(2), np.array([0, 1]))
    many = adam(noise_multiplier=0.0).release(data, 600, np.random.default_rng(0)).values
    np.testing.assert_array_equal(many, np.tile(many[:1], (600, 1)))


def test_a_config_sets_the_optimizer_by_name_or_as_a_table():
    named = Named(name="dp-sgd", model="logistic-regression", n_features=2, optimizer="adam", **OPTIONS)
    assert build_mechanism(named).adam == Adam()
    table = {"name": "adam", "beta2": 0.99}
    built = build_mechanism(Named(name="dp-sgd", model="logistic-regression", n_features=2, optimizer=table, **OPTIONS))
    assert built.adam == Adam(beta2=0.99)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"momentum": 0.5}, "momentum is 0.5: Adam has its own mean"),
        ({"view": "trajectory"}, "view is 'trajectory': Adam"),
        ({"optimizer": "adamw"}, "optimizer"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        adam(**options)
    with pytest.raises(ParameterError, match="beta1"):
        Adam(beta1=1.0)
