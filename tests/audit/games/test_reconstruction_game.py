"""The game of reconstruction: the category of one record is drawn, and guessed from the output."""

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import Successes, audit_scores
from dpassay.audit.bounds.reconstruction import Reconstruction
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games import reconstruction_game
from dpassay.audit.games.reconstruction import RoundWork, plan_rounds
from dpassay.mechanisms import KAryRandomizedResponse, Laplace, Neighbours
from dpassay.mechanisms.errors import FingerprintError, ParameterError, RelationError
from dpassay.mechanisms.external.function import FunctionMechanism
from dpassay.mechanisms.guarantees import PureDP

K_ARY = KAryRandomizedResponse(epsilon=1.0, k=4)


def played(mechanism=K_ARY, *, n_rounds=20_000, seed=0, **options):
    return reconstruction_game(mechanism, [0], range(4), n_rounds=n_rounds, seed=seed, **options)


@pytest.mark.parametrize(("dataset", "record"), [([0], 0), ([3, 1, 2], -1)])
def test_the_answer_itself_is_guessed_and_right_as_often_as_it_is_true(dataset, record):
    """The number of successes is binomial with the probability of the true answer; a false alarm in a million."""
    game = reconstruction_game(K_ARY, dataset, range(4), record=record, n_rounds=400_000, seed=3)
    assert (game.n_runs, game.prior_success) == (400_000, 0.25)
    assert stats.binomtest(game.n_success, game.n_runs, K_ARY.p_true).pvalue > 1e-6


def test_without_a_leak_the_guess_is_worth_what_it_is_without_the_output():
    game = played(KAryRandomizedResponse(epsilon=1e-9, k=4), n_rounds=400_000)
    assert stats.binomtest(game.n_success, game.n_runs, 0.25).pvalue > 1e-6


def test_the_number_of_successes_varies_as_that_of_independent_rounds():
    """Chi-square of 400 games of 256 rounds: secrets that were shared, or runs that repeat, would move it far."""
    found = np.array([played(n_rounds=256, seed=seed).n_success for seed in range(400)])
    expected, variance = 256 * K_ARY.p_true, 256 * K_ARY.p_true * (1 - K_ARY.p_true)
    spread = ((found - expected) ** 2).sum() / variance
    assert 5e-7 < stats.chi2.cdf(spread, 400) < 1 - 5e-7


@pytest.mark.parametrize("bound", [Reconstruction(), Reconstruction(candidates=4)])
def test_the_bound_exceeds_the_exact_epsilon_no_more_often_than_it_may(bound):
    """Every number of successes of 40 rounds with its exact probability, at significance 0.2."""
    n = 40
    epsilons = [
        audit_scores(Successes(k, n, 0.25), mechanism=K_ARY, delta=0.0, bound=bound, confidence=0.8).bound.epsilon
        for k in range(n + 1)
    ]
    weights = stats.binom.pmf(np.arange(n + 1), n, K_ARY.p_true)
    missed = weights[np.array(epsilons) > 1.0].sum()
    assert missed <= 0.2
    assert missed > (0.1 if bound.candidates else -1.0)  # with candidates it is tight but for the steps of the binomial
    assert np.dot(weights, epsilons) > 0.4


def test_a_true_claim_stands_and_one_that_is_too_small_falls():
    game = played(n_rounds=50_000)
    true = audit_scores(game, mechanism=K_ARY, delta=0.0, bound=Reconstruction(candidates=4))
    assert true.verdict is Verdict.CONSISTENT
    assert 0.95 < true.bound.epsilon < 1.0
    false = audit_scores(game, mechanism=K_ARY, claim=PureDP(0.9), delta=0.0, bound=Reconstruction(candidates=4))
    assert false.verdict is Verdict.VIOLATION
    assert false.p_value < 1e-6


def test_workers_change_nothing():
    assert played(n_jobs=2) == played()
    assert played(seed=1) != played()


def test_a_game_that_was_interrupted_goes_on_to_the_same_successes(tmp_path, monkeypatch):
    play, done = RoundWork.__call__, []

    def interrupted(work, chunk):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(chunk.key)
        return play(work, chunk)

    monkeypatch.setattr(RoundWork, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        played(store=tmp_path)
    before = done[:]
    done[:] = [None] * 6
    assert played(store=tmp_path) == played()
    again = done[6 : 6 + 27]
    assert len(before) == 5
    assert not set(before) & set(again)
    with pytest.raises(FingerprintError, match="seed"):
        played(store=tmp_path, seed=1)


def test_wide_outputs_are_played_in_small_chunks():
    assert {chunk.size for chunk in plan_rounds(1000, 2**20)} == {16, 8}
    assert sum(chunk.size for chunk in plan_rounds(1_000_003, 40)) == 1_000_003


def test_what_cannot_be_played_is_refused():
    with pytest.raises(RelationError, match="holds for relation 'add_remove'"):
        reconstruction_game(Laplace(epsilon=1.0), [0.0], [0.0, 1.0], n_rounds=10, seed=0)
    with pytest.raises(ParameterError, match="values must be at least 2"):
        reconstruction_game(K_ARY, [0], [1], n_rounds=10, seed=0)
    with pytest.raises(ParameterError, match="n_rounds"):
        played(n_rounds=0)
    with pytest.raises(ParameterError, match="from 0 to 3"):
        reconstruction_game(K_ARY, [0], range(5), n_rounds=10, seed=0)
    with pytest.raises(ParameterError, match="from -1 to 0, but is 1"):
        reconstruction_game(K_ARY, [0], range(4), record=1, n_rounds=10, seed=0)
    other = FunctionMechanism(lambda d, rng: d[0], claim=PureDP(1.0), neighbours=Neighbours([0], [1], "replace_one"))
    with pytest.raises(ParameterError, match=r"output law is known.* give their Successes to audit_scores"):
        reconstruction_game(other, [0], [0, 1], n_rounds=10, seed=0)
