"""Canaries: the pairs they make, what they are made of, and what is refused."""

import math

import numpy as np
import pytest

from dpassay.attacks.canaries import (
    Blank,
    ClipBKD,
    Dirac,
    Mislabelled,
    Natural,
    OrthogonalDirection,
    RandomDirection,
    with_dead_features,
    worst_case_initial,
)
from dpassay.attacks.canaries.base import least_likely
from dpassay.attacks.canaries.catalogue import catalogue
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.games import gradient_canary_game, membership_game
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.core import AccountingError, Neighbours, NeighboursError, ParameterError, Relation
from dpassay.mechanisms.learning.base import TrainingData, differing, shared
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.directions import gradient_direction
from dpassay.mechanisms.learning.dp_sgd.group_privacy import GroupPrivacy
from dpassay.mechanisms.learning.dp_sgd.sampling import CyclicBatches, FixedSizeSampling, FullBatch
from dpassay.mechanisms.learning.models import (
    LinearRegression,
    LogisticRegression,
    MultiLayerPerceptron,
    SoftmaxRegression,
)
from dpassay.mechanisms.learning.models.trained import TrainedModels

N = 12
MODEL = SoftmaxRegression(4, 3)
RELATIONS = [relation.value for relation in Relation]


def records(n=N, seed=0):
    """The third feature is dead."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = 0.0
    return X, rng.integers(0, 3, n)


def learner(model=MODEL, **options):
    return DPSGD(
        model, **({"steps": 5, "noise_multiplier": 2.0, "sampling": FullBatch(expected_batch_size=N)} | options)
    )


CANARIES = {
    "natural": Natural(record=3, other=5),
    "mislabelled": Mislabelled(record=3),
    "blank": Blank(record=3, label=1),
    "clip-bkd": ClipBKD(record=3),
    "dirac": Dirac(record=3),
    "random-direction": RandomDirection(record=3),
    "orthogonal-direction": OrthogonalDirection(record=3),
}
every = pytest.mark.parametrize("name", list(catalogue))


def test_every_canary_of_the_catalogue_is_tested_here():
    assert set(CANARIES) == set(catalogue)
    assert all(isinstance(canary, catalogue.get(name)) for name, canary in CANARIES.items())


@every
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("initial", ["zeros", "random"])
def test_the_two_sides_are_neighbours_that_differ_in_the_canary(name, relation, initial):
    mechanism, (X, y) = learner(relation=relation, initial=initial), records()
    pair = CANARIES[name].pair((X, y), mechanism)
    mechanism.bind(pair)
    only0, only1 = differing(pair)
    assert len(pair.d1) == N
    assert len(pair.d0) == N - (relation == "add_remove")
    assert (len(only0), len(only1)) == (relation != "add_remove", 1)
    rest = shared(pair)
    rows, others = np.column_stack([rest.X, rest.y]), np.delete(np.column_stack([X, y]), 3, axis=0)
    assert sorted(rows.tolist()) == sorted(others.tolist())
    if relation == "zero_out":
        assert not np.any(only0.X)
        assert not np.any(only0.y)
        assert only0.gradients is None or not np.any(only0.gradients)


@every
@pytest.mark.parametrize("relation", RELATIONS)
def test_an_alone_canary_is_the_only_record(name, relation):
    canary = CANARIES[name]
    alone = type(canary)(**{**vars(canary), "alone": True})
    pair = alone.pair(records(), learner(relation=relation))
    assert (len(pair.d0), len(pair.d1)) == (int(relation != "add_remove"), 1)


@every
def test_canaries_keep_their_place_in_cyclic_batches(name):
    mechanism = learner(sampling=CyclicBatches(batch_size=4, n_records=N), relation="replace_one")
    pair = CANARIES[name].pair(records(), mechanism)
    if pair.d1.n_gradients == 0:
        assert np.flatnonzero(np.any(pair.d0.X != pair.d1.X, axis=1) | (pair.d0.y != pair.d1.y)).tolist() == [3]


@every
def test_a_record_out_of_range_is_refused(name):
    canary = CANARIES[name]
    beyond = type(canary)(**{**vars(canary), "record": N})
    with pytest.raises(ParameterError, match=f"record must be below {N}"):
        beyond.pair(records(), learner())


@every
def test_invalid_data_are_refused(name):
    X, y = records()
    with pytest.raises(ParameterError, match="3 features"):
        CANARIES[name].pair((X[:, :3], y), learner())
    with pytest.raises(ParameterError, match="gradient records"):
        CANARIES[name].pair(TrainingData(X, y, np.ones((1, MODEL.n_parameters))), learner())


# --- examples ---------------------------------------------------------------------------------------------------


def test_the_label_is_the_least_likely_one_under_the_initial_parameters():
    X, y = records()
    initial = np.zeros((3, 5))
    initial[:, -1] = (2.0, -1.0, 0.5)  # biases
    mechanism = learner(initial=initial.ravel())
    assert differing(Blank().pair((X, y), mechanism))[1].y.tolist() == [1]
    bkd = ClipBKD().pair((X, y), learner(initial=initial.ravel(), relation="replace_one"))
    assert [only.y.tolist() for only in differing(bkd)] == [[2], [1]]
    for record in range(N):
        label = differing(Mislabelled(record=record).pair((X, y), mechanism))[1].y[0]
        assert label == (1 if y[record] != 1 else 2)


def test_the_next_label_is_the_default():
    X, y = records()
    for initial in ("zeros", "random"):
        for record in range(N):
            wrong = differing(Mislabelled(record=record).pair((X, y), learner(initial=initial)))[1].y[0]
            assert wrong == (y[record] + 1) % 3


def test_blank_is_empty_or_the_mean_of_the_others():
    X, y = records()
    zeros, mean = (
        differing(Blank(record=2, fill=fill, label=1).pair((X, y), learner()))[1] for fill in ("zeros", "mean")
    )
    assert not np.any(zeros.X)
    assert np.allclose(mean.X[0], np.delete(X, 2, axis=0).mean(axis=0), rtol=0, atol=1e-15)


def test_clip_bkd_has_mean_norm_and_the_least_direction():
    X, y = records()
    pair = ClipBKD(record=0).pair((X, y), learner())
    x = differing(pair)[1].X[0]
    assert np.allclose(x, [0.0, 0.0, np.linalg.norm(X[1:], axis=1).mean(), 0.0])
    parameters = np.random.default_rng(1).normal(size=(1, MODEL.n_parameters))
    gradients = TrainedModels(MODEL, parameters).gradients(pair.d1.X, pair.d1.y)[0].reshape(N, 3, 5)
    weights = gradients[:, :, :4].reshape(N, -1)
    assert np.allclose(weights[1:] @ weights[0], 0.0, atol=1e-12)


def test_copies_are_a_group_with_the_claim_of_a_group():
    base = learner()
    mechanism, pair = ClipBKD(copies=4).stage(records(), base)
    assert isinstance(mechanism, GroupPrivacy)
    assert isinstance(mechanism.guarantee(), GaussianDP)
    assert mechanism.guarantee().mu == pytest.approx(4 * math.sqrt(5) / 2.0)
    assert [len(only) for only in differing(pair)] == [0, 4]
    assert len(np.unique(differing(pair)[1].X, axis=0)) == 1
    with pytest.raises(NeighboursError, match="plus one record"):
        ClipBKD(copies=4).pair(records(), base)
    with pytest.raises(NeighboursError, match="differ in 4 records, but the claim is for a group of 1 to 3"):
        GroupPrivacy(base, size=3).bind(pair)
    with pytest.raises(NeighboursError, match="differ in 0 records"):
        GroupPrivacy(base, size=3).bind(Neighbours(pair.d1, pair.d1, "add_remove"))
    assert ClipBKD(copies=1).stage(records(), base)[0] is base


def test_group_claims_that_no_theorem_gives_are_refused():
    allocated = learner(sampling="random-allocation", batches_per_epoch=5, batch_size=3)
    with pytest.raises(AccountingError, match="group privacy"):
        GroupPrivacy(allocated, size=2).guarantee()


def test_a_canary_equal_to_the_blank_record_is_refused():
    with pytest.raises(NeighboursError, match="same"):
        Blank(label=0).pair(records(), learner(relation="zero_out"))


def test_labels_that_are_right_or_unknown_are_refused():
    X, y = records()
    with pytest.raises(ParameterError, match="label must be wrong"):
        Mislabelled(record=1, label=int(y[1])).pair((X, y), learner())
    for label in (3, -1, True, 0.5):
        for canary in (Mislabelled(label=label), Blank(label=label)):
            with pytest.raises(ParameterError, match="label must be a class of the model, 0 to 2"):
                canary.pair((X, y), learner())
    with pytest.raises(ParameterError, match="no classes"):
        Blank().pair((X, y * 1.0), learner(LinearRegression(4)))
    with pytest.raises(ParameterError, match="only 2 classes"):
        least_likely(learner(SoftmaxRegression(4, 2)), TrainingData(X, y), X[0], exclude=0, rank=1)
    with pytest.raises(ParameterError, match="other must be the position"):
        Natural().pair((X, y), learner(relation="replace_one"))


def test_a_duplicated_natural_record_makes_a_pair():
    X, y = records()
    X[1], y[1] = X[0], y[0]
    pair = Natural(record=0).pair((X, y), learner())
    assert differing(pair)[1].X.tolist() == [X[0].tolist()]
    assert len(shared(pair)) == N - 1


# --- gradients --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip_norm", [0.1, 1.0, 7.0])
@pytest.mark.parametrize(
    "canary", [Dirac(), Dirac(unit=2), RandomDirection(), RandomDirection(seed=5), OrthogonalDirection()]
)
def test_gradient_canaries_have_norm_clip_norm(canary, clip_norm):
    pair = canary.pair(records(), learner(clip_norm=clip_norm))
    assert np.linalg.norm(pair.d1.gradients) == pytest.approx(clip_norm, rel=1e-12)
    replaced = learner(clip_norm=clip_norm, relation="replace_one")
    opposite = canary.pair(records(), replaced)
    assert np.array_equal(opposite.d0.gradients, -opposite.d1.gradients)
    assert np.allclose(gradient_direction(replaced.recipe, opposite), opposite.d1.gradients[0] / clip_norm, rtol=1e-12)


@pytest.mark.parametrize("model", [MODEL, MultiLayerPerceptron(4, hidden=(5,), n_outputs=3)])
def test_only_the_canary_moves_along_dirac(model):
    """Noise-free: every observation is exactly 1 on side 1 and 0 on side 0."""
    seen, pair = Dirac(unit=1).stage(records(), learner(model, noise_multiplier=0.0, view="noisy_gradients"))
    rng = np.random.default_rng(0)
    assert np.array_equal(seen.release(pair.d0, 2, rng).values, np.zeros((2, 5, 1)))
    assert np.array_equal(seen.release(pair.d1, 2, rng).values, np.ones((2, 5, 1)))


def test_a_random_direction_is_touched_by_the_others():
    seen, pair = RandomDirection().stage(records(), learner(noise_multiplier=0.0, view="noisy_gradients"))
    assert np.abs(seen.release(pair.d0, 1, np.random.default_rng(0)).values).max() > 0.01
    assert np.linalg.norm(seen.directions) == pytest.approx(1.0)


def test_observed_directions_default_to_those_of_the_canary():
    mechanism = learner(view="noisy_gradients")
    assert np.flatnonzero(Dirac(unit=1).stage(records(), mechanism)[0].directions[0]).tolist() == [5 + 2]
    own = learner(view="noisy_gradients", directions=np.eye(MODEL.n_parameters)[2])
    assert Dirac().stage(records(), own)[0] is own
    final = learner()
    assert Dirac().stage(records(), final)[0] is final
    assert Mislabelled().stage(records(), final)[0] is final


def test_a_dirac_canary_needs_a_dead_feature():
    X, y = records()
    alive = X + 1.0
    with pytest.raises(ParameterError, match="needs a dead feature, 0 in all other records, but there is none"):
        Dirac().pair((alive, y), learner())
    with pytest.raises(ParameterError, match="feature 0 is not"):
        Dirac(feature=0).pair((X, y), learner())
    with pytest.raises(ParameterError, match="unit must be below 3"):
        Dirac(unit=3).pair((X, y), learner())
    wider, labels = with_dead_features((alive, y))
    pair = Dirac().pair((wider, labels), learner(SoftmaxRegression(5, 3)))
    assert np.flatnonzero(pair.d1.gradients[0]).tolist() == [4]


def test_gradient_canaries_count_as_one_of_the_records_of_a_sampling():
    mechanism = learner(sampling=FixedSizeSampling(batch_size=3, n_records=N))
    assert mechanism.relation is Relation.ZERO_OUT
    pair = Dirac().pair(records(), mechanism)
    assert len(pair.d0) == len(pair.d1) == N


def test_other_mechanisms_are_refused():
    from dpassay.mechanisms import Laplace

    with pytest.raises(ParameterError, match=r"canary Natural needs a trainer with .*initial_models, which Laplace"):
        Natural().pair(records(), Laplace(1.0))
    with pytest.raises(ParameterError, match="base must be a DPSGD"):
        GroupPrivacy(Laplace(1.0), size=2)


# --- initial parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MODEL, MultiLayerPerceptron(4, hidden=(6,), n_outputs=3)])
def test_worst_case_parameters_leave_natural_gradients_near_0(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.argmax(X[:, :3], axis=1)
    X += 2.0 * np.eye(4)[y]
    plain = worst_case_initial(model, X[:40], y[:40], steps=400)
    sharp = worst_case_initial(model, X[:40], y[:40], steps=400, margin=20.0)
    norms = [
        TrainedModels(model, p[None]).gradient_norms(X[40:], y[40:]).mean()
        for p in (np.zeros_like(plain), plain, sharp)
    ]
    assert norms[1] < 0.25 * norms[0]
    assert np.median(TrainedModels(model, sharp[None]).gradient_norms(X[40:], y[40:])) < 1e-3
    last = model.layers[-1].span
    assert np.array_equal(sharp[last], 20.0 * plain[last])
    assert np.array_equal(worst_case_initial(model, X[:40], y[:40], steps=400), plain)
    assert learner(model, initial=plain).recipe.initial.shape == (model.n_parameters,)


def test_worst_case_parameters_refuse_invalid_data():
    X, y = records()
    with pytest.raises(ParameterError, match="labels"):
        worst_case_initial(MODEL, X, y + 1)
    with pytest.raises(ParameterError, match="no record"):
        worst_case_initial(MODEL, X[:0], y[:0])
    with pytest.raises(ParameterError, match="margin"):
        worst_case_initial(MODEL, X, y, margin=0.0)
    with pytest.raises(ParameterError, match="diverged"):
        worst_case_initial(LinearRegression(4), X * 100, y * 1.0, learning_rate=10.0, steps=2000)


@pytest.mark.parametrize(
    ("relation", "out", "in_", "message"),
    [
        ("add_remove", [-1.0], [1.0], "each has records that the other lacks"),
        ("zero_out", [-1.0], [1.0], "must be blank"),
        ("zero_out", [], [1.0], "equally many records"),
        ("replace_one", [-1.0, -1.0], [1.0, 1.0], "differ in 2 records"),
    ],
)
def test_a_group_is_one_under_its_relation(relation, out, in_, message):
    base = DPSGD(
        LogisticRegression(4), steps=4, noise_multiplier=2.0, sampling="full-batch", batch_size=1, relation=relation
    )
    sides = (TrainingData(np.empty((0, 4)), np.empty(0), np.outer(norms, np.eye(5)[0])) for norms in (out, in_))
    with pytest.raises(NeighboursError, match=message):
        GroupPrivacy(base, size=1).bind(Neighbours(*sides, relation))


def test_a_group_of_cyclic_batches_is_decided_by_place():
    base = DPSGD(
        LogisticRegression(1), steps=2, noise_multiplier=2.0, sampling="cyclic", batch_size=1, n_records=2,
        relation="replace_one",
    )  # fmt: skip
    X, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    with pytest.raises(NeighboursError, match="differ in 2 records"):
        GroupPrivacy(base, size=1).bind(Neighbours((X, y), (X[::-1], y[::-1]), "replace_one"))


# --- many at once, for one run ---------------------------------------------------------------------------------------


def test_many_examples_replace_records():
    X, y = records()
    for kind in (Natural, Mislabelled):
        canaries, always = kind(record=2).several((X, y), learner(), 5)
        assert canaries.X.tolist() == X[2:7].tolist()
        assert always.X.tolist() == np.delete(X, range(2, 7), axis=0).tolist()
        assert (canaries.y == y[2:7]).all() == (kind is Natural)
    assert len(Natural(alone=True).several((X, y), learner(), 5)[1]) == 0


def test_many_dirac_gradients_are_orthogonal():
    X, y = with_dead_features(records(), 2)
    mechanism = learner(SoftmaxRegression(6, 3), clip_norm=2.5)
    canaries, always = Dirac().several((X, y), mechanism, 9)
    assert always.X.tolist() == X.tolist()
    assert (canaries.gradients @ canaries.gradients.T == 6.25 * np.eye(9)).all()
    of_records = TrainedModels(mechanism.network, np.ones((1, mechanism.network.n_parameters))).gradients(X, y)[0]
    assert (of_records @ canaries.gradients.T == 0.0).all()
    with pytest.raises(ParameterError, match=r"n_canaries is 10, but only 9 weights.*dead_features = 1 "):
        Dirac().several((X, y), mechanism, 10)


def test_many_random_directions_have_the_norm_of_the_clip():
    canaries, _ = RandomDirection(seed=4).several(records(), learner(clip_norm=0.5), 7)
    assert np.linalg.norm(canaries.gradients, axis=1) == pytest.approx(np.full(7, 0.5))
    assert np.linalg.matrix_rank(canaries.gradients) == 7
    one = RandomDirection(seed=4).pair(records(), learner(clip_norm=0.5)).d1.gradients
    assert one[0] == pytest.approx(canaries.gradients[0])


def gradients_of_all(model, X, y, seed=1):
    """Gradients of the records with random labels at random parameters, a row each."""
    rng = np.random.default_rng(seed)
    parameters = rng.normal(size=(3, model.n_parameters))
    return TrainedModels(model, parameters).gradients(X, rng.permutation(y)).reshape(-1, model.n_parameters)


def test_orthogonal_directions_leave_the_gradients_of_the_records():
    """Gradients span 2 of 3 classes in 3 live features and the bias: 7 of 15 dimensions remain."""
    (X, y), mechanism = records(), learner(clip_norm=0.5)
    free = OrthogonalDirection().several((X, y), mechanism, 7)[0].gradients
    assert np.allclose(free @ free.T, 0.25 * np.eye(7), atol=1e-12)
    assert np.abs(gradients_of_all(MODEL, X, y) @ free.T).max() < 1e-9
    full = OrthogonalDirection().several((X, y), mechanism, 15)[0].gradients
    assert np.allclose(full @ full.T, 0.25 * np.eye(15), atol=1e-12)
    assert np.abs(gradients_of_all(MODEL, X, y) @ full.T).max() > 0.1


def test_orthogonal_directions_differ_by_seed_and_need_no_records():
    one, other = (OrthogonalDirection(seed=seed).several(records(), learner(), 3)[0].gradients for seed in (0, 1))
    assert np.abs(one - other).max() > 0.1
    alone = OrthogonalDirection(alone=True).pair(records(), learner())
    assert len(alone.d0) == 0
    assert np.linalg.norm(alone.d1.gradients) == pytest.approx(1.0)


def test_orthogonal_directions_avoid_the_records_of_a_perceptron():
    X, y = records(n=60)
    model = MultiLayerPerceptron(4, hidden=(6,), n_outputs=3)
    rows = [
        kind.several((X, y), learner(model), 20)[0].gradients for kind in (RandomDirection(), OrthogonalDirection())
    ]
    shares = [(gradients_of_all(model, X, y) @ row.T).var() for row in rows]
    assert shares[1] < 0.5 * shares[0]


def test_many_clip_bkd_canaries_take_each_label_in_the_least_directions():
    X, y = records()
    canaries, always = ClipBKD(record=2).several((X, y), learner(), 5)
    others = np.delete(X, range(2, 7), axis=0)
    assert always.X.tolist() == others.tolist()
    assert canaries.y.tolist() == [0, 1, 2, 0, 1]
    first = differing(ClipBKD(record=2).pair((X, y), learner()))[1].X[0]
    assert np.allclose(np.abs(canaries.X[:3]) / np.linalg.norm(canaries.X[0]), np.abs(first) / np.linalg.norm(first))
    assert np.allclose(canaries.X[0] @ canaries.X[3], 0.0, atol=1e-12)
    sizes = np.linalg.norm(others @ canaries.X[[0, 3]].T, axis=0)
    assert sizes[0] <= sizes[1] <= np.linalg.norm(others, axis=1).mean() * np.linalg.svd(others)[1][-2] * (1.0 + 1e-9)


def bound_of_one_run(kind, seed, n=60):
    """Return the bound of one-run-fdp; half of the features hardly vary, and the labels depend on the others."""
    X = np.random.default_rng(seed).normal(0.3, 1.0, size=(500, 40)) * np.repeat([0.01, 1.0], 20)
    y = X[:, -4:].argmax(axis=1)
    gradients = isinstance(kind, RandomDirection | OrthogonalDirection)
    mechanism = learner(
        SoftmaxRegression(40, 4), steps=25, noise_multiplier=3.0, learning_rate=1.0,
        sampling=FullBatch(expected_batch_size=500), view="noisy_gradients" if gradients else "final",
    )  # fmt: skip
    canaries, always = kind.several((X, y), mechanism, n)
    if gradients:
        scores = gradient_canary_game(mechanism, canaries.gradients, records=always, seed=seed)
    else:
        scores = membership_game(mechanism, canaries, records=always, seed=seed)
    statement = Statement(mechanism.guarantee(), delta=1e-5, confidence=0.95)
    return OneRunFDP().fix(statement, None, (n,)).lower_bound(scores).epsilon


@pytest.mark.parametrize(("better", "worse"), [(OrthogonalDirection(), RandomDirection()), (ClipBKD(), Mislabelled())])
def test_canaries_that_avoid_the_records_show_more_in_one_run(better, worse):
    """Null: either is as likely to show more. 20 of 20 runs refute it with a false-alarm rate below 1e-6."""
    assert all(bound_of_one_run(better, seed) > bound_of_one_run(worse, seed) for seed in range(20))


@pytest.mark.parametrize(
    ("canary", "n", "message"),
    [
        (Blank(label=1), 4, "would be the same record 4 times"),
        (ClipBKD(copies=2), 4, "copies must be 1 for many canaries in one run, but is 2"),
        (ClipBKD(), 13, "n_canaries must be at most 12, 3 labels in each of 4 directions, but is 13"),
        (ClipBKD(), 12, "dataset must hold more records than the canaries replace"),
        (OrthogonalDirection(), 16, "n_canaries is 16, but the model has 15 parameters"),
        (Natural(record=2), 11, "n_canaries must be at most 10, the records from 2 on, but is 11"),
    ],
)
def test_equal_or_too_many_canaries_are_refused(canary, n, message):
    with pytest.raises(ParameterError, match=message):
        canary.several(records(), learner(), n)
