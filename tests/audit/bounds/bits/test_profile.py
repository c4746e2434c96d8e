"""The whole claimed curve against right guesses: exact levels, power, and no loss for the bound."""

from bisect import bisect_left

import numpy as np
import pytest
from scipy import special, stats
from tests.audit.one_run_laws import worst_probability

from dpassay.audit import AuditResult, audit_scores
from dpassay.audit.bounds.bits.one_run import OneRun, _guess_p_value
from dpassay.audit.evidence.scores import BitScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP


def guessed(n_bits, *groups):
    """Return all bits; each group (number of guesses, right guesses) has more extreme scores than the next group."""
    bits = np.arange(n_bits) % 2 == 0
    right, sure, start = np.ones(n_bits, dtype=bool), np.full(n_bits, 0.1), 0
    for place, (size, n_correct) in enumerate(groups):
        right[start + n_correct : start + size] = False
        sure[start : start + size] = 10.0 - place
        start += size
    return BitScores(bits[None], (np.where(bits == right, 1.0, -1.0) * sure)[None])


def fixed(claim, sizes, n_bits, *, delta, confidence):
    return OneRun(guesses=sizes, center=0.0).fix(Statement(claim, delta, confidence), None, (n_bits,))


def rejects(bound, evidence):
    """Return True if the curve test reports a violation, or the bound exceeds the claim."""
    return bound.curve_test(evidence) is not None or bound.exceeds_claim(evidence)


# --- level ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "r", "v", "mu"), [(30, 30, 22, 0.5), (60, 15, 13, 1.0), (100, 30, 27, 1.0)])
def test_p_value_covers_every_mechanism_with_the_curve(m, r, v, mu):
    """All mechanisms with the claimed curve, by linear programming; the p-value of one point is far above that."""
    claim, epsilons = GaussianDP(mu), np.linspace(0.0, 6.0 * mu, 40)
    bound = fixed(claim, (r,), m, delta=1e-5, confidence=0.95)
    p_value = bound.p_value(guessed(m, (r, v)))
    assert worst_probability(claim.delta(epsilons), m, r, v, epsilons) <= p_value
    assert p_value < 0.75 * _guess_p_value(m, r, v, epsilon=claim.epsilon(1e-5), delta=1e-5)


@pytest.mark.parametrize("asked_at", [1e-3, 1e-2])
def test_worst_mechanism_at_the_edge_of_the_claim_keeps_the_level(asked_at):
    """`one_run_laws.worst_case`, count by count: (1, 0.001)-DP in each bit, and as often right as (1) allows."""
    m, r, epsilon, delta, level = 400, 20, 1.0, 1e-3, 0.2
    bound = fixed(ApproximateDP(epsilon, delta), (r,), m, delta=asked_at, confidence=1 - level)
    refuted = np.array([rejects(bound, guessed(m, (r, n_correct))) for n_correct in range(r + 1)])
    v, rate = int(np.argmax(refuted)), special.expit(epsilon)
    assert refuted[v:].all()
    law, tail = stats.binom.pmf(np.arange(r + 1), r, rate), stats.binom.sf(v - 1, r, rate)
    often = m * delta * tail / (v * law[v])
    law = (1.0 - often) * law + often * np.where(np.arange(r + 1) >= v, law / tail, 0.0)
    assert law.sum() == pytest.approx(1.0)
    assert 0.4 * level < law[refuted].sum() <= level


def test_several_numbers_of_guesses_share_the_level():
    """Randomised response at the edge of its claim, exactly: right guesses of the surer bits, and of the others."""
    epsilon, first, others, level = 1.0, 24, 200, 0.2
    bound = fixed(PureDP(epsilon), (first, first + others), first + others, delta=0.0, confidence=1 - level)

    def refutes(right_first, right_others):
        return rejects(bound, guessed(first + others, (first, right_first), (others, right_others)))

    least_first = bisect_left(range(first + 1), True, key=lambda v: refutes(v, 0))
    least_of_both = bisect_left(range(others + 1), True, key=lambda v: refutes(0, v))
    rate, counts = special.expit(epsilon), np.arange(first + 1)
    rest = np.where(counts >= least_first, 1.0, stats.binom.sf(least_of_both - counts - 1, others, rate))
    assert 0.5 * level < np.sum(stats.binom.pmf(counts, first, rate) * rest) <= level


# --- what it gains, and what it costs ---------------------------------------------------------------------------------


def test_claim_is_refuted_at_another_delta_with_the_bound_below_it(without_power):
    claim, evidence = GaussianDP(0.5), guessed(1000, (500, 440))
    result = audit_scores(evidence, claim=claim, delta=1e-5, bound=OneRun(guesses=500, center=0.0))
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon < result.claim
    violation = result.refuted_elsewhere
    assert violation.delta_lower > violation.delta >= claim.delta(violation.epsilon)
    assert result.p_value <= 0.05
    assert str(violation) in result.summary()
    assert str(violation) in result.summary(details=False)
    assert AuditResult.from_json(result.to_json()) == result
    figure = result.plot()
    assert figure.axes
    within = audit_scores(evidence, claim=GaussianDP(1.0), delta=1e-5, bound=OneRun(guesses=500, center=0.0))
    assert within.verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("claim", [GaussianDP(0.5), ApproximateDP(0.5, 1e-4), PureDP(0.5)])
@pytest.mark.parametrize("n_correct", [60, 66, 70, 74, 80, 100])
def test_p_value_is_where_the_bound_or_the_curve_test_refutes(claim, n_correct):
    evidence, sizes = guessed(200, (100, n_correct)), (50, 100)
    delta = 0.0 if isinstance(claim, PureDP) else 1e-3
    p = fixed(claim, sizes, 200, delta=delta, confidence=0.95).p_value(evidence)
    if p < 0.999:
        assert rejects(fixed(claim, sizes, 200, delta=delta, confidence=1 - p * 1.001), evidence)
    if p > 1e-11:  # smaller p-values are not distinguished
        assert not rejects(fixed(claim, sizes, 200, delta=delta, confidence=1 - min(0.999, p * 0.999)), evidence)


def test_curve_test_changes_neither_the_bound_nor_the_test_of_one_point():
    evidence = guessed(200, (100, 85))
    for claim in (GaussianDP(0.5), ApproximateDP(1.0, 1e-3)):
        bound = fixed(claim, (100,), 200, delta=1e-3, confidence=0.95).lower_bound(evidence)
        assert _guess_p_value(200, 100, 85, epsilon=bound.epsilon, delta=1e-3) == pytest.approx(0.05, rel=1e-6)
    point = _guess_p_value(200, 100, 85, epsilon=1.0, delta=1e-3)
    claim = ApproximateDP(1.0, 1e-3)
    assert fixed(claim, (100,), 200, delta=1e-3, confidence=0.95).p_value(evidence) == pytest.approx(point, rel=1e-6)
