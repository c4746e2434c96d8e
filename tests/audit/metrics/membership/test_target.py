"""One target model among references, and models that differ from the others."""

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.membership import shadows_of
from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.audit.metrics.membership import MembershipResult, evaluate, models
from dpassay.audit.metrics.membership.models import aucs, odd_models
from dpassay.audit.metrics.membership.roc import Pooled
from dpassay.mechanisms.core import ParameterError


def shadows_with(rng, leaks, n=600, pairs=False):
    m = len(leaks)
    inclusion = rng.random((m, n)) < 0.5
    if pairs:
        inclusion[1::2] = ~inclusion[: m - 1 : 2]
    phi = rng.normal(1.0, 1.5, n) + rng.normal(0.0, 0.7, (m, n)) + np.asarray(leaks)[:, None] * inclusion
    return shadows_of(inclusion, rescaled_logits=phi)


LEAKING = [6.0] + [0.1] * 15
HARMLESS = [0.0] + [4.0] * 15


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("leaks", "low", "high"), [(LEAKING, 0.95, 1.0), (HARMLESS, 0.4, 0.6)])
def test_a_named_target_is_measured_alone(leaks, low, high, pairs):
    shadows = shadows_with(np.random.default_rng(0), leaks, pairs=pairs)
    result = evaluate(shadows, ["loss", "lira"], target=0)
    assert result.target == "0"
    member, scores = shadows.inclusion[0], LiRA(mode="offline-tail").score(shadows)[0]
    expected = stats.mannwhitneyu(scores[member], scores[~member]).statistic / (member.sum() * (~member).sum())
    assert result["lira(mode='offline-tail')"].auc == pytest.approx(expected, abs=1e-12)
    assert low <= result["lira(mode='offline-tail')"].auc <= high
    assert result["loss"].n_in == member.sum()
    assert "about the target" in result.summary()


@pytest.mark.parametrize("leaks", [LEAKING, HARMLESS, LEAKING[:2], HARMLESS[:3], LEAKING[:5]])
def test_a_model_that_differs_from_the_others_is_named(leaks):
    place = len(leaks) // 2
    turned = [*leaks[1 : place + 1], leaks[0], *leaks[place + 1 :]]
    shadows = shadows_with(np.random.default_rng(1), turned)
    names = [f"run-{i}" for i in range(len(leaks))]
    result = evaluate(shadows, "loss", models=names)
    (warning,) = result.warnings
    assert "differs" in warning
    assert f"--target run-{place}" in warning or len(leaks) == 2
    assert warning in result.summary()
    assert MembershipResult.from_json(result.to_json()).warnings == result.warnings
    assert not evaluate(shadows, "loss", models=names, target=f"run-{place}").warnings


def test_models_of_one_procedure_are_rarely_said_to_differ():
    rng, warned, n_designs = np.random.default_rng(2), 0, 500
    for _ in range(n_designs):
        m, n = rng.choice([2, 3, 4, 16]), rng.choice([16, 60, 200])
        inclusion = rng.random((m, n)) < 0.5
        scores = rng.normal(size=(m, n)) + (rng.choice([0.0, 1.0, 4.0]) + 0.05 * rng.normal(size=(m, 1))) * inclusion
        warned += len(odd_models(["loss"], [scores], inclusion, [str(i) for i in range(m)]))
    assert warned <= stats.binom.isf(1e-6, n_designs, 1e-3)


def test_all_comparisons_share_the_level(monkeypatch):
    """Without a margin and at level 0.2: a z for each comparison by itself would warn of nearly all designs."""
    monkeypatch.setattr(models, "AUC_MARGIN", 0.0)
    monkeypatch.setattr(models, "WARNING_LEVEL", 0.2)
    rng, n_designs, m = np.random.default_rng(4), 100, 16
    warned = 0
    for _ in range(n_designs):
        inclusion = rng.random((m, 100)) < 0.5
        scores = [rng.normal(size=(m, 100)) for _ in range(3)]
        warned += len(odd_models(["a", "b", "c"], scores, inclusion, [str(i) for i in range(m)]))
    assert warned <= stats.binom.isf(1e-6, n_designs, 0.2)


def test_a_thousand_runs_with_sixteen_canaries_do_not_differ():
    rng = np.random.default_rng(3)
    inclusion = rng.random((1000, 16)) < 0.5
    for leak in (0.0, 1.0, 5.0):
        scores = rng.normal(size=(1000, 16)) + leak * inclusion
        assert not odd_models(["loss"], [scores], inclusion, [str(i) for i in range(1000)])


def test_auc_of_each_model_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(4)
    inclusion, scores = rng.random((5, 40)) < 0.5, rng.integers(0, 9, (5, 40)).astype(float)
    scores[:, :3] = np.nan
    auc, variance = aucs(scores, inclusion)
    for own, member, value, spread in zip(scores, inclusion, auc, variance, strict=True):
        pooled = Pooled.of(own, member)
        assert value == pytest.approx(pooled.auc)
        placed = [pooled.placement[side] for side in (pooled.member, ~pooled.member)]
        assert spread == pytest.approx(sum(p.var(ddof=1) / len(p) for p in placed))


def test_each_model_has_a_row_on_request():
    shadows = shadows_with(np.random.default_rng(5), LEAKING[:4])
    result = evaluate(shadows, "loss", per_model=True)
    rows = result["loss"].models
    assert [row.group for row in rows] == list("0123")
    assert rows[0].auc == pytest.approx(evaluate(shadows, "loss", target=0)["loss"].auc)
    assert "loss, by model" in result.summary()
    assert not evaluate(shadows, "loss")["loss"].models
    assert MembershipResult.from_json(result.to_json())["loss"].models == rows


@pytest.mark.parametrize("target", [-1, 4, "run", 1.5])
def test_a_target_that_is_no_model_is_refused(target):
    with pytest.raises(ParameterError, match="target must be one of the 4 models"):
        evaluate(shadows_with(np.random.default_rng(6), [1.0] * 4), "loss", target=target)


def test_a_target_that_saw_all_or_none_of_the_records_is_refused():
    inclusion = np.zeros((3, 100), dtype=bool)
    inclusion[0, :50], inclusion[2] = True, True
    shadows = shadows_of(inclusion, rescaled_logits=np.random.default_rng(0).normal(size=(3, 100)))
    for target, words in ((1, "saw none"), (2, "saw all")):
        with pytest.raises(ParameterError, match=words):
            evaluate(shadows, "loss", target=target)


def test_names_of_models_must_be_different():
    shadows = shadows_with(np.random.default_rng(7), [1.0] * 4)
    with pytest.raises(ParameterError, match="4 different names"):
        evaluate(shadows, "loss", models=["a", "a", "b", "c"])


def test_intervals_of_one_target_cover_its_true_auc():
    rng, missed, n_repeats = np.random.default_rng(8), 0, 60
    for _ in range(n_repeats):
        inclusion = rng.random((4, 150)) < 0.5
        scores = rng.normal(size=(4, 150)) + np.array([1.0, 0.0, 3.0, 2.0])[:, None] * inclusion
        found = evaluate(shadows_of(inclusion, scores=scores), "loss", target=0, confidence=0.8)["loss"]
        missed += not found.auc_lower <= stats.norm.cdf(1.0 / np.sqrt(2.0)) <= found.auc_upper
    assert missed <= stats.binom.isf(1e-6, n_repeats, 0.2)


def test_an_attack_given_as_an_object_is_used_as_it_is():
    shadows = shadows_with(np.random.default_rng(9), LEAKING[:6])
    named, given = evaluate(shadows, "lira", target=0), evaluate(shadows, LiRA(), target=0)
    assert [m.attack for m in named.attacks] == ["lira", "lira(mode='offline-tail')"]
    assert [m.attack for m in given.attacks] == ["lira"]


def test_scores_of_people_of_one_target_are_those_of_their_records():
    rng = np.random.default_rng(10)
    people = np.repeat(np.arange(100), 3)
    inclusion = (rng.random((6, 100)) < 0.5)[:, people]
    shadows = shadows_of(inclusion, scores=rng.normal(size=(6, 300)) + inclusion)
    found = evaluate(shadows, "loss", target=2, persons=people)["loss"]
    means = shadows.signal("loss")[2].reshape(100, 3).mean(axis=1)
    member = inclusion[2, ::3]
    expected = stats.mannwhitneyu(means[member], means[~member]).statistic / (member.sum() * (~member).sum())
    assert found.auc == pytest.approx(expected)
