"""Shadow models: their design, what they refuse, and that they are trained on what the matrix says."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dpassay.attacks.membership import Shadows, draw_inclusion
from dpassay.attacks.membership.gradients import GradientInnerProduct, GradientNorm
from dpassay.attacks.membership.likelihood_ratios import RMIA, LiRA
from dpassay.attacks.membership.shadows import OtherModels
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.games import membership_game, train_shadows
from dpassay.audit.trials.seeds import Stage, stream
from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import SoftmaxRegression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = RNG.integers(0, 3, 60)


def softmax(**options):
    settings = {
        "steps": 8,
        "noise_multiplier": 0.0,
        "clipping": "none",
        "sampling": "full-batch",
        "batch_size": 30,
        "learning_rate": 1.0,
    }
    return DPSGD(SoftmaxRegression(4, 3), **settings | options)


def test_pairs_are_complements_and_each_record_is_in_half_of_the_models():
    inclusion = draw_inclusion(10, 200, np.random.default_rng(1))
    np.testing.assert_array_equal(inclusion[::2], ~inclusion[1::2])
    assert (inclusion.sum(axis=0) == 5).all()
    assert abs(inclusion[::2].mean() - 0.5) < 4.9 * 0.5 / np.sqrt(1000)


def test_bernoulli_bits_are_independent_fair_coins():
    inclusion = draw_inclusion(9, 2000, np.random.default_rng(2), design="bernoulli")
    assert abs(inclusion.mean() - 0.5) < 4.9 * 0.5 / np.sqrt(18_000)
    agree = (inclusion[0] == inclusion[1]).mean()
    assert abs(agree - 0.5) < 4.9 * 0.5 / np.sqrt(2000)


def test_an_odd_number_of_models_cannot_be_paired():
    with pytest.raises(ParameterError, match="n_models must be even"):
        draw_inclusion(5, 10, np.random.default_rng(0))


@pytest.mark.parametrize("design", ["pairs", "bernoulli"])
def test_models_are_trained_on_the_records_of_their_row(design):
    # A nearest neighbour is sure of its own records, wherever labels are random.
    learner = EstimatorLearner(KNeighborsClassifier(1))
    shadows = train_shadows(learner, (X, Y), 6, seed=3, design=design)
    assert (shadows.signal("correct")[shadows.inclusion] == 1).all()
    assert shadows.signal("correct")[~shadows.inclusion].mean() < 0.7
    assert shadows.paired == (design == "pairs")
    assert shadows.fair


def test_the_population_is_in_no_model():
    learner = EstimatorLearner(KNeighborsClassifier(1))
    outside = (X + 10.0, Y)
    with pytest.raises(
        ParameterError, match="population must be records that no model is trained on, but holds the scored"
    ):
        train_shadows(learner, (X, Y), 4, seed=4, population=(X, Y))
    shadows = train_shadows(learner, (X, Y), 4, seed=4, population=outside)
    assert shadows.population is not None
    assert not shadows.population.inclusion.any()
    assert shadows.population.signal("correct").mean() < 0.7
    assert shadows.population.signal("loss").shape == (4, 60)


def test_the_same_seed_gives_the_same_shadows_and_another_does_not():
    made = [train_shadows(softmax(), (X, Y), 4, seed=seed).signal("loss") for seed in (5, 5, 6)]
    np.testing.assert_array_equal(made[0], made[1])
    assert (made[0] != made[2]).any()


def test_batches_of_records_do_not_change_the_signals(monkeypatch):
    whole = train_shadows(softmax(), (X, Y), 4, seed=7)
    monkeypatch.setattr("dpassay.attacks.membership.queries.MAX_BATCH_ENTRIES", 4 * 3 * 7)
    monkeypatch.setattr("dpassay.attacks.membership.queries.MAX_KEPT_LOG_PROBABILITIES", 0)
    pieces = train_shadows(softmax(), (X, Y), 4, seed=7)
    assert pieces.log_probabilities is None
    for name in ("loss", "rescaled-logit", "modified-entropy", "correct", "gradient-norm"):
        np.testing.assert_allclose(pieces.signal(name), whole.signal(name), rtol=1e-12, atol=1e-14)


def test_gradient_norms_come_from_the_models():
    shadows = train_shadows(softmax(), (X, Y), 4, seed=8)
    p = np.exp(shadows.log_probabilities)
    residual = p - np.eye(3)[Y]
    norms = np.linalg.norm(residual, axis=2) * np.sqrt(1 + np.sum(X**2, axis=1))  # softmax with a bias
    np.testing.assert_allclose(GradientNorm().score(shadows), -norms, rtol=1e-9)


def test_inner_products_with_the_steps_equal_a_loop():
    learner = softmax(view="trajectory", steps=3)
    shadows = train_shadows(learner, (X, Y), 4, seed=9)
    pairs = draw_inclusion(4, 60, stream(9, Stage.COINS)).reshape(2, 2, 60)
    streams = [stream(9, Stage.TRAINING, index=index) for index in range(2)]
    paths = [learner.release_subsets((X, Y), *of_pair).values for of_pair in zip(pairs, streams, strict=True)]
    path = np.concatenate(paths)
    from dpassay.mechanisms.learning.models.trained import TrainedModels

    scores = GradientInnerProduct().score(shadows)
    for t in range(4):
        for x in (0, 31):
            total = 0.0
            for step in range(3):
                models = TrainedModels(learner.network, path[t : t + 1, step])
                total += (path[t, step] - path[t, step + 1]) @ models.gradients(X[x : x + 1], Y[x : x + 1])[0, 0]
            assert scores[t, x] == pytest.approx(total)


def test_white_box_attacks_on_black_box_models_are_refused():
    shadows = train_shadows(EstimatorLearner(LogisticRegression()), (X, Y), 2, seed=10)
    with pytest.raises(AttackError, match="gradient-norm"):
        GradientNorm().score(shadows)
    with pytest.raises(AttackError, match="gradient-inner-product"):
        GradientInnerProduct().score(train_shadows(softmax(), (X, Y), 2, seed=10))


def test_an_unknown_signal_is_refused_with_the_nearest():
    shadows = train_shadows(softmax(), (X, Y), 2, seed=11)
    with pytest.raises(ParameterError, match="rescaled-logit"):
        LossThreshold(signal="rescaled-logits").score(shadows)


def test_taking_models_keeps_only_whole_pairs_paired():
    shadows = train_shadows(softmax(), (X, Y), 6, seed=12, population=(X[:5], Y[:5]))
    some = shadows.take([4, 5, 0])
    np.testing.assert_array_equal(some.partners, [1, 0, 2])
    np.testing.assert_array_equal(some.signal("loss"), shadows.signal("loss")[[4, 5, 0]])
    np.testing.assert_array_equal(some.population.signal("loss"), shadows.population.signal("loss")[[4, 5, 0]])
    assert not shadows.take([0, 2, 4]).paired


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inclusion": np.ones((2, 3))}, "inclusion must be boolean"),
        ({"inclusion": np.ones(3, dtype=bool)}, "One model is one row"),
        ({"y": np.zeros(4)}, "y must be one label per record"),
        ({"signals": {"loss": np.zeros((2, 4))}}, "loss must have shape"),
        ({"signals": {"loss": np.full((2, 3), np.nan)}}, "loss has NaN"),
        ({"log_probabilities": np.zeros((2, 4, 5))}, "log_probabilities must have shape"),
        ({"partner": np.array([1, 0])}, "exactly the other records"),
        ({"partner": np.array([1, 7])}, "partner must be one index per model"),
        ({"X": np.zeros((2, 5))}, "X must have one row per record"),
    ],
)
def test_inconsistent_shadows_are_refused(change, message):
    good = {"inclusion": np.ones((2, 3), dtype=bool), "y": np.zeros(3)}
    Shadows(**good)
    with pytest.raises(ParameterError, match=message):
        Shadows(**good | change)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((X, Y + 0.5), "labels 0 .. n_classes - 1"),
        ((X, Y - 1), "labels 0 .. n_classes - 1"),
        (TrainingData(X, Y, np.ones((1, 15))), "gradient record"),
    ],
)
def test_records_without_valid_labels_are_refused(records, message):
    with pytest.raises(ParameterError, match=message):
        train_shadows(softmax(), records, 2, seed=0)


def test_confidence_and_logit_are_computed_from_the_loss():
    y = RNG.integers(0, 3, size=40)
    log_p = np.log(RNG.dirichlet([0.5, 0.5, 0.5], size=(8, 40)))
    inclusion = draw_inclusion(8, 40, RNG)
    whole = Shadows(inclusion, y, log_probabilities=log_p)
    from_loss = Shadows(inclusion, y, {"loss": whole.signal("loss")})
    for name in ("confidence", "rescaled-logit"):
        np.testing.assert_allclose(from_loss.signal(name), whole.signal(name), rtol=1e-7, atol=1e-9)
    for attack in (LiRA(), RMIA(), RMIA(mode="offline")):
        np.testing.assert_allclose(attack.score(from_loss), attack.score(whole), rtol=1e-5, atol=1e-9)
    sure = Shadows(inclusion[:1, :3], np.zeros(3), {"loss": np.array([[0.0, -1e-30, -200.0]])})
    assert np.isfinite(sure.signal("rescaled-logit")).all()


def test_a_loss_that_is_no_log_probability_is_refused():
    turned = Shadows(draw_inclusion(8, 40, RNG), np.zeros(40), {"loss": RNG.exponential(size=(8, 40))})
    with pytest.raises(AttackError, match=r"'rescaled-logit' is computed from 'loss' .* at most 0; .* change its sign"):
        LiRA().score(turned)
    with pytest.raises(AttackError, match=r"signal 'margin' .* have loss"):
        turned.signal("margin")


def test_a_bare_estimator_is_refused_with_its_adapter():
    data = RNG.normal(size=(20, 2)), np.arange(20) % 2
    for learner in (KNeighborsClassifier(1), KNeighborsClassifier):
        with pytest.raises(ParameterError, match=r"Wrap it: EstimatorLearner\(KNeighborsClassifier\(\.\.\.\)\)"):
            train_shadows(learner, data, 4, seed=0)
        with pytest.raises(ParameterError, match=r"Wrap it: EstimatorLearner"):
            membership_game(learner, data, attack="loss", seed=0)
    with pytest.raises(ParameterError, match=r"but is 3\. Give a DPSGD, an EstimatorLearner, or .* fit_subsets"):
        train_shadows(3, data, 4, seed=0)


def naive(values, mask, partner):
    """(count, mean, variance, median) by a loop."""
    statistics = np.full((4, *values.shape), np.nan)
    statistics[0] = 0
    for t in range(len(values)):
        for x in range(values.shape[1]):
            kept = [values[j, x] for j in range(len(values)) if j not in (t, partner[t]) and mask[j, x]]
            statistics[0, t, x] = len(kept)
            if kept:
                statistics[1, t, x], statistics[3, t, x] = np.mean(kept), np.median(kept)
            if len(kept) > 1:
                statistics[2, t, x] = np.var(kept, ddof=1)
    return statistics


@pytest.mark.parametrize("design", ["pairs", "bernoulli"])
@pytest.mark.parametrize("which", ["in", "all"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_statistics_equal_the_naive_twin(design, which, offset):
    rng = np.random.default_rng(3)
    mask = rng.random((8, 40)) < 0.5
    partner = np.arange(8)
    if design == "pairs":
        mask[1::2] = ~mask[::2]
        partner = partner ^ 1
    mask |= which == "all"
    values = rng.normal(size=(8, 40)) + offset
    values[:, :5] = np.round(values[:, :5])  # ties
    others = OtherModels(values, mask, partner)
    count, mean, variance, median = naive(values, mask, partner)
    np.testing.assert_array_equal(others.count, count)
    np.testing.assert_allclose(others.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(others.median, median, rtol=1e-12)
    np.testing.assert_allclose(others.variance, variance, rtol=1e-6 if offset else 1e-10, atol=1e-12)


def test_pooled_variance_is_the_mean_over_records_weighted_by_freedom():
    rng = np.random.default_rng(4)
    mask = rng.random((7, 30)) < 0.5
    values = rng.normal(size=(7, 30)) + 5 * rng.normal(size=30)
    partner = np.arange(7)
    count, _, variance, _ = naive(values, mask, partner)
    weight = np.maximum(count - 1, 0)
    expected = np.nansum(weight * np.nan_to_num(variance), axis=1) / weight.sum(axis=1)
    assert OtherModels(values, mask, partner).pooled_variance[:, 0] == pytest.approx(expected)


def test_statistics_of_references_do_not_depend_on_the_target():
    rng = np.random.default_rng(5)
    mask = rng.random((6, 20)) < 0.5
    values = rng.normal(size=(6, 20))
    changed = values.copy()
    changed[2] += 100.0
    before, after = (OtherModels(v, mask, np.arange(6)) for v in (values, changed))
    for name in ("mean", "median", "variance", "pooled_variance"):
        np.testing.assert_allclose(getattr(before, name)[2], getattr(after, name)[2], rtol=1e-9, err_msg=name)


def test_reference_counts_of_pairs_do_not_leak_the_bit():
    rng = np.random.default_rng(6)
    half = rng.random((4, 50)) < 0.5
    mask = np.stack([half, ~half], axis=1).reshape(8, 50)
    values = rng.normal(size=(8, 50))
    assert (OtherModels(values, mask, np.arange(8) ^ 1).count == 3).all()
    from_loss = OtherModels(values, mask, np.arange(8)).count  # the complement kept: the count leaks the bit
    np.testing.assert_array_equal(from_loss == 3, mask)
