"""From the bits of one run to a verdict."""

import math

import numpy as np
import pytest

from audit.games import BitScores, PairScores
from audit.membership import gradient_canary_game, membership_game
from audit.one_run import audit_one_run
from audit.results import AuditResult
from audit.verdict import Verdict
from mechanisms.errors import AccountingError, ParameterError, RelationError
from mechanisms.guarantees import ApproximateDP, GaussianDP, PureDP
from mechanisms.learning.dp_sgd import DPSGD
from mechanisms.learning.models import LogisticRegression


def learner(noise_multiplier=4.0, **options):
    given = {"steps": 10, "sampling": "full-batch", "batch_size": 300} | options
    return DPSGD(LogisticRegression(299), noise_multiplier=noise_multiplier, **given)


def perfect(n=400):
    bits = np.arange(n)[None, :] % 2 == 0
    return BitScores(bits, 1.0 * bits)


def test_a_true_claim_stands_and_the_result_says_what_was_done():
    mechanism = learner()
    game = gradient_canary_game(mechanism, np.eye(300), seed=3)
    result = audit_one_run(mechanism, game, delta=1e-5, seed=3)
    assert result.verdict is Verdict.CONSISTENT
    assert result.claim == pytest.approx(mechanism.guarantee().epsilon(1e-5))
    assert 0.3 * result.claim < result.bound.epsilon < result.claim
    assert [bound.method for bound in result.bounds] == ["one-run-fdp", "one-run"]
    assert all(bound.confidence == pytest.approx(0.975) for bound in result.bounds)
    assert {entry.what for entry in result.ledger} >= {"canaries", "bounds", "bits", "guesses"}
    assert "GaussianDP" in result.bounds[0].assumptions[0]
    assert (result.trials.per_side, result.trials.pilot) == (1, 0)
    assert AuditResult.from_json(result.to_json()) == result
    assert "one run with many canaries" in result.summary()


def test_too_small_a_claim_is_refuted_by_one_run():
    mechanism = learner(noise_multiplier=0.5)
    game = gradient_canary_game(mechanism, np.eye(300), seed=1)
    assert audit_one_run(mechanism, game, delta=1e-5).verdict is not Verdict.VIOLATION
    for claim in (GaussianDP(0.3), PureDP(0.5), ApproximateDP(0.5, 1e-5)):
        result = audit_one_run(mechanism, game, bound="one-run", claim=claim, delta=1e-5, confidence=0.99)
        assert result.verdict is Verdict.VIOLATION
        assert result.p_value < 0.01


def test_several_runs_count_together():
    mechanism = learner()
    one, ten = (
        audit_one_run(mechanism, gradient_canary_game(mechanism, np.eye(300), n_runs=n, seed=0), delta=1e-5)
        for n in (1, 10)
    )
    assert ten.bound.n_trials == 10 * one.bound.n_trials
    assert ten.bound.epsilon > one.bound.epsilon


def test_mislabelled_examples_play_the_same_game():
    rng = np.random.default_rng(0)
    mechanism = learner(noise_multiplier=2.0, learning_rate=20.0)
    game = membership_game(mechanism, (rng.normal(size=(300, 299)), rng.integers(0, 2, 300)), attack="loss", seed=0)
    result = audit_one_run(mechanism, game, attack="loss", delta=1e-5)
    assert result.attack == "loss"
    assert 0.0 < result.bound.epsilon < result.claim


def test_verdicts_count_what_could_have_been_shown():
    weak = audit_one_run(learner(), perfect(20), claim=PureDP(5.0), delta=0.0, bound="one-run")
    assert weak.verdict is Verdict.UNDERPOWERED
    assert math.isinf(weak.detectable)


def test_what_does_not_fit_is_refused():
    mechanism = learner()
    with pytest.raises(ParameterError, match="scores must be BitScores"):
        audit_one_run(mechanism, PairScores(np.zeros(3), np.ones(3)), delta=1e-5)
    with pytest.raises(
        ParameterError, match=r"'joint-exact' does not read the bits of one run .* one-run, one-run-fdp"
    ):
        audit_one_run(mechanism, perfect(), bound="joint-exact", delta=1e-5)
    with pytest.raises(ParameterError, match="bound must name at least one bound"):
        audit_one_run(mechanism, perfect(), bound=[], delta=1e-5)
    with pytest.raises(ParameterError, match="delta must be given"):
        audit_one_run(mechanism, perfect())
    with pytest.raises(RelationError, match="'replace_one'"):
        audit_one_run(learner(relation="replace_one"), perfect(), delta=1e-5)
    with pytest.raises(RelationError, match="'zero_out'"):
        audit_one_run(mechanism, perfect(), claim=PureDP(1.0, relation="zero_out"), delta=0.0)
    with pytest.raises(AccountingError, match="infinite"):
        audit_one_run(mechanism, perfect(), delta=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["one-run", "one-run-fdp"])
def test_the_bound_of_one_run_exceeds_the_truth_no_more_often_than_it_may(bound):
    """At significance 0.2, 150 games of 60 canaries; the truth of one canary is the claim, exactly."""
    mechanism = DPSGD(
        LogisticRegression(59), steps=4, noise_multiplier=2.0, sampling="full-batch", batch_size=60, learning_rate=1.0
    )
    truth = mechanism.guarantee().epsilon(1e-5)
    misses = 0
    for seed in range(150):
        game = gradient_canary_game(mechanism, np.eye(60), seed=seed)
        result = audit_one_run(mechanism, game, bound=bound, delta=1e-5, confidence=0.8)
        misses += result.bound.epsilon > truth
    from scipy import stats

    assert misses <= stats.binom.isf(1e-6, 150, 0.2)


def test_scores_alone_are_judged_by_the_claim_that_is_given():
    result = audit_one_run(None, perfect(), claim=PureDP(1.0))
    assert (result.verdict, result.claim, result.delta) == (Verdict.VIOLATION, 1.0, 0.0)
    assert (result.mechanism, result.relation) == ("scores from elsewhere", "add_remove")
    known = audit_one_run(learner(), perfect(), claim=PureDP(1.0))
    assert result.bounds == known.bounds
    assert AuditResult.from_json(result.to_json()) == result


def test_scores_alone_without_a_claim_and_what_is_no_mechanism_are_named():
    with pytest.raises(ParameterError, match=r"claim must be given where mechanism is None, for example claim=Gauss"):
        audit_one_run(None, perfect(), delta=1e-5)
    with pytest.raises(ParameterError, match=r"delta must be given"):
        audit_one_run(None, perfect(), claim=GaussianDP(1.0))
    with pytest.raises(ParameterError, match=r"mechanism must be a Mechanism, or None .* but is 'dp-sgd'"):
        audit_one_run("dp-sgd", perfect(), claim=PureDP(1.0))
    with pytest.raises(ParameterError, match=r"claim must be a guarantee, such as GaussianDP\(1\.0\), but is 1\.0"):
        audit_one_run(None, perfect(), claim=1.0)
