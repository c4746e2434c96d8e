"""The game of reconstruction: the category of one record is drawn, and guessed from the output."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dpassay.attacks.reconstruction import FairBits, OneOf, Reconstructor
from dpassay.audit import BitScores, audit_scores
from dpassay.audit.bounds.reconstruction import Reconstruction, allowed_success
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.games import reconstruction, reconstruction_game, rounds
from dpassay.audit.games.rounds import CandidateRounds, plan_rounds
from dpassay.audit.trials.seeds import Stage, stream
from dpassay.mechanisms import Gaussian, KAryRandomizedResponse, Laplace
from dpassay.mechanisms.accounting import GaussianDP, PureDP
from dpassay.mechanisms.core import (
    AttackError,
    DependentTrialsError,
    FingerprintError,
    NeighboursError,
    ParameterError,
    Relation,
    RelationError,
    ReleaseError,
)
from dpassay.mechanisms.literature.counts import LaplaceSubsetCounts


def noisy(dataset, rng):
    return dataset[0] + rng.laplace()


def noise_of_a_call(dataset, size, rng):
    """Broken: one draw for all runs of a call."""
    return np.full(size, dataset[0] + rng.laplace()) + 1e-9 * rng.normal(size=size)


def alternating(dataset, size, rng):
    """Broken: every second run uses the negative noise of the previous run."""
    noise = rng.laplace(size=size)
    noise[1::2] = -noise[: 2 * (size // 2) : 2]
    return dataset[0] + noise


def remembering(dataset, rng):
    """Broken: the first noise is used in every run."""
    return KEPT.setdefault(dataset[0], dataset[0] + rng.laplace())


def raising(dataset, rng):
    if dataset[0] == 1.0 and rng.random() < 0.3:
        raise ValueError("one")
    return dataset[0] + rng.laplace()


KEPT = {}


@dataclass(frozen=True)
class Nearest(Reconstructor):
    """An attack that guesses the nearest value between 0 and 1, and a bit by its noisy count."""

    def fit(self, target, rng):
        rng.random(1_000)  # on a separate stream
        return _Nearest()


class _Nearest:
    def guess(self, outputs):
        events = np.full(len(outputs), "") if outputs.events is None else outputs.events
        near = np.where(outputs.values > 0.5, 1, 0)
        return np.where(events != "", 1, near) if outputs.values.ndim == 1 else outputs.values - 0.5


@dataclass(frozen=True)
class Says(Reconstructor):
    """An attack that returns fixed guesses."""

    what: object

    def fit(self, target, rng):
        return _Says(self.what)


@dataclass(frozen=True)
class _Says:
    what: object

    def guess(self, outputs):
        return self.what


K_ARY = KAryRandomizedResponse(epsilon=1.0, k=4)


def played(mechanism=K_ARY, *, n_rounds=20_000, seed=0, **options):
    return reconstruction_game(mechanism, OneOf.in_record([0], 0, range(4)), n_rounds=n_rounds, seed=seed, **options)


@pytest.mark.parametrize(("dataset", "record"), [([0], 0), ([3, 1, 2], -1)])
def test_the_answer_itself_is_guessed_and_right_as_often_as_it_is_true(dataset, record):
    """The number of successes is binomial with the probability of the true answer; a false alarm in a million."""
    game = reconstruction_game(K_ARY, OneOf.in_record(dataset, record, range(4)), n_rounds=400_000, seed=3)
    assert (game.n_runs, game.prior_success) == (400_000, 0.25)
    assert stats.binomtest(game.n_success, game.n_runs, K_ARY.p_true).pvalue > 1e-6


def test_without_a_leak_the_guess_is_worth_what_it_is_without_the_output():
    game = played(KAryRandomizedResponse(epsilon=1e-9, k=4), n_rounds=400_000)
    assert stats.binomtest(game.n_success, game.n_runs, 0.25).pvalue > 1e-6


def test_the_number_of_successes_varies_as_that_of_independent_rounds():
    """Chi-square of 100 games of 256 rounds: secrets that were shared, or runs that repeat, would move it far."""
    n_successes = np.array([played(n_rounds=256, seed=seed).n_success for seed in range(100)])
    expected, variance = 256 * K_ARY.p_true, 256 * K_ARY.p_true * (1 - K_ARY.p_true)
    spread = ((n_successes - expected) ** 2).sum() / variance
    assert 5e-7 < stats.chi2.cdf(spread, 100) < 1 - 5e-7


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
    play, done = CandidateRounds.__call__, []

    def interrupted(work, chunk):
        if chunk.stage is Stage.PROBE:  # only timed
            return play(work, chunk)
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(chunk.key)
        return play(work, chunk)

    monkeypatch.setattr(CandidateRounds, "__call__", interrupted)
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


def secret_of(*values, dataset=(0,), record=0):
    return OneOf.in_record(list(dataset), record, values)


def test_what_cannot_be_played_is_refused():
    with pytest.raises(NeighboursError, match="sensitivity"):
        reconstruction_game(Laplace(epsilon=1.0), OneOf((0.5, 2.0), reference=0.0), n_rounds=10, seed=0)
    with pytest.raises(RelationError, match="candidates are not neighbours of each other"):
        reconstruction_game(Laplace(epsilon=1.0), OneOf((0.0, 1.0)), n_rounds=10, seed=0)
    with pytest.raises(RelationError, match="play the membership game"):
        reconstruction_game(Laplace(epsilon=1.0), FairBits.column(2), n_rounds=10, seed=0)
    with pytest.raises(ParameterError, match="n_rounds"):
        played(n_rounds=0)
    with pytest.raises(ParameterError, match="from 0 to 3"):
        reconstruction_game(K_ARY, secret_of(*range(5)), n_rounds=10, seed=0)
    with pytest.raises(ParameterError, match="secret must be OneOf candidates or FairBits"):
        reconstruction_game(K_ARY, [0, 1], n_rounds=10, seed=0)
    with pytest.raises(AttackError, match="needs the output law"):
        reconstruction_game(
            noisy, secret_of(0.0, 1.0), attack="maximum-likelihood", n_rounds=10, seed=0, claim=PureDP(1.0)
        )
    with pytest.raises(ParameterError, match="claim must be given for a function"):
        reconstruction_game(noisy, secret_of(0.0, 1.0), n_rounds=10, seed=0)
    with pytest.raises(ParameterError, match="claim is for functions only"):
        reconstruction_game(K_ARY, secret_of(0, 1), n_rounds=10, seed=0, claim=PureDP(1.0))


@pytest.mark.parametrize("k", [3, 200])
def test_all_candidates_must_be_neighbours_of_each_other(k):
    values = [0.0, *np.linspace(-1.0, 1.0, k - 1)]  # each within 1 of the first, and the ends 2 apart
    laplace = Laplace(epsilon=1.0, sensitivity=1.0, relation=Relation.REPLACE_ONE)
    with pytest.raises(NeighboursError, match="apart in the L1 norm"):
        reconstruction_game(laplace, OneOf.in_record(np.array([0.0]), 0, values), n_rounds=10, seed=0)


ZERO_OR_ONE = OneOf.in_record([0.0], 0, [0.0, 1.0])
FOREIGN = {"attack": Nearest(), "n_rounds": 2_000, "seed": 0, "claim": PureDP(1.0)}


def test_user_function_is_played_with_a_user_attack():
    game = reconstruction_game(noisy, ZERO_OR_ONE, **FOREIGN)
    assert stats.binomtest(game.n_success, 2_000, 1 - 0.5 * np.exp(-0.5)).pvalue > 1e-6
    assert reconstruction_game(noisy, ZERO_OR_ONE, **FOREIGN, n_jobs=2) == game


def test_a_run_that_raises_is_a_round_like_any_other():
    """An exception says that the value is 1: 0.3 of its rounds, and of the others those that end above one half."""
    game = reconstruction_game(raising, ZERO_OR_ONE, **FOREIGN)
    near = 1 - 0.5 * np.exp(-0.5)
    assert stats.binomtest(game.n_success, 2_000, 0.5 * near + 0.5 * (0.3 + 0.7 * near)).pvalue > 1e-6


@pytest.mark.parametrize("function", [noise_of_a_call, alternating, pytest.param(remembering, marks=pytest.mark.slow)])
def test_rounds_that_are_not_independent_leave_no_evidence(function):
    with pytest.raises((DependentTrialsError, ReleaseError), match="independent"):
        reconstruction_game(function, ZERO_OR_ONE, **FOREIGN)


def test_independent_rounds_of_user_code_are_not_refused():
    """5 games, each refused with probability 1e-4 at most."""
    for seed in range(5):
        reconstruction_game(noisy, ZERO_OR_ONE, **FOREIGN | {"seed": seed, "n_rounds": 100})


@pytest.mark.parametrize(
    ("secret", "says", "message"),
    [
        (ZERO_OR_ONE, np.zeros(10), "number of a candidate, from 0 to 1, or -1"),
        (ZERO_OR_ONE, np.full(10, 2), "number of a candidate"),
        (ZERO_OR_ONE, np.zeros(3, dtype=int), "each of 1 output"),
        (FairBits.column(2), np.zeros((10, 3)), "a score, no NaN, for each of 2 bits"),
        (FairBits.column(2), np.full((10, 2), np.nan), "with NaN"),
    ],
)
def test_what_is_no_guess_is_refused(secret, says, message):
    mechanism = Laplace(epsilon=1.0, relation="replace_one", sensitivity=1.0, n_queries=1)
    mechanism = KAryRandomizedResponse(epsilon=1.0, k=2) if isinstance(secret, FairBits) else mechanism
    secret = secret if isinstance(secret, FairBits) else OneOf((0.0, 1.0))
    with pytest.raises(AttackError, match=message):
        reconstruction_game(mechanism, secret, attack=Says(says), n_rounds=10, seed=0)


COIN = KAryRandomizedResponse(epsilon=1.0, k=2)


def guessed(**options):
    return reconstruction_game(COIN, FairBits.column(4), **{"n_rounds": 500, "seed": 0} | options)


def test_bits_are_fair_and_guessed_as_often_as_their_answer_is_true():
    game = guessed()
    assert (game.bits.shape, game.relation.value) == ((500, 4), "replace_one")
    assert stats.binomtest(int(game.bits.sum()), 2_000).pvalue > 1e-6
    right = int(((game.scores > 0) == game.bits).sum())
    assert stats.binomtest(right, 2_000, COIN.p_true).pvalue > 1e-6


def test_bits_do_not_depend_on_workers_or_interruptions(tmp_path):
    game = guessed()
    for other in (guessed(n_jobs=2), guessed(store=tmp_path), guessed(store=tmp_path)):
        assert np.array_equal(other.bits, game.bits)
        assert np.array_equal(other.scores, game.scores)


def test_a_claim_on_bits_stands_or_falls_with_their_epsilon(without_power):
    true = audit_scores(guessed(), mechanism=COIN, delta=0.0)
    assert (true.verdict, true.relation, true.game.value) == (
        Verdict.CONSISTENT,
        "replace_one",
        "reconstruction-of-bits",
    )
    assert 0.75 < true.bound.epsilon < 1.0
    false = audit_scores(guessed(), mechanism=COIN, claim=PureDP(0.6), delta=0.0)
    assert false.verdict is Verdict.VIOLATION
    assert "side 0: bit 0" in str(false.game.words.legend)


def test_bits_of_records_are_not_taken_for_canaries():
    with pytest.raises(RelationError, match="replace_one"):
        audit_scores(guessed(), claim=PureDP(1.0, relation="add_remove"), delta=0.0)
    with pytest.raises(RelationError, match="add_remove"):
        audit_scores(BitScores(guessed().bits, guessed().scores), mechanism=COIN, delta=0.0)


def test_candidates_are_compared_with_the_dataset_without_them(without_power):
    """Gaussian noise on one of ten orthogonal unit vectors, against none: by the normal integral, 0.341."""
    vectors = OneOf(tuple(np.eye(10)), reference=np.zeros(10))
    mechanism = Gaussian(noise_multiplier=1.0, n_queries=10)
    game = reconstruction_game(mechanism, vectors, n_rounds=200_000, seed=0)
    best, _ = quad(lambda x: stats.norm.pdf(x, 1.0) * stats.norm.cdf(x) ** 9, -8, 9)
    assert best == pytest.approx(0.341, abs=5e-4)
    assert stats.binomtest(game.n_success, game.n_runs, best).pvalue > 1e-6
    assert best < allowed_success(GaussianDP(1.0), 0.1)
    result = audit_scores(game, mechanism=mechanism, delta=1e-5)
    assert result.verdict is Verdict.CONSISTENT


@pytest.mark.parametrize(
    "secret", [FairBits.column(4), OneOf.in_record([0, 0, 0, 0], 1, [0, 1])], ids=["bits", "one of"]
)
def test_what_is_learned_secrets_and_runs_draw_from_streams_of_their_own(monkeypatch, secret):
    keys = []

    def remembered(seed, stage, side=0, index=0):
        keys.append((seed, stage, side, index))
        return stream(seed, stage, side, index)

    for module in (reconstruction, rounds):
        monkeypatch.setattr(module, "stream", remembered)
    counts = LaplaceSubsetCounts(epsilon=1.0, n_records=4, n_queries=3)
    reconstruction_game(counts, secret, attack="maximum-likelihood", n_rounds=40, seed=3)
    drawn = [key for key in keys if key[1] is not Stage.PROBE]
    assert len(drawn) >= 2
    assert len(set(drawn)) == len(drawn)
