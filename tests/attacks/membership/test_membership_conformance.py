"""Every membership attack of the catalogue: chance level without a leak, above it with one, and no order matters."""

from dataclasses import replace

import numpy as np
import pytest
from membership_laws import auc, softmax_shadows
from scipy.special import stdtrit

from dpassay.attacks.membership.base import MembershipAttack
from dpassay.attacks.membership.catalogue import build, catalogue
from dpassay.attacks.membership.likelihood_ratios import RMIA, LiRA

VARIANTS = [
    *(build(name) for name in catalogue),
    LiRA(variance="record"),
    LiRA(mode="offline-tail"),
    LiRA(mode="offline-density"),
    RMIA(mode="offline", gamma=1.0),
]
REPEATS = 16


def named(attack):
    return f"{attack.name}-{getattr(attack, 'mode', '')}-{getattr(attack, 'variance', '')}"


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
@pytest.mark.parametrize("design", ["pairs", "bernoulli"])
def test_auc_is_one_half_where_members_and_others_have_the_same_law(attack, design):
    areas = []
    for seed in range(REPEATS):
        shadows = softmax_shadows(8, 100, np.random.default_rng([seed, 7]), design=design)
        areas.append(auc(attack.score(shadows), shadows.inclusion))
    error = np.std(areas, ddof=1) / np.sqrt(REPEATS)
    assert error < 0.02
    assert abs(np.mean(areas) - 0.5) < stdtrit(REPEATS - 1, 1 - 5e-7) * error


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_a_leak_is_found(attack):
    shadows = softmax_shadows(10, 300, np.random.default_rng(3), leak=2.0)
    assert auc(attack.score(shadows), shadows.inclusion) > 0.55


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_scores_move_with_the_records(attack):
    shadows = softmax_shadows(8, 120, np.random.default_rng(4), leak=1.0)
    order = np.random.default_rng(5).permutation(120)
    columns = {name: getattr(shadows, name)[:, order] for name in ("inclusion", "log_probabilities")}
    rows = {name: getattr(shadows, name)[order] for name in ("y", "X")}
    signals = {name: values[:, order] for name, values in shadows.signals.items()}
    moved = replace(shadows, **columns, **rows, signals=signals)
    before, after = attack.score(shadows)[:, order], attack.score(moved)
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-3 if attack.name == "shadow-classifier" else 1e-8)


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_scores_move_with_the_models(attack):
    shadows = softmax_shadows(8, 120, np.random.default_rng(6), leak=1.0)
    order = np.arange(8) ^ 1 if attack.name == "shadow-classifier" else np.random.default_rng(7).permutation(8)
    before, after = attack.score(shadows)[order], attack.score(shadows.take(order))
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-3 if attack.name == "shadow-classifier" else 1e-8)


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_the_bits_of_the_target_and_of_its_complement_do_not_enter_its_scores(attack):
    shadows = softmax_shadows(8, 120, np.random.default_rng(8), leak=1.0)
    flipped = shadows.inclusion.copy()
    flipped[:2] = ~flipped[:2]
    again = attack.score(replace(shadows, inclusion=flipped))
    np.testing.assert_allclose(again[:2], attack.score(shadows)[:2], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("attack", VARIANTS, ids=named)
def test_scores_are_finite_and_leave_the_shadows_alone(attack):
    shadows = softmax_shadows(8, 60, np.random.default_rng(9))
    kept = shadows.signal("loss").copy()
    scores = attack.score(shadows)
    assert scores.shape == (8, 60)
    assert np.isfinite(scores).all()
    scores[:] = 0.0
    np.testing.assert_array_equal(shadows.signal("loss"), kept)
    assert isinstance(attack, MembershipAttack)
    assert catalogue.get(attack.name) is type(attack)
