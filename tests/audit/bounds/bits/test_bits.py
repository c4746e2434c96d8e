"""Conformance tests of all bounds of bits in the catalogue. A new bound is tested through its catalogue line.

Those of pairs: test_certificate.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.audit import calls
from tests.audit.one_run_laws import bit_misses, check_p_value, gaussian, random_game, response

from dpassay.audit import audit_scores
from dpassay.audit.bounds.bits.guessing import n_shares
from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
from dpassay.audit.bounds.catalogue import AUTO, build, catalogue, choose_bounds
from dpassay.audit.bounds.families import family_of
from dpassay.audit.evidence.scores import BitScores
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, LaplaceDP

GAUSSIAN = family_of(GaussianDP(1.0))

every = pytest.mark.parametrize("name", [name for name in catalogue if catalogue.get(name).reads is BitScores])


@every
@pytest.mark.usefixtures("without_refusals")
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_bound_never_exceeds_exact_epsilon_more_often_than_it_may(name, epsilon):
    coverage = bit_misses(build(name), response(epsilon), shape=(1, 60), repeats=1000, confidence=0.8)
    assert coverage.holds, coverage


@every
def test_perfect_attack_reaches_the_ceiling_and_a_random_one_gives_0(name):
    bits = np.arange(400)[None, :] % 2 == 1
    perfect = calls.lower_bound(build(name), BitScores(bits, np.where(bits, 1.0, -1.0)), delta=0.0, confidence=0.95)
    assert perfect.epsilon == pytest.approx(perfect.ceiling, rel=1e-6)
    assert perfect.epsilon > 3.0
    blind = BitScores(bits, np.zeros(bits.shape))
    assert calls.lower_bound(build(name), blind, delta=0.0, confidence=0.95).epsilon == 0.0


BOUNDS = [
    OneRun(),
    OneRun(guesses=50),
    OneRun(guesses=(0.1, 0.5), negatives=0.0),
    OneRun(delta_term="published"),
    OneRun(negatives=0.5),
    OneRunFDP(curve_family=GAUSSIAN),
    OneRunFDP(curve_family=GAUSSIAN, guesses=(0.1, 0.5), negatives=0.0),
    OneRunFDP(curve_family=family_of(LaplaceDP(1.0)), guesses=50),
]
options = pytest.mark.parametrize("bound", BOUNDS, ids=lambda b: f"{b.name}-{BOUNDS.index(b)}")


@options
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), exponent=st.floats(0.31, 12), step=st.floats(1.0, 4.0))
def test_bound_falls_with_confidence_and_delta_but_not_below_zero(bound, seed, exponent, step):
    scores, alpha = random_game(seed), 10**-exponent
    lower_bound = calls.lower_bound(bound, scores, delta=1e-5, confidence=1 - alpha)
    at_higher_confidence = calls.lower_bound(bound, scores, delta=1e-5, confidence=1 - alpha / step)
    assert 0.0 <= at_higher_confidence.epsilon <= lower_bound.epsilon + 1e-6
    at_larger_delta = calls.lower_bound(bound, scores, delta=1e-5 * step, confidence=1 - alpha)
    assert at_larger_delta.epsilon <= lower_bound.epsilon + 1e-9
    assert lower_bound.epsilon <= lower_bound.ceiling + 1e-6


@options
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_bound_depends_only_on_the_order_of_the_scores(bound, seed):
    scores = random_game(seed, n_runs=2)
    epsilon = calls.lower_bound(bound, scores, delta=1e-6, confidence=0.9).epsilon
    order = np.random.default_rng(seed).permutation(scores.n_bits)
    for other in (
        BitScores(scores.bits, np.arctan(3 * scores.scores) - 7),
        BitScores(scores.bits.ravel()[order][None, :], scores.scores.ravel()[order][None, :]),
        BitScores(scores.bits.reshape(8, -1), scores.scores.reshape(8, -1)),  # several runs are one run
    ):
        assert calls.lower_bound(bound, other, delta=1e-6, confidence=0.9).epsilon == epsilon
    if bound.negatives is None and bound.guesses == "grid":
        return  # the shares of in only and out only differ
    swapped = replace(bound, negatives=1 - (0.5 if bound.negatives is None else bound.negatives))
    mirrored = BitScores(~scores.bits, -scores.scores)
    assert calls.lower_bound(swapped, mirrored, delta=1e-6, confidence=0.9).epsilon == epsilon


@options
def test_p_value_is_where_the_bound_passes_epsilon(bound):
    for epsilon in (0.4, 1.3) if isinstance(bound, OneRunFDP) else (0.0, 0.4, 1.3):  # 0 is not in the family
        check_p_value(bound, epsilon)


# --- the default bounds together, at a claim that holds exactly ------------------------------------------------------

TIGHT = {
    "everywhere": response(1.0).channel,
    "in 5 %": lambda bits, rng: response(1.0).channel(bits, rng) * (np.arange(bits.shape[-1]) % 20 == 0),
    # a score of 1 with probability 0.1 if in, and 0.1 / e if out: a guess "in" is right as often as the claim allows
    "guesses in": lambda bits, rng: 1.0 * (rng.random(bits.shape) < 0.1 * np.exp(-1.0 * ~bits)),
    "guesses out": lambda bits, rng: -1.0 * (rng.random(bits.shape) < 0.1 * np.exp(-1.0 * bits)),
}


def refutations(claim, channel, significance, repeats, shares=lambda each: each.share):
    """Number of games in which one of the default bounds refutes the claim."""
    statement, n_bits = Statement(claim, 1e-5, 1.0 - significance), 1000
    bounds = choose_bounds("auto", reads=BitScores, claim=claim)
    fixed = [bound.fix(statement.shared(n_shares(bounds)), None, (n_bits,)) for bound in bounds]
    fixed = [replace(one, division=tuple(replace(each, share=shares(each)) for each in one.division)) for one in fixed]
    rng, refuted = np.random.default_rng(11), 0
    for _ in range(repeats):
        bits = rng.random((1, n_bits)) < 0.5
        scores = BitScores(bits, channel(bits, rng))
        refuted += any(one.refutes(scores) for one in fixed)
    return refuted


@pytest.mark.parametrize("significance", [0.2, 0.05, 1e-6])
@pytest.mark.parametrize("law", TIGHT)
def test_default_bounds_refute_an_exact_claim_no_more_often_than_they_may(law, significance):
    refuted = refutations(ApproximateDP(1.0, 1e-5), TIGHT[law], significance, 2000)
    assert refuted <= stats.binom.isf(1e-6, 2000, significance)
    assert refuted > 0 or significance == 1e-6


def test_gaussian_scores_refute_an_exact_claim_no_more_often_than_they_may():
    assert refutations(GaussianDP(0.5), gaussian(0.5).channel, 0.2, 400) <= stats.binom.isf(1e-6, 400, 0.2)


def test_sets_of_guesses_at_the_whole_significance_refute_an_exact_claim_too_often():
    refuted = refutations(ApproximateDP(1.0, 1e-5), TIGHT["everywhere"], 0.2, 2000, shares=lambda each: 1.0)
    assert refuted > stats.binom.isf(1e-6, 2000, 0.2)


@pytest.mark.parametrize("claim", [ApproximateDP(1.0, 1e-5), GaussianDP(0.4)], ids=str)
def test_critical_counts_are_where_the_bound_or_the_curve_test_refutes(claim):
    fixed = OneRun(guesses=(20, 60)).fix(Statement(claim, 1e-5), None, (200,))
    refuted = set()
    for seed in range(60):
        scores = random_game(seed, mu=0.15 * seed)
        refuted.add(fixed.refutes(scores))
        assert fixed.refutes(scores) == (fixed.exceeds_claim(scores) or fixed.curve_test(scores) is not None)
    assert refuted == {False, True}


def test_bounds_that_count_the_same_guesses_share_no_significance():
    claim, scores = GaussianDP(1.0), random_game(3, m=400)
    both = audit_scores(scores, claim=claim, delta=1e-5, tossed=True)
    alone = [audit_scores(scores, claim=claim, delta=1e-5, tossed=True, bound=name) for name in AUTO[BitScores]]
    assert [bound.epsilon for bound in both.bounds] == [result.bound.epsilon for result in alone]
    assert both.p_value == min(result.p_value for result in alone)
    (entry,) = (entry for entry in both.ledger if entry.what == "bounds")
    assert entry.correction == "bounds that count the same guesses need no correction over each other"
    other = [OneRunFDP(), OneRun(negatives=0.0)]
    apart = audit_scores(scores, claim=claim, delta=1e-5, tossed=True, bound=other)
    (entry,) = (entry for entry in apart.ledger if entry.what == "bounds")
    assert entry.correction == "Bonferroni over 2"
    assert apart.bounds[0].epsilon < both.bounds[0].epsilon


def test_sizes_in_a_list_become_a_tuple():
    assert build("one-run", guesses=[0.1, 0.5]) == OneRun(guesses=(0.1, 0.5))
    assert build("one-run-fdp", guesses=[0.1, 50]) == OneRunFDP(guesses=(0.1, 50))
