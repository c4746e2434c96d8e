"""Audits of given scores."""

import math

import numpy as np
import pytest

from dpassay.audit import Successes, audit, audit_scores
from dpassay.audit.bounds import base
from dpassay.audit.bounds.base import Bound, FixedBound
from dpassay.audit.bounds.reconstruction import Reconstruction
from dpassay.audit.evidence.scores import BitScores, PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games import gradient_canary_game, membership_game
from dpassay.audit.games.conclude import conclude
from dpassay.audit.games.pair import PairRun
from dpassay.audit.results.audit_result import AuditResult
from dpassay.mechanisms import Laplace, Neighbours
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP
from dpassay.mechanisms.core import AccountingError, ParameterError, RelationError
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import LogisticRegression


def learner(noise_multiplier=4.0, **options):
    given = {"steps": 10, "sampling": "full-batch", "batch_size": 300} | options
    return DPSGD(LogisticRegression(299), noise_multiplier=noise_multiplier, **given)


def perfect(n=400):
    bits = np.arange(n)[None, :] % 2 == 0
    return BitScores(bits, 1.0 * bits)


def test_a_true_claim_stands_and_the_result_says_what_was_done():
    mechanism = learner()
    game = gradient_canary_game(mechanism, np.eye(300), seed=3)
    result = audit_scores(game, mechanism=mechanism, delta=1e-5, seed=3)
    assert result.verdict is Verdict.CONSISTENT
    assert result.claim == pytest.approx(mechanism.guarantee().epsilon(1e-5))
    assert 0.3 * result.claim < result.bound.epsilon < result.claim
    assert [bound.method for bound in result.bounds] == ["one-run-fdp", "one-run"]
    assert all(bound.confidence == pytest.approx(0.95) for bound in result.bounds)
    assert {entry.what for entry in result.ledger} >= {"canaries", "bounds", "bits", "guesses"}
    assert "GaussianDP" in result.bounds[0].assumptions[0]
    assert (result.trials.per_side, result.trials.pilot) == (1, 0)
    assert AuditResult.from_json(result.to_json()) == result
    assert "1 run with 300 canaries, each in or out by the toss of a coin" in result.summary()


def test_too_small_a_claim_is_refuted_by_one_run(without_power):
    mechanism = learner(noise_multiplier=0.5)
    game = gradient_canary_game(mechanism, np.eye(300), seed=1)
    assert audit_scores(game, mechanism=mechanism, delta=1e-5).verdict is not Verdict.VIOLATION
    for claim in (GaussianDP(0.3), PureDP(0.5), ApproximateDP(0.5, 1e-5)):
        result = audit_scores(game, mechanism=mechanism, bound="one-run", claim=claim, delta=1e-5, confidence=0.99)
        assert result.verdict is Verdict.VIOLATION
        assert result.p_value < 0.01


def test_several_runs_count_together(without_power):
    mechanism = learner()
    one, ten = (
        audit_scores(gradient_canary_game(mechanism, np.eye(300), n_runs=n, seed=0), mechanism=mechanism, delta=1e-5)
        for n in (1, 10)
    )
    assert ten.bound.n_trials == 10 * one.bound.n_trials
    assert ten.bound.epsilon > one.bound.epsilon


def test_mislabelled_examples_play_the_same_game():
    rng = np.random.default_rng(0)
    mechanism = learner(noise_multiplier=2.0, learning_rate=20.0)
    game = membership_game(mechanism, (rng.normal(size=(300, 299)), rng.integers(0, 2, 300)), attack="loss", seed=0)
    result = audit_scores(game, mechanism=mechanism, attack="loss", delta=1e-5)
    assert result.attack == "loss"
    assert 0.0 < result.bound.epsilon < result.claim


def test_verdicts_count_what_could_have_been_shown():
    weak = audit_scores(perfect(20), mechanism=learner(), claim=PureDP(5.0), delta=0.0, bound="one-run")
    assert weak.verdict is Verdict.UNDERPOWERED
    assert math.isinf(weak.detectable)


def test_what_does_not_fit_is_refused():
    mechanism = learner()
    with pytest.raises(ParameterError, match="evidence must be one of PairScores, BitScores, Successes"):
        audit_scores(np.zeros(3), mechanism=mechanism, delta=1e-5)
    with pytest.raises(ParameterError, match="pilot must be None"):
        audit_scores(perfect(), mechanism=mechanism, delta=1e-5, pilot=PairScores(np.zeros(3), np.ones(3)))
    with pytest.raises(ParameterError, match="trials must be"):
        audit_scores(PairScores(np.zeros(3), np.ones(3)), claim=PureDP(1.0))
    with pytest.raises(
        ParameterError, match=r"'joint-exact' does not read the bits of one run .* one-run, one-run-fdp"
    ):
        audit_scores(perfect(), mechanism=mechanism, bound="joint-exact", delta=1e-5)
    with pytest.raises(ParameterError, match="bound must name at least one bound"):
        audit_scores(perfect(), mechanism=mechanism, bound=[], delta=1e-5)
    with pytest.raises(ParameterError, match="delta must be given"):
        audit_scores(perfect(), mechanism=mechanism)
    with pytest.raises(RelationError, match="'replace_one'"):
        audit_scores(perfect(), mechanism=learner(relation="replace_one"), delta=1e-5)
    with pytest.raises(RelationError, match="'zero_out'"):
        audit_scores(perfect(), mechanism=mechanism, claim=PureDP(1.0, relation="zero_out"), delta=0.0)
    with pytest.raises(AccountingError, match="infinite"):
        audit_scores(perfect(), mechanism=mechanism, delta=0.0)


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
        result = audit_scores(game, mechanism=mechanism, bound=bound, delta=1e-5, confidence=0.8)
        misses += result.bound.epsilon > truth
    from scipy import stats

    assert misses <= stats.binom.isf(1e-6, 150, 0.2)


def test_scores_alone_are_judged_by_the_claim_that_is_given(without_power):
    result = audit_scores(perfect(), claim=PureDP(1.0))
    assert (result.verdict, result.claim, result.delta) == (Verdict.VIOLATION, 1.0, 0.0)
    assert (result.mechanism, result.relation) == ("scores from elsewhere", "add_remove")
    known = audit_scores(perfect(), mechanism=learner(), claim=PureDP(1.0))
    assert result.bounds == known.bounds
    assert AuditResult.from_json(result.to_json()) == result


def test_scores_alone_without_a_claim_and_what_is_no_mechanism_are_named():
    with pytest.raises(ParameterError, match=r"claim must be given if there are only scores"):
        audit_scores(perfect(), delta=1e-5)
    with pytest.raises(ParameterError, match=r"delta must be given"):
        audit_scores(perfect(), claim=GaussianDP(1.0))
    with pytest.raises(ParameterError, match=r"mechanism must be a Mechanism, or None .* but is 'dp-sgd'"):
        audit_scores(perfect(), mechanism="dp-sgd", claim=PureDP(1.0))
    with pytest.raises(ParameterError, match=r"claim must be a guarantee, such as PureDP\(1\.0\), but is 1\.0"):
        audit_scores(perfect(), claim=1.0)


def test_claim_given_as_a_number_is_refused_with_a_guarantee_to_use():
    pair = Neighbours([1.0], [1.0, 0.0], "add_remove")
    for ask in (
        lambda **options: audit_scores(perfect(), **options),
        lambda **options: audit(lambda d, rng: len(d) + rng.laplace(), pair, trials=100, **options),
    ):
        with pytest.raises(ParameterError, match=r"such as ApproximateDP\(8\.0, 1e-05\), but is 8\.0"):
            ask(claim=8.0, delta=1e-5)
        with pytest.raises(ParameterError, match=r"such as PureDP\(8\), but is 8"):
            ask(claim=8)


def test_bits_of_one_run_may_have_one_dimension():
    bits, scores = [True, False, True], [2.0, -1.0, 0.5]
    one = BitScores(bits, scores)
    assert (one.n_runs, one.n_canaries) == (1, 3)
    assert np.array_equal(one.bits, BitScores([bits], [scores]).bits)
    for wrong in ([[True]], [True, False], [[[True]]]):
        with pytest.raises(ParameterError, match="must have"):
            BitScores(wrong, scores)


# --- runs on a pair, and reconstructions ------------------------------------------------------------------------------


def audit_with_scores(monkeypatch, **options):
    """Return an audit by the API, with its pilot and evaluation scores."""
    parts = {}

    def tracked(self, scorer, pilot, part):
        parts["pilot"] = pilot
        return real_track(self, scorer, pilot, part)

    def concluded(statement, bounds, fixed, evidence, subject):
        parts["evidence"] = evidence
        return conclude(statement, bounds, fixed, evidence, subject)

    real_track = PairRun._track
    monkeypatch.setattr(PairRun, "_track", tracked)
    monkeypatch.setattr("dpassay.audit.games.pair.conclude", concluded)
    return audit(Laplace(epsilon=1.0), trials=3_000, seed=4, **options), parts["pilot"], parts["evidence"]


@pytest.mark.parametrize("bound", ["auto", ["clopper-pearson", "simultaneous-band"], "betting", "accountant-family"])
def test_an_audit_and_its_scores_give_equal_numbers(bound, monkeypatch):
    called, pilot, scores = audit_with_scores(monkeypatch, bound=bound, n_hypotheses=3)
    judged = audit_scores(scores, mechanism=Laplace(epsilon=1.0), pilot=pilot, bound=bound, n_hypotheses=3, seed=4)
    assert judged.bounds == called.bounds
    for name in ("claim", "delta", "p_value", "detectable", "verdict", "trials", "game", "curve_violation", "relation"):
        assert getattr(judged, name) == getattr(called, name), name
    assert np.array_equal(judged.tally.hits_in, called.tally.hits_in)


def test_a_pilot_is_set_aside_without_a_look_and_not_counted():
    rng = np.random.default_rng(0)
    out, in_ = rng.laplace(size=4_000), 1.0 + rng.laplace(size=4_000)
    result = audit_scores(PairScores(out, in_), claim=PureDP(1.0), seed=1)
    assert (result.trials.per_side, result.trials.pilot, result.bound.n_trials) == (4_000, 400, 7_200)
    assert {entry.what: entry.correction for entry in result.ledger}["pilot"] == "not counted"
    # places are drawn, not scores: the same runs in another order are another draw, any order of values is no bias
    ordered = audit_scores(PairScores(np.sort(out), np.sort(in_)), claim=PureDP(1.0), seed=1)
    assert ordered.bound.epsilon == pytest.approx(result.bound.epsilon, abs=0.1)
    assert audit_scores(PairScores(out, in_), claim=PureDP(1.0), seed=1) == result
    free = audit_scores(PairScores(out, in_), claim=PureDP(1.0), bound="simultaneous-band")
    assert (free.trials.pilot, free.bound.n_trials) == (0, 8_000)
    assert AuditResult.from_json(result.to_json()) == result
    assert "3,600 on side 0, 3,600 on side 1; independent runs" in result.summary()


def test_scores_of_a_pair_refute_too_small_a_claim_on_unequal_sides():
    rng = np.random.default_rng(0)
    scores = PairScores(rng.laplace(size=3_000), 2.0 + rng.laplace(size=2_000))
    result = audit_scores(scores, claim=PureDP(1.0, relation="add_remove"), relation="add_remove")
    assert result.verdict is Verdict.VIOLATION
    assert result.relation == "add_remove"
    hits, sizes = result.bound.hits, (2_800, 1_800)
    assert (result.tally.n_out, result.tally.n_in) == sizes
    assert f"{hits[0]:,} of {sizes[0]:,} = " in result.summary(details=False)
    with pytest.raises(RelationError, match="'replace_one'"):
        audit_scores(scores, claim=PureDP(1.0, relation="replace_one"), relation="add_remove")


def test_reconstructions_are_judged_with_power_and_on_the_whole_curve():
    guessed = Successes(n_success=400, n_runs=1_000, prior_success=0.1)
    result = audit_scores(guessed, claim=PureDP(1.0))
    assert (result.verdict, result.bound.method, result.bound.n_trials) == (Verdict.VIOLATION, "reconstruction", 1_000)
    assert (result.curve_violation.fpr, result.curve_violation.threshold) == (0.1, None)
    assert result.p_value <= 0.05
    assert "1,000 rounds, each with a fresh secret" in result.summary()
    assert AuditResult.from_json(result.to_json()) == result
    blind = audit_scores(Successes(100, 1_000, 0.1), claim=PureDP(1.0))
    assert blind.verdict is Verdict.CONSISTENT
    assert 1.0 < blind.detectable < 1.3
    few = audit_scores(Successes(1, 1, 0.5), claim=PureDP(1.0))
    assert (few.verdict, few.detectable) == (Verdict.UNDERPOWERED, math.inf)


@pytest.mark.parametrize("seed", range(3))
def test_a_guess_with_the_detectable_power_is_caught_nine_times_in_ten(seed):
    detectable = audit_scores(Successes(100, 1_000, 0.1), claim=PureDP(1.0)).detectable
    success = 1.0 - PureDP(detectable).tradeoff(0.1)
    drawn = np.random.default_rng(seed).binomial(1_000, success, size=200)
    fixed = Reconstruction().fix(Statement(PureDP(1.0), 0.0), None, (1_000,))
    share = np.mean([fixed.p_value(Successes(int(w), 1_000, 0.1)) <= 0.05 for w in drawn])
    assert share > 0.9 - 4.8 * math.sqrt(0.09 / 200)


# --- the interface of bounds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "most"), [(Bound, 5), (FixedBound, 6)])
def test_a_bound_is_few_members_each_with_its_line(kind, most):
    members = {name for name in (*vars(kind), *kind.__annotations__) if not name.startswith("_")} - {"statement"}
    assert len(members) <= most
    for name in members:
        assert f"\n      {name} " in base.__doc__
