"""Reversed scores: the pilot finds them, the level is exact, and right scores are read as before."""

import itertools

import numpy as np
import pytest
from scipy import stats
from tests.audit.coverage import FALSE_ALARM

from dpassay.audit import PairScores, audit_scores
from dpassay.audit.bounds.catalogue import build
from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.bounds.pair.betting import Betting
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.bounds.pair.joint import JointExact
from dpassay.audit.bounds.pair.orientation import ENTRY, Exchanged, is_reversed
from dpassay.audit.bounds.pair.pilot import reversed_on
from dpassay.audit.evidence.scores import PairCounts, Tally
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.results.witness_file import _content_of
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.core import ParameterError

FIND = ("joint-exact", "clopper-pearson", "accountant-family", "betting")


def separated(n, rng=0):
    """Scores of two sides that never overlap, the higher ones second."""
    rng = np.random.default_rng(rng)
    return rng.random(n), 1.0 + rng.random(n)


def gaussians(n, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(size=n) + shift


def counted(hits_out, hits_in, n):
    """Counts of an event with the threshold that a pilot of zeros and ones gives."""
    return PairCounts(Tally(np.array([0.0, 0.5]), np.array([n, hits_out]), np.array([n, hits_in]), n, n))


def stated(claim=PureDP(0.5), delta=0.0, confidence=0.95):  # noqa: B008
    return Statement(claim, delta, confidence)


@pytest.mark.parametrize("n", [40, 150, 2_000])
@pytest.mark.parametrize("bound", FIND)
@pytest.mark.usefixtures("without_power")
def test_reversed_scores_refute_what_the_right_ones_refute(bound, n):
    low, high = separated(n)
    right, wrong = (audit_scores(PairScores(*s), claim=PureDP(0.5), bound=bound) for s in ((low, high), (high, low)))
    assert [right.verdict.value, wrong.verdict.value] == ["violation"] * 2
    assert wrong.bound.epsilon == pytest.approx(right.bound.epsilon, rel=0.3)
    assert AuditResult.from_json(wrong.to_json()) == wrong


@pytest.mark.parametrize("bound", ["joint-exact", "clopper-pearson", "accountant-family"])
def test_bound_on_exchanged_sides_is_that_of_the_right_scores(bound):
    pilot, evaluation = gaussians(300, seed=1), gaussians(2_000, seed=2)
    statement = stated()
    right = build(bound).fix(statement, PairScores(*pilot), (2_000, 2_000))
    wrong = build(bound).fix(statement, PairScores(*pilot[::-1]), (2_000, 2_000))
    assert not isinstance(right, Exchanged)
    assert isinstance(wrong, Exchanged)
    assert wrong.thresholds == right.thresholds
    scores, exchanged = PairScores(*evaluation), PairScores(*evaluation[::-1])
    assert wrong.lower_bound(exchanged).epsilon == right.lower_bound(scores).epsilon > 0.0
    assert wrong.p_value(exchanged) == right.p_value(scores)
    assert wrong.exceeds_claim(exchanged) == right.exceeds_claim(scores)
    assert wrong.lower_bound(exchanged).hits == right.lower_bound(scores).hits[::-1]
    assert wrong.lower_bound(exchanged).ledger[0] == ENTRY
    thresholds = np.array([-np.inf, *sorted(wrong.thresholds)])
    hits = np.array([exchanged.hits(at) for at in thresholds]).T
    assert wrong.lower_bound(PairCounts(Tally(thresholds, *hits, 2_000, 2_000))) == wrong.lower_bound(exchanged)


def test_counts_and_scores_are_exchanged_alike():
    scores = PairScores(np.array([0.0, 1.0, 1.0]), np.array([2.0, 0.0]))
    for exchanged in (scores.exchanged(), PairCounts(scores.tally).exchanged()):
        assert (exchanged.n_out, exchanged.n_in, exchanged.hits(1.0)) == (2, 3, (1, 2))


@pytest.mark.parametrize("bound", [JointExact(), ClopperPearson()], ids=lambda bound: bound.name)
def test_level_is_exact_whatever_the_orientation(bound):
    """All outcomes of the evaluation, at rates on every edge of the claim; the pilot is fixed."""
    n, level, epsilon = 20, 0.2, 0.05
    low, high = np.zeros(12), np.ones(12)
    fixed = bound.fix(stated(PureDP(epsilon), confidence=1.0 - level), PairScores(high, low), (n, n))
    assert isinstance(fixed, Exchanged)
    refuted = np.array([[fixed.refutes(counted(k0, k1, n)) for k1 in range(n + 1)] for k0 in range(n + 1)])
    for rate in np.linspace(0.02, 1.0 / (1.0 + np.exp(-epsilon)), 20):
        less = rate * np.exp(-epsilon)
        for rates in ((rate, less), (less, rate), (1.0 - rate, 1.0 - less), (1.0 - less, 1.0 - rate)):
            law0, law1 = (stats.binom.pmf(np.arange(n + 1), n, each) for each in rates)
            assert law0 @ refuted @ law1 <= level
    assert refuted[n, 0]
    assert not refuted[0, n]


def test_level_with_a_random_pilot_is_exact():
    """Binary scores: all pilots and all evaluations, where nothing leaks and on the edge of the claim."""
    m, n, level, epsilon = 12, 10, 0.2, 0.3
    statement, decisions = stated(PureDP(epsilon), confidence=1.0 - level), {}
    for a, b in itertools.product(range(m + 1), repeat=2):
        pilot = PairScores(np.arange(m) < a, np.arange(m) < b)
        decisions[a, b] = ClopperPearson().fix(statement, pilot, (n, n)) if 0 < a + b < 2 * m else None
    tables = {}

    def table(fixed):
        if fixed is None:
            return np.zeros((n + 1, n + 1))
        if fixed not in tables:
            outcomes = itertools.product(range(n + 1), repeat=2)
            tables[fixed] = np.reshape([fixed.refutes(counted(k0, k1, n)) for k0, k1 in outcomes], (n + 1,) * 2)
        return tables[fixed]

    for rates in ((0.5, 0.5), (0.1, 0.1), (0.6, 0.6 * np.exp(-epsilon)), (0.6 * np.exp(-epsilon), 0.6)):
        pilot0, pilot1 = (stats.binom.pmf(np.arange(m + 1), m, rate) for rate in rates)
        law0, law1 = (stats.binom.pmf(np.arange(n + 1), n, rate) for rate in rates)
        total = sum(pilot0[a] * pilot1[b] * float(law0 @ table(fixed) @ law1) for (a, b), fixed in decisions.items())
        assert total <= level
    assert sum(isinstance(fixed, Exchanged) for fixed in decisions.values()) >= 10


def test_betting_on_reversed_scores_keeps_its_level():
    statement, games = stated(PureDP(0.0001), confidence=0.8), 60
    rng = np.random.default_rng(3)
    fixed = Betting().fix(statement, None, (64, 64))
    refuted = sum(fixed.exceeds_claim(PairScores(rng.random(64), rng.random(64))) for _ in range(games))
    assert refuted <= quantile(1.0 - FALSE_ALARM, games, 0.2)
    low, high = separated(64)
    assert fixed.lower_bound(PairScores(high, low)).epsilon > 1.5


def test_weak_differences_do_not_exchange_the_sides():
    exchanged = [reversed_on(PairScores(*gaussians(200, 0.0, seed)), 0.0) for seed in range(100)]
    assert np.mean(exchanged) < 0.05
    assert not any(reversed_on(PairScores(*gaussians(200, 0.3, seed)), 0.0) for seed in range(100))
    tally = PairScores(np.zeros(9), np.zeros(9)).tally
    assert not is_reversed(tally, np.arange(0), 0.0)


def test_sides_stay_where_the_right_direction_is_shown_better():
    """High scores are likelier on side 0, but low ones even more so: the event of side 0 is {score < 1}."""
    out, in_ = (np.repeat([0.0, 1.0, 2.0], counts) for counts in ([100, 60, 40], [1, 194, 5]))
    assert not reversed_on(PairScores(out, in_), 0.0)
    assert reversed_on(PairScores(-out, -in_), 0.0)


def test_stated_directions_are_left_as_they_are():
    low, high = separated(50)
    for bound in (JointExact(direction="in"), Betting(direction="in"), JointExact(threshold=0.5)):
        assert not isinstance(bound.fix(stated(), PairScores(high, low), (50, 50)), Exchanged)
        assert not bound.orients


@pytest.mark.parametrize(
    "bound", ["simultaneous-band", JointExact(threshold=1.0), ClopperPearson(threshold=1.0), JointExact(direction="in")]
)
@pytest.mark.usefixtures("without_power")
def test_reversed_scores_that_no_bound_reads_leave_no_verdict(bound):
    low, high = separated(200)
    with pytest.raises(
        ParameterError, match=r"Runs on side 1 have lower scores .* so there is no verdict. Give scores"
    ):
        audit_scores(PairScores(high, low), claim=PureDP(0.5), bound=bound)
    assert audit_scores(PairScores(low, high), claim=PureDP(0.5), bound=bound).verdict.value == "violation"


@pytest.mark.usefixtures("without_power")
def test_a_reversed_violation_is_described_by_its_event():
    low, high = separated(2_000)
    result = audit_scores(PairScores(high, low), claim=PureDP(0.5))
    counts = _content_of(result)["counts"]
    assert (counts["likelier_side"], counts["complement"]) in ((0, False), (1, True))
    assert counts["likelier"][0] > 0.9 * counts["likelier"][1]
    assert counts["other"][0] < 0.1 * counts["other"][1]
    assert any(entry.what == "orientation" for entry in result.ledger)
    sides = [entry.looked_at for entry in result.ledger if entry.what == "direction"]
    assert sides in (["1, {score >= threshold} on side 0"], ["1, {score < threshold} on side 1"])
