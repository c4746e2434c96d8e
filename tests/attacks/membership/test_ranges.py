"""Several queries of a record: combined likelihoods, ranges, and the best linear combination."""

import numpy as np
import pytest
from tests.attacks.membership_laws import auc, tpr_at

from dpassay.attacks.membership import RangeMembership, Shadows, shadows_of
from dpassay.attacks.membership.likelihood_ratios import BASE, BaVarIA, LiRA
from dpassay.attacks.membership.ranges import discriminant
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.games import one_run
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.core import AttackError, ParameterError


def queried(rng, shift, *, n_models=16, n_records=400, noise=None):
    """Signals N(shift of the query * bit, noise), `(n_models, n_records, n_queries)`, of models in pairs."""
    half = rng.random((n_models // 2, n_records)) < 0.5
    member = np.stack([half, ~half], axis=1).reshape(n_models, n_records)
    values = rng.normal(size=(*member.shape, len(shift))) * (1.0 if noise is None else np.asarray(noise))
    values = values + member[:, :, None] * np.asarray(shift) + 2.0 * rng.normal(size=(1, n_records, 1))
    return shadows_of(member, scores=values), values, member


@pytest.mark.parametrize("attack", [LiRA(signal="loss"), BaVarIA(signal="loss")])
def test_likelihood_ratios_are_added_over_queries(attack):
    shadows, values, member = queried(np.random.default_rng(0), (1.0, 0.5, 0.0))
    each = [attack.score(shadows_of(member, scores=values[:, :, i])) for i in range(3)]
    np.testing.assert_allclose(attack.score(shadows), np.sum(each, axis=0), rtol=1e-9)
    one = shadows_of(member, scores=values[:, :, :1])
    assert one.queries == ()
    np.testing.assert_array_equal(attack.score(one), each[0])


def test_added_ratios_beat_the_mean_where_queries_differ():
    """The second query is noise with ten times the standard deviation, which drowns the mean."""
    shadows, _, member = queried(np.random.default_rng(1), (2.0, 0.0), noise=(1.0, 10.0))
    mean = Shadows(member, shadows.y, {"loss": shadows.signal("loss")}, partner=shadows.partner)
    attack = LiRA(signal="loss")
    assert auc(attack.score(shadows), member) > auc(attack.score(mean), member) + 0.2


def test_the_maximum_finds_the_one_point_of_the_range_that_was_in():
    rng = np.random.default_rng(2)
    member = rng.random((8, 2_000)) < 0.5
    values = rng.normal(size=(8, 2_000, 9))
    place = rng.integers(9, size=2_000)
    values[:, np.arange(2_000), place] += 4.0 * member
    shadows = shadows_of(member, scores=values)
    rates = {
        c: tpr_at(RangeMembership(LossThreshold(), combine=c).score(shadows), member, 0.01) for c in ("max", "mean")
    }
    single = tpr_at(values[:, :, 0], member, 0.01)
    assert rates["max"] > 0.75 > rates["mean"] > single  # Pr[N(4, 1) > 3.06], the 1 % quantile of a maximum of 9


def test_quantile_and_mean_are_those_of_the_queries():
    shadows, values, _ = queried(np.random.default_rng(3), (1.0,) * 5)
    for share in (0.0, 0.2, 0.5, 0.81, 1.0):
        found = RangeMembership(LossThreshold(), combine="quantile", quantile=share).score(shadows)
        np.testing.assert_array_equal(found, np.quantile(values, share, axis=2, method="inverted_cdf"))
    mean = RangeMembership(LossThreshold(), combine="mean").score(shadows)
    np.testing.assert_allclose(mean, values.mean(axis=2))


def test_weights_are_those_of_fisher():
    rng = np.random.default_rng(4)
    inclusion = rng.random((60, 500)) < 0.5
    root = np.array([[1.0, 0.0], [0.8, 0.6]])
    values = np.einsum("qr,rjn->qjn", root, rng.normal(size=(2, 60, 500)))
    values += np.array([1.0, 0.2])[:, None, None] * inclusion + 5.0 * rng.normal(size=500)
    exact = np.linalg.solve(root @ root.T, [1.0, 0.2])
    np.testing.assert_allclose(discriminant(values, inclusion), exact, atol=0.1)


def test_weighted_queries_are_as_good_as_the_best_of_them():
    shadows, values, member = queried(np.random.default_rng(5), (2.0, 0.0, 0.0), noise=(1.0, 5.0, 5.0))
    attack = LiRA(signal="loss", variance="global")
    best = attack.score(shadows_of(member, scores=values[:, :, 0]))
    weighted = RangeMembership(attack, combine="weighted").score(shadows)
    assert abs(auc(weighted, member) - auc(best, member)) < 0.01


@pytest.mark.parametrize("combine", ["max", "weighted"])
def test_bits_of_the_target_pair_are_not_used(combine):
    rng = np.random.default_rng(6)
    _, values, member = queried(rng, (1.0, 1.0))
    flipped = member.copy()
    flipped[:2] = ~flipped[:2]
    attack = RangeMembership(LiRA(signal="loss", variance="global"), combine=combine)
    before, after = (attack.score(shadows_of(m, scores=values)) for m in (member, flipped))
    np.testing.assert_allclose(after[:2], before[:2], rtol=1e-9, atol=1e-12)


def test_queries_follow_chosen_models_and_populations():
    shadows, _, member = queried(np.random.default_rng(7), (1.0, 1.0))
    assert [len(query) for query in shadows.take([0, 1, 2, 3]).queries] == [4, 4]
    losses = np.random.default_rng(8).exponential(size=(16, 50, 2))
    both = shadows_of(member, losses=np.exp(-shadows.signal("loss"))[:, :, None].repeat(2, 2), population_losses=losses)
    np.testing.assert_array_equal(both.queries[1].population.signal("loss"), -losses[:, :, 1])
    result = evaluate(shadows, [RangeMembership(LossThreshold()), LossThreshold()])
    assert result.attacks[0].attack.startswith("range(")


@pytest.mark.parametrize("attack", ["lira", RangeMembership(BASE()), RangeMembership(LiRA(), combine="weighted")])
def test_scores_of_a_run_with_queries_do_not_see_its_coins(attack):
    """To the last bit, as for one query."""
    rng = np.random.default_rng(10)
    _, _, member = queried(rng, (1.0,), n_models=8, n_records=100)
    losses = rng.exponential(size=(8, 100, 3))
    flipped = member.copy()
    flipped[[2, 3]] = ~flipped[[2, 3]]
    game, other = (one_run(shadows_of(m, losses=losses, fair=True), attack, model=3) for m in (member, flipped))
    np.testing.assert_array_equal(other.scores, game.scores)
    np.testing.assert_array_equal(other.bits, ~game.bits)


def test_what_cannot_be_combined_is_refused():
    shadows, values, member = queried(np.random.default_rng(9), (1.0, 1.0))
    with pytest.raises(AttackError, match="several queries"):
        RangeMembership().score(shadows_of(member, scores=values[:, :, 0]))
    with pytest.raises(AttackError, match="option signal"):
        RangeMembership(BASE(), combine="weighted").score(shadows)
    with pytest.raises(ParameterError):
        RangeMembership("lira")
    with pytest.raises(ParameterError, match="queries"):
        Shadows(member, np.zeros(400), {"loss": values[:, :, 0]}, queries=(shadows.take([0, 1]),))
