"""Capabilities of trainers: which trainer has which, and the errors for those that lack one."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from dpassay import attacks
from dpassay.attacks.canaries import ClipBKD, Dirac, Mislabelled, Natural, OrthogonalDirection, RandomDirection
from dpassay.attacks.canaries.catalogue import catalogue as canaries
from dpassay.audit.games import gradient_canary_game, membership_game
from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import Outputs, ParameterError, Relation
from dpassay.mechanisms.learning.base import Learner, TrainingData
from dpassay.mechanisms.learning.dp_sgd import FullBatch, GroupPrivacy, capabilities
from dpassay.mechanisms.learning.dp_sgd.capabilities import (
    SupportsCanaries,
    SupportsCorrelatedNoise,
    SupportsDiracCanaries,
    SupportsGradientCanaries,
    SupportsInitialParameters,
    SupportsLosses,
    SupportsModels,
    SupportsNoisyGradients,
    SupportsRecordGradients,
    SupportsSubsets,
    SupportsTrajectory,
    has_capability,
    members,
    require_capability,
)
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.models.architectures import MultiLayerPerceptron, SoftmaxRegression
from dpassay.mechanisms.noise.laplace import Laplace

EVERY = [
    SupportsGradientCanaries,
    SupportsDiracCanaries,
    SupportsModels,
    SupportsRecordGradients,
    SupportsSubsets,
    SupportsLosses,
    SupportsNoisyGradients,
    SupportsTrajectory,
    SupportsInitialParameters,
    SupportsCanaries,
    SupportsCorrelatedNoise,
]
ROOMS = ("mechanisms", "attacks", "audit", "experiments")
X, Y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 3
NEAREST = EstimatorLearner(KNeighborsClassifier(1))


def ours(**options):
    given = {"steps": 3, "noise_multiplier": 1.0, "sampling": "full-batch", "batch_size": 20}
    return DPSGD(SoftmaxRegression(4, 3), **given | options)


def test_every_protocol_of_the_module_is_listed_here():
    result = [one for one in vars(capabilities).values() if getattr(one, "_is_protocol", False)]
    required = {one.__name__ for one in result if one.__module__ == capabilities.__name__}
    assert required == {one.__name__ for one in EVERY} | {"SupportsTrainer"}


@pytest.mark.parametrize("capability", EVERY)
def test_dp_sgd_has_all_capabilities_also_in_a_group(capability):
    trainer = ours()
    assert require_capability(trainer, capability, "a test") is trainer
    assert require_capability(GroupPrivacy(trainer, size=3), capability, "a test") is trainer
    assert not has_capability(Laplace(1.0), capability)


@pytest.mark.parametrize("capability", EVERY)
def test_missing_members_are_named(capability):
    with pytest.raises(ParameterError) as raised:
        require_capability(Laplace(1.0), capability, "the wanted thing")
    message = str(raised.value)
    assert message.startswith("the wanted thing needs a trainer with ")
    assert f"is {capability.__name__} (dpassay.mechanisms.learning.dp_sgd.capabilities)" in message
    for name in set(members(capability)) - {"relation"}:
        assert name in message


def test_a_class_in_the_place_of_a_trainer_is_refused():
    assert has_capability(NEAREST, SupportsCanaries)
    assert not has_capability(EstimatorLearner, SupportsCanaries)


def test_an_estimator_takes_examples_but_no_gradients():
    for canary in (Natural(), Mislabelled()):
        made, always = canary.several((X, Y), NEAREST, 5)
        assert (len(made), len(always)) == (5, 15)
        game = membership_game(NEAREST, made, records=always, seed=0)
        assert game.scores[game.bits].min() >= game.scores[~game.bits].max()
    assert np.all(Mislabelled().several((X, Y), NEAREST, 5)[0].y == (Y[:5] + 1) % 3)
    for canary in (Dirac(), RandomDirection()):
        with pytest.raises(ParameterError, match=r"needs a trainer with .*clip_norm.*, which EstimatorLearner lacks"):
            canary.several((X, Y), NEAREST, 5)
    with pytest.raises(ParameterError, match=r"the gradient-canary game needs a trainer with .*showing"):
        gradient_canary_game(NEAREST, np.eye(4), seed=0)


class Summing:
    """A foreign trainer: one noisy sum of gradients, and only the members that attacks use."""

    relation, clip_norm, n_parameters, steps, noise_multiplier = Relation.ADD_REMOVE, 2.0, 30, 4, 0.5
    scheme = FullBatch(expected_batch_size=1)
    directions = np.zeros((0, 30))

    def check_data(self, data):
        pass

    def count_classes(self, data):
        return 2

    def initial_models(self, data):
        return None

    def no_examples(self):
        return TrainingData(np.zeros((0, 1)), np.zeros(0))

    def showing(self, directions):
        result = Summing()
        result.directions = directions
        return result

    def release_subsets(self, records, inclusion, rng):
        sums = inclusion[:, records.n_examples :] @ records.gradients / self.clip_norm
        noise = rng.normal(scale=self.noise_multiplier, size=(len(inclusion), self.steps, self.n_parameters))
        return Outputs((sums[:, None, :] + noise) @ self.directions.T)


def test_a_foreign_trainer_with_the_capabilities_can_be_played():
    trainer = require_capability(Summing(), SupportsNoisyGradients, "a test")
    canaries_, always = RandomDirection().several((np.zeros((3, 1)), np.zeros(3, dtype=int)), trainer, 5)
    np.testing.assert_allclose(np.linalg.norm(canaries_.gradients, axis=1), 2.0)
    game = gradient_canary_game(trainer, 2.0 * np.eye(30), records=always, n_runs=40, seed=1)
    mu = np.sqrt(trainer.steps) / trainer.noise_multiplier
    assert game.scores[game.bits].mean() == pytest.approx(0.5 * mu**2, rel=0.1)
    assert game.scores[~game.bits].mean() == pytest.approx(-0.5 * mu**2, rel=0.1)
    with pytest.raises(ParameterError, match="canary Dirac needs a trainer with input_weights, which Summing lacks"):
        Dirac().several((np.zeros((3, 1)), np.zeros(3, dtype=int)), trainer, 5)
    with pytest.raises(ParameterError, match=r"canary OrthogonalDirection needs a trainer with .*clipped_gradients"):
        OrthogonalDirection().several((np.zeros((3, 1)), np.zeros(3, dtype=int)), trainer, 5)


@pytest.mark.parametrize("model", [SoftmaxRegression(4, 3), MultiLayerPerceptron(4, hidden=(5,), n_outputs=3)])
def test_input_weights_are_those_that_read_the_feature(model):
    """Where a feature is 0, its weights have no gradient; no other weight of the first layer is so."""
    trainer = DPSGD(model, steps=1, noise_multiplier=1.0, sampling="full-batch", batch_size=20)
    weights = trainer.input_weights()
    assert weights.shape == (model.layers[0].n_units, 4)
    masked = X * np.array([1.0, 1.0, 0.0, 1.0])
    start = np.random.default_rng(1).normal(size=(1, trainer.n_parameters))
    gradient = trainer.clipped_gradient(TrainingData(masked, Y), start)[0]
    first = np.arange(model.layers[0].span.stop)
    assert sorted(first[gradient[first] == 0.0]) == sorted(weights[:, 2])


def test_clipped_gradients_are_the_same_by_formula_and_by_trainer():
    trainer, start = ours(clip_norm=0.3), np.random.default_rng(2).normal(size=(6, 15))
    data = TrainingData(X, Y, np.random.default_rng(3).normal(size=(2, 15)))
    np.testing.assert_allclose(trainer.clipped_gradient(data, start), trainer.clipped_sum_of(data)(start), rtol=1e-9)


@pytest.mark.parametrize("name", list(canaries))
def test_a_canary_uses_only_declared_capabilities(name):
    """It is made for a trainer that has nothing but what the capabilities say."""
    declared = (SupportsCanaries, SupportsDiracCanaries, SupportsRecordGradients)
    required = sorted({member for one in declared for member in members(one)})
    trainer = ours()
    bare = type("Bare", (), {member: property(lambda _, m=member: getattr(trainer, m)) for member in required})()
    data = TrainingData(X * [1, 1, 0, 1], Y)
    canary = canaries.build(name)
    for side, wanted in zip(canary._sides(data, bare), canary._sides(data, trainer), strict=True):
        np.testing.assert_array_equal(side.X, wanted.X)
        np.testing.assert_array_equal(side.y, wanted.y)


def test_no_other_room_checks_for_the_class_dpsgd():
    """`isinstance(..., DPSGD)` shuts others out: ask for a capability."""
    rooms = Path(attacks.__file__).parents[1]
    gates = []
    for path in (path for room in ROOMS for path in sorted((rooms / room).rglob("*.py"))):
        text = path.read_text()
        if "DPSGD" not in text or path.parent.match("mechanisms/learning/dp_sgd"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                gates += [path.name] * ("DPSGD" in ast.unparse(node.args[1]))
    assert gates == []


def test_a_learner_is_what_trains_on_subsets():
    assert isinstance(NEAREST, Learner)
    assert isinstance(ours(), Learner)
    assert ClipBKD(copies=2).stage((X, Y), ours())[0].trainer == ours()
