import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from dpassay.audit.bounds.pair.betting import STAKES
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.bounds.pair.pilot_bet import PilotBet, average_log
from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.experiments.ci.pools import Pools, weight
from dpassay.mechanisms.accounting import ApproximateDP, PureDP

CLAIM = 1.0
STATEMENT = Statement(PureDP(CLAIM), delta=0.0, confidence=0.95)


def geometric(rng, n, epsilon, *, largest=4):
    """Return scores of the truncated geometric mechanism on counts 0 and 1: many events are tight at epsilon."""
    noise = rng.geometric(1.0 - math.exp(-epsilon), size=(2, 2, n))
    out, in_ = (np.clip(pair[0] - pair[1] + side, -largest, largest + 1) for side, pair in enumerate(noise))
    return PairScores(out.astype(float), in_.astype(float))


def log_e_values(rng, epsilon, *, pilot=60, n=250, exchanged=False):
    """Return the e-values of one build."""
    first, then = geometric(rng, pilot, epsilon), geometric(rng, n, epsilon)
    if exchanged:
        first, then = first.exchanged(), then.exchanged()
    return PilotBet.fix(STATEMENT, first, n).log_e_values(then)


def answers(hits, n):
    """Return the scores of randomised response with these numbers of answers 1 on side 0 and side 1."""
    return PairScores(*(np.repeat([0.0, 1.0], [n - k, k]) for k in hits))


def mean_e_values(*, pilot_is_evaluation, n=6):
    """Return the exact means of the e-values of randomised response at the claim, one row for each pilot."""
    likely = 1.0 / (1.0 + math.exp(-CLAIM))
    counts = list(itertools.product(range(n + 1), repeat=2))
    chances = np.array([binom.pmf(out, n, 1.0 - likely) * binom.pmf(in_, n, likely) for out, in_ in counts])
    bets = [PilotBet.fix(STATEMENT, answers(hits, n), n) for hits in counts]
    if pilot_is_evaluation:
        logs = [bet.log_e_values(answers(hits, n)) for bet, hits in zip(bets, counts, strict=True)]
        return chances @ np.exp(logs)
    logs = [[bet.log_e_values(answers(hits, n)) for hits in counts] for bet in bets]
    return np.einsum("e,pes->ps", chances, np.exp(logs))


def test_e_values_have_mean_at_most_one_after_every_pilot():
    means = mean_e_values(pilot_is_evaluation=False)
    assert means.shape == (49, len(STAKES))
    assert (means <= 1.0 + 1e-12).all()
    assert means[:, 0].max() > 0.9999


def test_bets_on_evaluation_trials_have_a_larger_mean():
    assert mean_e_values(pilot_is_evaluation=True)[4] > 1.02


def alarms(builds, level, n_histories):
    """Return how many histories alarm; each second build has the code of the one before."""
    n_alarms = 0
    for history in builds.reshape(n_histories, -1, len(STAKES)):
        pools = Pools(level)
        reached = [pools.add(f"code {k // 2}", logs) for k, logs in enumerate(history)]
        n_alarms += any(pool.alarm for pair in reached for pool in pair)
    return n_alarms


@pytest.mark.slow  # 6,000 pilots
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_histories_of_true_claims_alarm_no_more_often_than_the_level(level):
    rng = np.random.default_rng(0)
    builds = np.array([log_e_values(rng, CLAIM, exchanged=bool(k % 2)) for k in range(6_000)])
    assert alarms(builds, level, 2_000) <= binom.isf(1e-6, 2_000, level)


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_products_of_fair_bets_alarm_no_more_often_than_the_level(level):
    rng = np.random.default_rng(5)
    stakes = np.linspace(0.05, 0.95, len(STAKES))
    factors = np.log1p([stakes, -stakes])  # bets on a fair coin
    builds = factors[rng.integers(2, size=(300, 40))]
    found = alarms(builds.reshape(-1, len(STAKES)), level, 300)
    assert 1 <= found <= binom.isf(1e-6, 300, level)


def test_evidence_begins_at_one_and_averages_products_of_each_stake():
    pools, logs = Pools(1e-6), [np.log(np.linspace(0.5, 1.4, 10)), np.log(np.linspace(1.3, 0.8, 10))]
    pools.add("a", logs[0])
    of_code, of_all = pools.add("a", logs[1])
    first, second = np.exp(logs)
    assert math.exp(of_code.log_evidence) == pytest.approx((first * second).mean())
    by_start = weight(1) * first * second + weight(2) * second
    assert math.exp(of_all.log_evidence) == pytest.approx(by_start.mean() + 1.0 - weight(1) - weight(2))


def test_the_shares_of_all_entries_sum_to_the_level():
    alarm = np.full(10, 60.0)
    for kind in (0, 1):
        pools = Pools(0.01)
        limits = [pools.add("same" if kind else str(k), alarm)[kind] for k in range(2_000)]
        assert [pool.entry for pool in limits[:3]] == [1, 2, 3]
        assert all(pool.alarm for pool in limits)
        shares = sum(math.exp(-pool.log_limit) for pool in limits)
        assert 0.00499 < shares < 0.005


def test_a_code_that_returns_continues_its_entry_and_after_an_alarm_begins_another():
    pools, little, much = Pools(1e-6), np.full(10, 1.0), np.full(10, 40.0)
    entries = [pools.add(code, logs)[0] for code, logs in zip("abaab", [little] * 3 + [much, little], strict=True)]
    assert [(pool.entry, pool.n_builds) for pool in entries] == [(1, 1), (2, 1), (1, 2), (1, 3), (2, 2)]
    assert [pool.alarm for pool in entries] == [False, False, False, True, False]
    assert pools.add("a", little)[0].entry == 3


def test_a_bug_that_comes_late_is_found_nearly_as_fast_as_an_early_one():
    poor, good = np.full(10, -50.0), np.full(10, 6.0)
    counts = []
    for n_before in (0, 30):
        pools = Pools(1e-6)
        for k in range(n_before):
            pools.add(f"right {k}", poor)
        counts.append(next(n for n in range(1, 20) if pools.add(f"wrong {n}", good)[1].alarm))
    assert counts == [3, 4]


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_leak_is_found_in_both_directions(exchanged):
    rng, pools = np.random.default_rng(2), Pools(1e-6)
    logs = [log_e_values(rng, 1.5 * CLAIM, n=2_000, pilot=200, exchanged=exchanged) for _ in range(3)]
    assert [pools.add("a", each)[0].alarm for each in logs][-1]


def test_the_e_value_uses_the_delta_of_the_claim():
    pilot, evaluation = answers((30, 70), 100), answers((300, 900), 1_000)  # 0.9 <= e 0.3 + 0.084...
    logs = [
        float(
            average_log(
                PilotBet.fix(Statement(ApproximateDP(CLAIM, delta), delta=delta), pilot, 1_000).log_e_values(evaluation)
            )
        )
        for delta in (0.01, 0.3)
    ]
    assert logs[0] > 0.0 > logs[1]


@pytest.mark.slow  # 300 pilots, and an audit at 1e-6 for each
def test_a_small_bug_is_found_in_fewer_builds_than_by_independent_audits():
    """Randomised response at 1.2 times a claim of 0.3, 5,000 trials a build: a fifth of 1 / power of an audit."""
    rng, claim = np.random.default_rng(4), Statement(PureDP(0.3), delta=0.0, confidence=1 - 1e-6)
    keep = 1.0 / (1.0 + math.exp(-1.2 * 0.3))

    def scores(n):
        return answers(rng.binomial(n, [1.0 - keep, keep]), n)

    alone = sum(JointExact().fix(claim, scores(500), (4_500, 4_500)).refutes(scores(4_500)) for _ in range(300))
    counts = []
    for _ in range(60):
        pools = Pools(1e-6)
        builds = (
            pools.add("a", PilotBet.fix(claim, scores(500), 4_500).log_e_values(scores(4_500))) for _ in range(99)
        )
        counts.append(next(n for n, pair in enumerate(builds, start=1) if any(pool.alarm for pool in pair)))
    assert np.mean(counts) <= 0.4 * 300 / max(alone, 1)
