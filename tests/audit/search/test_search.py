"""A search keeps its confidence because the winner is confirmed on fresh trials, and only because of that."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.audit.coverage import Coverage

from dpassay.attacks.distinguishing.threshold import Threshold
from dpassay.audit import Verdict, audit
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.search import SCREENING_CONFIDENCE, SearchResult, search
from dpassay.audit.trials.seeds import Stage, child_seed
from dpassay.mechanisms import Laplace, Neighbours, PureDP, RandomizedResponse
from dpassay.mechanisms.core import (
    AttackError,
    FingerprintError,
    NeighboursError,
    ParameterError,
    UnknownNameError,
    number,
)


def pair(d1, d0=0.0):
    return Neighbours(d0, d1, "add_remove")


def leaks_far_away(dataset, size, rng):
    """Noise for a sensitivity of 1, whatever the record; a record of 3 moves the sum by 3."""
    return dataset + rng.laplace(size=size)


pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIRS = [pair(0.2), pair(3.0), pair(1.0)]
LEAK = {"claim": PureDP(1.0), "explore": 500, "trials": 4_000, "seed": 3}


# --- coverage --------------------------------------------------------------------------------------------------------

QUESTION = {"bound": ClopperPearson(threshold=0.0), "confidence": 0.8}
MECHANISM = RandomizedResponse(epsilon=1.0)  # its worst case is as bad as a pure guarantee allows


def searches(repeats, n_pairs) -> Iterator[SearchResult]:
    """Searches over pairs that are all equally bad: the best look is luck."""
    for seed in range(repeats):
        pairs = [MECHANISM.worst_case()] * n_pairs
        yield search(MECHANISM, pairs, explore=200, trials=200, seed=seed, **QUESTION)


def covered(bounds):
    bounds = np.array(bounds)
    return Coverage("search", "randomized response", 1.0, len(bounds), int(np.sum(bounds > 1.0)), 0.2, bounds.mean())


def without_fresh_trials(result):
    """The bound at the full confidence on the very trials that made the winner win."""
    seed = result.looks[result.winner].seed
    return audit(MECHANISM, MECHANISM.worst_case(), trials=200, seed=seed, **QUESTION).bound.epsilon


def test_a_confirmed_winner_keeps_its_level_unlike_an_unconfirmed_one():
    result = list(searches(25, n_pairs=20))
    assert covered([one.bound.epsilon for one in result]).holds
    assert not covered([without_fresh_trials(one) for one in result]).holds


@pytest.mark.slow
def test_a_confirmed_winner_keeps_its_level_in_long_runs():
    result = list(searches(300, n_pairs=12))
    assert covered([one.bound.epsilon for one in result]).holds
    assert not covered([without_fresh_trials(one) for one in result]).holds


class Spy(Laplace):
    """Remembers what it released."""

    released: list

    def release(self, dataset, size, rng):
        outputs = super().release(dataset, size, rng)
        self.released.append(np.asarray(outputs.values).ravel() - dataset)
        return outputs


def test_no_noise_is_drawn_twice():
    spy = Spy(epsilon=1.0)
    object.__setattr__(spy, "released", [])
    search(spy, [pair(1.0), pair(0.5)], attacks=["threshold", "likelihood-ratio"], explore=300, trials=300, seed=1)
    drawn = np.concatenate([np.round(noise, 9) for noise in spy.released])
    assert len(drawn) > 5 * 600
    assert len(np.unique(drawn)) == len(drawn)


def test_seeds_of_looks_and_confirmation_are_all_different():
    seeds = {child_seed(root, stage, i) for root in range(20) for stage in Stage for i in range(50)}
    assert len(seeds) == 20 * len(Stage) * 50
    result = search(Laplace(epsilon=1.0), [pair(1.0), pair(0.5)], explore=100, trials=100, seed=1)
    assert len({result.seed, result.confirmed.seed, *(look.seed for look in result.looks)}) == 4


# --- what it finds ---------------------------------------------------------------------------------------------------


@cache
def _leak():
    return search(leaks_far_away, PAIRS, **LEAK)


@pytest.fixture
def leak(without_power, few_chunks):
    return _leak()


def test_the_violating_pair_wins_and_is_confirmed(leak):
    assert leak.candidate == 1
    assert leak.verdict is Verdict.VIOLATION
    assert 2.0 < leak.bound.epsilon <= 3.0
    assert leak.confirmed.confidence == 0.95
    assert leak.bound.confidence == pytest.approx(0.951)  # the test of independence has its share


def test_the_stronger_attack_wins_and_is_confirmed():
    attacks = [Threshold(statistic="norm"), Threshold()]
    result = search(Laplace(epsilon=2.0), [pair(1.0, 0.0)], attacks=attacks, explore=2_000, trials=4_000, seed=1)
    assert result.winner == 1
    assert result.looks[1].epsilon > result.looks[0].epsilon
    assert 1.5 < result.bound.epsilon <= 2.0
    assert result.verdict is Verdict.CONSISTENT


def test_looks_and_confirmation_equal_audits_with_their_seeds(leak):
    for look in leak.looks[:2]:
        again = audit(
            leaks_far_away,
            PAIRS[look.candidate],
            claim=PureDP(1.0),
            trials=look.trials,
            confidence=SCREENING_CONFIDENCE,
            seed=look.seed,
        )
        assert (again.bound.epsilon, again.p_value, again.attack) == (look.epsilon, look.p_value, look.attack)
    best = max(range(3), key=lambda i: leak.looks[i].epsilon)
    assert leak.winner == best
    fresh = audit(leaks_far_away, PAIRS[1], claim=PureDP(1.0), trials=4_000, seed=leak.confirmed.seed)
    assert fresh.bounds == leak.confirmed.bounds


def test_one_pair_and_one_attack_leave_nothing_to_search():
    result = search(Laplace(epsilon=1.0), [pair(1.0)], trials=500, seed=2)
    assert (result.looks, result.winner, result.candidate) == ((), None, 0)
    assert result.confirmed == replace(result.confirmed, ledger=result.ledger)
    assert next(entry for entry in result.ledger if entry.what == "pair").looked_at == "1, fixed beforehand"


def test_confirmation_may_stop_at_any_time():
    result = search(leaks_far_away, PAIRS, attacks="threshold", **LEAK | {"stop": "anytime"})
    assert result.verdict is Verdict.VIOLATION
    assert result.confirmed.trials.per_side < 2_000


# --- the ledger ------------------------------------------------------------------------------------------------------


def test_ledger_shows_every_look_and_why_the_level_holds():
    attacks = ["threshold", "likelihood-ratio"]
    result = search(Laplace(epsilon=1.0), PAIRS[::2], attacks=attacks, explore=200, trials=300, seed=1)
    whats = [entry.what for entry in result.ledger]
    assert whats[:6] == ["search", "look 1", "look 2", "look 3", "look 4", "pair"]
    assert result.ledger[0].looked_at == "4 looks: 2 pairs x 2 attacks, 200 trials a side each"
    assert "fresh trials" in result.ledger[0].correction
    for place, entry in enumerate(result.ledger[1:5]):
        look = result.looks[place]
        assert f"pair {look.candidate + 1} " in entry.looked_at
        assert look.attack in entry.looked_at
        assert number(look.epsilon) in entry.looked_at
        assert ("winner" in entry.correction) == (place == result.winner)
    assert whats.count("pair") == 1
    assert "fixed beforehand" not in result.ledger[5].correction + result.ledger[5].looked_at
    attack = next(entry for entry in result.ledger if entry.what == "attack")
    assert attack.looked_at.endswith("of 2")
    assert attack.correction.startswith("chosen by the search")
    assert all(f"look {n}" in result.summary() for n in (1, 2, 3, 4))


def test_same_seed_gives_the_same_bytes_serial_parallel_and_resumed(tmp_path):
    mechanism, pairs = Laplace(epsilon=1.0), [pair(0.2), pair(1.0), pair(0.5)]
    options = {"explore": 500, "trials": 4_000, "seed": 3}
    plain = search(mechanism, pairs, **options).to_json()
    assert search(mechanism, pairs, n_jobs=2, store=tmp_path, **options).to_json() == plain
    assert sorted(p.name for p in tmp_path.iterdir()) == ["confirmation", "look-0000", "look-0001", "look-0002"]
    assert search(mechanism, pairs, store=tmp_path, **options).to_json() == plain
    with pytest.raises(FingerprintError):
        search(mechanism, [pair(0.3), *pairs[1:]], store=tmp_path, **options)


# --- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "options", "error", "message"),
    [
        ([], {}, ParameterError, "candidates must contain at least one"),
        ([(0.0, 1.0)], {}, ParameterError, r"candidates must be Neighbours, but contain \(0.0, 1.0\)"),
        ([pair(1.0)], {"attacks": []}, ParameterError, "attacks must contain at least one"),
        ([pair(1.0)], {"attacks": ["treshold"]}, UnknownNameError, "Did you mean 'threshold'"),
        ([pair(1.0), pair(3.0)], {}, NeighboursError, "3"),
        ([pair(1.0)], {"explore": 0}, ParameterError, "explore must be a whole number >= 1, but is 0"),
        ([pair(1.0)], {"confidence": 1.0}, ParameterError, "confidence"),
        ([pair(1.0)], {"stop": "early"}, ParameterError, "stop must be"),
    ],
)
def test_wrong_input_is_named_before_anything_runs(pairs, options, error, message, monkeypatch):
    monkeypatch.setattr(Laplace, "release", lambda *_: pytest.fail("ran"))
    with pytest.raises(error, match=message):
        search(Laplace(epsilon=1.0), pairs, seed=0, **options)


def test_attack_that_cannot_be_used_on_a_function_is_refused():
    with pytest.raises(AttackError, match=r"likelihood-ratio|classifier"):
        search(leaks_far_away, PAIRS, attacks=["threshold", "likelihood-ratio"], claim=PureDP(1.0), seed=0)


def test_a_single_pair_and_a_single_name_need_no_list():
    result = search(Laplace(epsilon=1.0), pair(1.0), attacks="threshold", trials=100, seed=0)
    assert result.confirmed.attack == "threshold"
    assert math.isfinite(result.bound.epsilon)
