"""Label-only membership: known distances and robustness, and what memorised labels show."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.attacks.membership_laws import Z_ALARM, auc

from dpassay.attacks.membership import LabelOnlyLearner, Shadows
from dpassay.attacks.membership.catalogue import catalogue
from dpassay.attacks.membership.label_only import _boundary_distance, _noise_robustness
from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.audit.games import train_shadows
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.core import AttackError, ParameterError

D = 20
W = np.random.default_rng(0).normal(size=D)


def half_space(points):
    return (points @ W > 0.3).astype(int)


POINTS = np.random.default_rng(1).normal(size=(300, D))
EXACT = np.abs(POINTS @ W - 0.3) / np.linalg.norm(W)


def test_distance_to_a_hyperplane_is_an_upper_bound_and_nearly_exact():
    rough, fine = (
        _boundary_distance(half_space, POINTS, half_space(POINTS), np.random.default_rng(2), n_steps=s, n_directions=b)
        for s, b in ((1, 20), (10, 100))
    )
    assert (fine >= EXACT - 1e-12).all()
    assert np.median(fine / EXACT) < 1.05
    assert (fine <= rough + 1e-12).mean() > 0.95


def test_distance_to_a_ball_is_that_of_its_surface():
    points = np.random.default_rng(3).normal(size=(100, 5))
    points *= (0.5 / np.linalg.norm(points, axis=1))[:, None]

    def outside(x):
        return (np.linalg.norm(x, axis=1) > 1.0).astype(int)

    every = np.concatenate([points, 3.0 * points])
    found = _boundary_distance(outside, every, outside(every), np.random.default_rng(4), n_steps=10, n_directions=50)
    assert (found >= 0.5 - 1e-12).all()
    assert np.median(found[:100]) < 0.53
    assert found[:100].max() < 0.6


def test_wrong_records_have_distance_zero_constant_models_the_diameter():
    y = 1 - half_space(POINTS)
    np.testing.assert_array_equal(_boundary_distance(half_space, POINTS, y, np.random.default_rng(0)), 0.0)
    constant = _boundary_distance(lambda x: np.zeros(len(x), int), POINTS, np.zeros(300, int), np.random.default_rng(0))
    np.testing.assert_allclose(constant, np.linalg.norm(np.ptp(POINTS, axis=0)))


def test_robustness_to_noise_is_the_normal_share_on_the_right_side():
    n, scale = 2_000, 0.7
    found = _noise_robustness(half_space, POINTS, half_space(POINTS), np.random.default_rng(5), scale=scale, n_copies=n)
    exact = ndtr(EXACT / scale)
    assert (np.abs(found - exact) < 6.3 * np.sqrt(exact * (1 - exact) / n) + 1e-3).all()  # of 300 records


@pytest.fixture(scope="module")
def memorised():
    """Linear machines that separate random labels of fewer records than features."""
    rng = np.random.default_rng(6)
    records = rng.normal(size=(60, 60)), np.arange(60) % 2
    return train_shadows(LabelOnlyLearner(LinearSVC(C=100.0), n_copies=20, n_steps=2), records, 16, seed=0)


def test_label_only_attacks_detect_memorised_labels(memorised):
    found = evaluate(memorised, ["label-only", "correctness-gap", LiRA(signal="boundary-distance")])
    assert found["label-only"].auc > found["correctness-gap"].auc > 0.6
    assert found["lira on boundary-distance"].auc > 0.8


def test_signals_of_a_model_that_ignores_its_records_show_nothing():
    rng = np.random.default_rng(7)

    class Blind(DecisionTreeClassifier):
        def fit(self, X, y):
            noise = np.random.default_rng(self.random_state)
            return super().fit(noise.normal(size=(50, X.shape[1])), np.arange(50) % 2)

    records = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    shadows = train_shadows(LabelOnlyLearner(Blind(random_state=0), n_copies=5, n_steps=1), records, 8, seed=0)
    for signal in ("noise-robustness", "boundary-distance"):
        area = auc(shadows.signal(signal), shadows.inclusion)
        assert abs(area - 0.5) < Z_ALARM * np.sqrt(1 / (6 * 300))


def test_labels_alone_give_no_loss(memorised):
    with pytest.raises(AttackError, match="loss"):
        catalogue.build("loss").score(memorised)
    shadows = Shadows(memorised.inclusion, memorised.y, {"loss": -np.ones(memorised.inclusion.shape)})
    with pytest.raises(AttackError, match="LabelOnlyLearner"):
        catalogue.build("label-only").score(shadows)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (LinearSVC, {}),
        (3, {}),
        (LinearSVC(), {"noise": 0.0}),
        (LinearSVC(), {"n_copies": 1}),
        (LinearSVC(), {"n_steps": -1}),
        (LinearSVC(), {"n_directions": 1}),
    ],
)
def test_wrong_options_are_refused(estimator, options):
    with pytest.raises(ParameterError):
        LabelOnlyLearner(estimator, **options)
