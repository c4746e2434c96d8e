"""A pair of DP-SGD, and the view that faces it: what a white-box adversary looks along is what differs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpassay.attacks.canaries import Dirac, Mislabelled, RandomDirection
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core import Neighbours, NeighboursError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.directions import gradient_direction
from dpassay.mechanisms.learning.dp_sgd.group_privacy import GroupPrivacy
from dpassay.mechanisms.learning.models import MultiLayerPerceptron, SoftmaxRegression

pytestmark = pytest.mark.usefixtures("without_power")

MODEL = SoftmaxRegression(4, 3)
SIZE = MODEL.n_parameters
AXES = np.eye(SIZE)
QUICK = {"trials": 400, "delta": 1e-5, "confidence": 1 - 1e-6, "seed": 3}
RELATIONS = ("add_remove", "zero_out", "replace_one")


def records(n=10, seed=0):
    """The third feature is dead."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = 0.0
    return X, rng.integers(0, 3, n)


def observed(**options):
    given = {"steps": 4, "noise_multiplier": 1.0, "sampling": "full-batch", "batch_size": 10, "view": "noisy_gradients"}
    return DPSGD(MODEL, **given | options)


def gradient_pair(without, having, relation="replace_one", data=None):
    X, y = records() if data is None else data
    sides = (TrainingData(X, y, np.atleast_2d(g)) if g is not None else TrainingData(X, y) for g in (without, having))
    return Neighbours(*sides, relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("canary", [Dirac(unit=1), RandomDirection()])
def test_leaks_along_other_directions_than_the_default_are_detected(canary, relation):
    mechanism = observed(relation=relation)
    pair = canary.pair(records(), mechanism)
    assert audit(mechanism, pair, claim=GaussianDP(0.2, relation=relation), **QUICK).verdict is Verdict.VIOLATION
    honest = audit(mechanism, pair, bound="accountant-family", **QUICK)
    assert honest.attack == "likelihood-ratio"
    assert 0.5 * honest.claim < honest.bound.epsilon < honest.claim


def test_default_directions_are_kept_if_they_show_the_whole_difference():
    mechanism = observed()
    assert mechanism.bind(mechanism.worst_case()) is mechanism
    opposite = observed(relation="replace_one")
    assert opposite.bind(opposite.worst_case()) is opposite
    along = gradient_pair(None, 0.5 * mechanism.canary, "add_remove")
    assert mechanism.bind(along) is mechanism
    for view in ("final", "trajectory"):
        other = observed(view=view)
        assert other.bind(RandomDirection().pair(records(), other)) is other


@pytest.mark.parametrize("clipping", ["flat", "per-layer"])
def test_the_direction_is_that_of_the_clipped_gradients(clipping):
    model = MultiLayerPerceptron(4, hidden=(3,), n_outputs=3)
    rng = np.random.default_rng(1)
    large, small = 9.0 * rng.normal(size=model.n_parameters), 0.01 * rng.normal(size=model.n_parameters)
    mechanism = DPSGD(
        model,
        steps=1,
        noise_multiplier=0.0,
        clip_norm=0.5,
        clipping=clipping,
        view="noisy_gradients",
        relation="replace_one",
        sampling="full-batch",
        batch_size=1,
    )
    pair = gradient_pair(small, large, data=(np.empty((0, 4)), np.empty(0)))
    bound = mechanism.bind(pair)
    out, in_ = (bound.release(pair.side(side), 1, rng).values[0, 0, 0] for side in (0, 1))
    start = np.zeros((1, model.n_parameters))
    each = [mechanism.clipped_gradient(pair.side(side), start)[0] for side in (0, 1)]
    assert in_ - out == pytest.approx(np.linalg.norm(each[1] - each[0]) / 0.5, rel=1e-9)  # nothing is left outside


def test_wrapped_mechanisms_observe_along_the_pair_and_keep_the_law():
    base = observed()
    pair = Dirac(unit=1).pair(records(), base)
    direction = gradient_direction(base.recipe, pair)
    assert np.array_equal(GroupPrivacy(base, size=2).bind(pair).base.seen_directions, direction[None])
    assert np.array_equal(twice(base).bind(pair).base.seen_directions, direction[None])
    assert audit(twice(base), pair, claim=GaussianDP(0.2), **QUICK).verdict is Verdict.VIOLATION
    for wrapped in (alone(base), twice(base)):
        assert wrapped.bind(base.worst_case()) is wrapped
        assert audit(wrapped, pair, **QUICK).attack == "likelihood-ratio"
    for wrapped in (alone(observed(view="final")), twice(observed(view="final"))):
        assert wrapped.output_law() is None


def itself(mechanism):
    return mechanism


def alone(mechanism):
    return GroupPrivacy(mechanism, size=1)


def twice(mechanism):
    return Repeated(mechanism, times=2)


@pytest.mark.parametrize("wrap", [itself, alone, twice])
def test_directions_at_right_angles_to_what_differs_are_refused(wrap):
    pair = gradient_pair(None, AXES[7], "add_remove")
    elsewhere = wrap(observed(directions=AXES[:3]))
    with pytest.raises(NeighboursError, match=r"observed directions \(3\) are at right angles .* Leave directions out"):
        audit(elsewhere, pair, **QUICK)
    slanted = np.sqrt([0.5, 0.5]) @ AXES[[2, 7]]
    result = audit(wrap(observed(directions=slanted)), pair, claim=GaussianDP(0.2), **QUICK)
    assert result.verdict is Verdict.VIOLATION


@pytest.mark.parametrize("options", [{}, {"directions": AXES[:2]}])
def test_examples_are_refused_and_the_advised_view_detects_the_leak(options):
    mechanism = observed(**options)
    pair = Mislabelled().pair(records(), observed(view="final"))
    with pytest.raises(NeighboursError, match="view='trajectory', which attack='gradient-product' reads"):
        audit(mechanism, pair, **QUICK)
    with pytest.raises(NeighboursError, match="view='trajectory'"):
        Mislabelled().stage(records(), mechanism)
    advised = replace(mechanism, view="trajectory", directions=None)
    result = audit(advised, pair, attack="gradient-product", claim=GaussianDP(0.2), **QUICK)
    assert result.verdict is Verdict.VIOLATION


def test_gradients_that_clipping_makes_equal_are_refused():
    mechanism = observed(relation="replace_one")
    with pytest.raises(NeighboursError, match="the same, or nothing, once they are clipped"):
        audit(mechanism, gradient_pair(3.0 * AXES[0], 5.0 * AXES[0]), **QUICK)
    assert math.isclose(
        gradient_direction(mechanism.recipe, gradient_pair(0.3 * AXES[0], 5.0 * AXES[0])) @ AXES[0], 1.0
    )
