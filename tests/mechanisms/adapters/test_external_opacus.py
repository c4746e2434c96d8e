"""Training with Opacus, with a stand-in for PyTorch; `tests/adapters` has the tests with the real ones."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.mechanisms.opacus_training import NORM, training

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.adapters.opacus import options
from dpassay.mechanisms.core.errors import AccountingError, NeighboursError, ParameterError, RelationError, ReleaseError
from dpassay.mechanisms.core.records import remove_record
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import SoftmaxRegression

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 3)), RNG.integers(0, 2, size=12)


# --- without PyTorch --------------------------------------------------------------------------------------------------


@pytest.fixture
def stand_in(monkeypatch):
    """One noisy sum of 4 gradients, divided by the number that `constants` says."""

    def train(recipe, data, seed, view):
        divisor = recipe.divisor if recipe.constants == "public" else len(data)
        total = np.zeros(400)
        if data.gradients is not None:
            total += data.gradients.sum(axis=0)
        noise = np.random.default_rng(seed).normal(scale=recipe.noise_multiplier * recipe.max_grad_norm, size=400)
        return (total + noise) / divisor

    fake = SimpleNamespace(n_parameters=lambda make_model: 400, train=train)
    monkeypatch.setattr(options, "_load_training", lambda: fake)
    return fake


def test_without_the_extra_the_message_names_it(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'opacus'", name="opacus")

    monkeypatch.setattr(options, "import_module", missing)
    with pytest.raises(ParameterError, match=r'needs the package opacus.*pip install "\.\[torch\]"'):
        training().release((X, Y), 1, RNG)


def test_the_claim_is_that_of_our_own_dp_sgd_at_the_rate_that_opacus_takes():
    mechanism = training(n_records=577, batch_size=64, epochs=2, noise_multiplier=1.5)
    assert (mechanism.sampling_probability, mechanism.steps, mechanism.divisor) == (0.1, 20, 57)
    ours = DPSGD(
        SoftmaxRegression(3, 2), steps=20, noise_multiplier=1.5, sampling_probability=0.1, batch_size=57
    ).guarantee()
    assert mechanism.guarantee().epsilon(1e-5) == pytest.approx(ours.epsilon(1e-5), rel=1e-9)


def test_full_batches_and_shuffled_ones_have_their_own_claims():
    full = training(batch_size=12, epochs=4, noise_multiplier=2.0)
    assert full.guarantee().mu == pytest.approx(1.0)
    shuffled = training(poisson_sampling=False, epochs=4, noise_multiplier=4.0, relation="replace_one")
    assert shuffled.guarantee().mu == pytest.approx(1.0)
    with pytest.raises(AccountingError, match=r"no theorem here covers shuffled batches under 'add_remove'"):
        replace(shuffled, relation="add_remove").guarantee()
    with pytest.raises(AccountingError, match="noise_multiplier is 0"):
        training(noise_multiplier=0.0).guarantee()


def test_an_epoch_has_as_many_steps_as_opacus_makes_of_it():
    assert training(n_records=93, batch_size=1).batches_per_epoch == 92
    assert training(n_records=93, batch_size=1, poisson_sampling=False).batches_per_epoch == 93


def test_a_data_dependent_divisor_is_a_violation_and_a_public_one_is_not(stand_in):
    pair = remove_record((X[:3], Y[:3]), 0)
    mechanism = training(n_records=3, batch_size=3, noise_multiplier=10.0)
    verdicts = [
        audit(replace(mechanism, constants=constants), pair, attack=NORM, trials=200, delta=1e-5, seed=0).verdict
        for constants in ("opacus", "public")
    ]
    assert verdicts == [Verdict.VIOLATION, Verdict.CONSISTENT]


def test_a_run_that_ends_in_nan_or_raises_is_an_event(stand_in):
    stand_in.train = lambda recipe, data, seed, view: np.full(400, np.nan)
    assert training().release((X, Y), 2, RNG).events[0].startswith("nan at 0, 1")

    def fails(recipe, data, seed, view):
        raise ZeroDivisionError("no batch")

    stand_in.train = fails
    assert training().release((X, Y), 2, RNG).events.tolist() == ["raised ZeroDivisionError: no batch"] * 2
    with pytest.raises(ReleaseError, match="a first training raised ZeroDivisionError on both sides: no batch"):
        training().bind(remove_record((X, Y), 0))


def test_the_pair_must_be_neighbours_of_the_size_that_the_claim_holds_for(stand_in):
    training().bind(remove_record((X, Y), 3))
    with pytest.raises(ParameterError, match=r"the larger dataset has 11 records.*Set n_records=11"):
        training().bind(remove_record((X[1:], Y[1:]), 3))
    with pytest.raises(NeighboursError):
        training().bind(Neighbours((X[2:], Y[2:]), (X, Y), "add_remove"))
    with pytest.raises(RelationError):
        training(relation="replace_one").bind(remove_record((X, Y), 3))


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_canary_is_the_largest_gradient_along_the_observed_direction(stand_in, relation):
    mechanism = training(max_grad_norm=2.0, relation=relation)
    pair = mechanism.canary_pair((X[1:], Y[1:]))
    mechanism.bind(pair)
    np.testing.assert_array_equal(pair.d1.gradients, 2.0 * np.eye(1, 400))
    if relation == "add_remove":
        assert pair.d0.gradients is None
    else:
        np.testing.assert_array_equal(pair.d0.gradients, -pair.d1.gradients)
    with pytest.raises(ParameterError, match="n_records - 1 = 11 records, but has 12"):
        mechanism.canary_pair((X, Y))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"make_model": 3}, "make_model must be a function that returns a new object"),
        ({"batch_size": 13}, "batch_size must be at most n_records, but is 13 of 12"),
        ({"noise_multiplier": -1.0}, "noise_multiplier must be a finite number >= 0"),
        ({"constants": "mine"}, "constants"),
        ({"view": "all"}, "view"),
        ({"relation": "zero_out"}, "relation"),
        ({"epochs": 0}, "epochs must be a whole number >= 1"),
    ],
)
def test_bad_options_are_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        training(**change)


def test_there_is_no_worst_case_of_any_module():
    with pytest.raises(ParameterError, match=r"Try mechanism\.canary_pair"):
        training().worst_case()
