"""Designs of reference models, and the attacks that can use them, against brute force."""

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.membership import shadows_of
from dpassay.attacks.membership.catalogue import catalogue
from dpassay.attacks.membership.designs import Design, form_for, offline_form, possible_targets
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.core import AttackError

N = 300


def split(rng, n=N):
    return rng.random(n) < 0.5


def offline(rng):
    return np.vstack([split(rng), np.zeros((6, N), dtype=bool)])


def disjoint(rng):
    return rng.integers(0, 5, N) == np.arange(5)[:, None]


def base_model(rng):
    return np.vstack([split(rng), np.zeros(N, dtype=bool)])


def base_that_saw_all(rng):
    return np.vstack([split(rng), np.ones(N, dtype=bool)])


def same_split(rng):
    return np.tile(split(rng), (5, 1))


def complements(rng):
    half = split(rng)
    return np.vstack([half, ~half, ~half, ~half])


def logits_of(rng, inclusion, leak=2.0):
    return rng.normal(1.0, 1.5, N) + rng.normal(0.0, 0.7, inclusion.shape) + leak * inclusion


def brute_lira(phi, inclusion, target):
    """Carlini et al. 2022, offline: standardised by the models without the record, one pooled variance."""
    out = [[m for m in range(len(phi)) if m != target and not inclusion[m, r]] for r in range(phi.shape[1])]
    squares = sum(np.sum((phi[ms, r] - phi[ms, r].mean()) ** 2) for r, ms in enumerate(out) if ms)
    freedom = sum(len(ms) - 1 for ms in out if ms)
    means = np.array([phi[ms, r].mean() if ms else np.nan for r, ms in enumerate(out)])
    return (phi[target] - means) / np.sqrt(squares / freedom)


def brute_rmia(phi, inclusion, target, a=0.3):
    """Zarifzadeh et al. 2024, equations (9) and (10): share of the other records with a smaller ratio."""
    p = 1.0 / (1.0 + np.exp(-phi))
    ratio = np.empty(phi.shape[1])
    for r in range(phi.shape[1]):
        p_out = np.mean([p[m, r] for m in range(len(phi)) if m != target and not inclusion[m, r]])
        ratio[r] = p[target, r] / (0.5 * ((1.0 + a) * p_out + 1.0 - a))
    return np.array([np.mean(np.delete(ratio, r) < ratio[r]) for r in range(phi.shape[1])])


def brute_calibration(phi, inclusion, target):
    """Watson et al. 2022, equation (2): the loss less its mean under models without the record."""
    log_p = -np.log1p(np.exp(-phi))
    out = [[m for m in range(len(phi)) if m != target and not inclusion[m, r]] for r in range(phi.shape[1])]
    return np.array([log_p[target, r] - np.mean([log_p[m, r] for m in ms]) for r, ms in enumerate(out)])


@pytest.mark.parametrize("draw", [offline, disjoint])
@pytest.mark.parametrize(
    ("name", "brute"), [("lira", brute_lira), ("rmia", brute_rmia), ("calibration", brute_calibration)]
)
def test_attacks_by_name_equal_brute_force_on_references_without_records(draw, name, brute):
    rng = np.random.default_rng(0)
    inclusion = draw(rng)
    phi = logits_of(rng, inclusion)
    shadows = shadows_of(inclusion, rescaled_logits=phi)
    attack = form_for(catalogue.build(name), shadows, Design.of(shadows, np.array([0])))
    np.testing.assert_allclose(attack.score(shadows)[0], brute(phi, inclusion, 0), rtol=1e-9, atol=1e-12)


def test_base_model_alone_calibrates_the_loss():
    rng = np.random.default_rng(1)
    inclusion = base_model(rng)
    phi = logits_of(rng, inclusion)
    result = evaluate(shadows_of(inclusion, rescaled_logits=phi), ["calibration", "base", "rmia"])
    difference = brute_calibration(phi, inclusion, 0)
    member = inclusion[0]
    expected = stats.mannwhitneyu(difference[member], difference[~member]).statistic / (member.sum() * (~member).sum())
    assert result.target == "0"
    assert result["calibration"].auc == pytest.approx(expected, abs=1e-12)


def test_base_model_that_saw_all_records_calibrates_the_loss():
    rng = np.random.default_rng(2)
    inclusion = base_that_saw_all(rng)
    for target in (None, 0):
        shadows = shadows_of(inclusion, rescaled_logits=logits_of(rng, inclusion))
        result = evaluate(shadows, ["calibration", "base", "rmia"], target=target)
        assert [m.attack for m in result.attacks] == ["calibration(offset='in-mean')", "base", "rmia"]
        assert all(m.auc > 0.8 for m in result.attacks)


@pytest.mark.parametrize(
    ("draw", "attack", "named"),
    [
        (same_split, "lira", "all models saw the same records"),
        (same_split, "base", "all models saw the same records"),
        (same_split, "rmia", "all models saw the same records"),
        (same_split, "shadow-classifier", "all models saw the same records"),
        (complements, "calibration", "exactly the records that the target did not see"),
        (base_that_saw_all, "attack-r", "the references saw all of the records"),
        (offline, "shadow-classifier", "the references saw none of the records"),
        (disjoint, "shadow-classifier", "disjoint training sets"),
    ],
)
def test_a_design_that_does_not_serve_an_attack_is_named(draw, attack, named):
    rng = np.random.default_rng(3)
    inclusion = draw(rng)
    shadows = shadows_of(inclusion, rescaled_logits=logits_of(rng, inclusion))
    with pytest.raises(AttackError, match=named):
        evaluate(shadows, attack, target=0)


def test_models_of_one_split_are_attacked_one_by_one():
    rng = np.random.default_rng(4)
    inclusion = same_split(rng)
    result = evaluate(shadows_of(inclusion, rescaled_logits=logits_of(rng, inclusion)))
    assert {"loss", "attack-p"} == {metrics.attack for metrics in result.attacks}
    reasons = dict(result.skipped)
    assert all("all models saw the same records" in reasons[name] for name in ("lira", "bavaria", "rmia", "base"))


def test_references_without_leak_do_not_make_a_harmless_target_leak():
    rng = np.random.default_rng(5)
    for draw in (offline, disjoint, base_model):
        misses = 0
        for _ in range(20):
            inclusion = draw(rng)
            leak = np.zeros(len(inclusion))
            leak[1:] = 3.0  # the references leak, the target does not
            phi = logits_of(rng, inclusion, 0.0) + leak[:, None] * inclusion
            result = evaluate(shadows_of(inclusion, rescaled_logits=phi), ["base", "calibration"], target=0)
            misses += sum(not m.auc_lower <= 0.5 <= m.auc_upper for m in result.attacks)
        assert misses <= stats.binom.isf(1e-6, len(result.attacks) * 20, 0.1)


def test_unequal_numbers_of_references_are_reported():
    rng = np.random.default_rng(6)
    inclusion = disjoint(rng)[:3]
    inclusion = np.vstack([inclusion[0], inclusion[1], ~inclusion[0] & ~inclusion[1]])
    result = evaluate(shadows_of(inclusion, rescaled_logits=logits_of(rng, inclusion)), "calibration", target=0)
    assert any("non-members with 1.0" in warning and "too low" in warning for warning in result.warnings)
    inclusion = offline(rng)
    result = evaluate(shadows_of(inclusion, rescaled_logits=logits_of(rng, inclusion)), "calibration")
    assert not result.warnings


@pytest.mark.parametrize("seed", range(5))
def test_random_halves_keep_the_default_forms(seed):
    rng = np.random.default_rng(seed)
    half = rng.random((8, N)) < 0.5
    pairs = np.stack([half, ~half], axis=1).reshape(16, N)
    for inclusion in (pairs, rng.random((16, N)) < 0.5):
        shadows = shadows_of(inclusion, rescaled_logits=logits_of(rng, inclusion))
        design = Design.of(shadows, np.arange(16))
        for name in ("lira", "bavaria", "rmia", "base", "calibration", "modified-entropy"):
            assert form_for(catalogue.build(name), shadows, design) == catalogue.build(name)
        assert design.unequal is None


def test_few_records_in_all_or_none_of_the_models_are_still_scored():
    inclusion = np.random.default_rng(0).random((1000, 1)) < 0.5
    assert len(possible_targets(inclusion)) == 1000
    assert offline_form(catalogue.build("loss")) is None
