"""Bits that cannot be independent fair coins are refused; fair ones no more often than stated."""

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.membership.shadows import draw_inclusion
from dpassay.audit import audit_scores
from dpassay.audit.evidence.fair_coins import STATED_COINS_LEVEL, UNSTATED_COINS_LEVEL, _unfairness
from dpassay.audit.evidence.scores import BitScores, PairScores, Successes
from dpassay.audit.results.audit_result import AuditResult
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.core import ParameterError, number

RNG = np.random.default_rng(0)


def half(n_runs, n):
    """Return bits with exactly half of the canaries in each run."""
    return np.stack([RNG.permutation(n) < n // 2 for _ in range(n_runs)])


WRONG = {
    "900 of 1000": (np.arange(1_000)[None, :] < 900, "900 of 1,000 are 1"),
    "all": (np.ones((1, 40), dtype=bool), "40 of 40 are 1"),
    "none": (np.zeros((3, 20), dtype=bool), "0 of 60 are 1"),
    "one canary always in": (
        np.concatenate([np.ones((80, 1), bool), RNG.random((80, 30)) < 0.5], axis=1),
        "80 of 80 are 1 in canary 0",
    ),
    "a run with all": (
        np.concatenate([RNG.random((30, 80)) < 0.5, np.ones((1, 80), bool)]),
        "80 of 80 are 1 in run 30",
    ),
    "random halves": (half(12, 1_000), "exactly 500 of 1,000 are 1 in every run"),
    "half of the models": (half(64, 200).T, "exactly 100 of 200 are 1 in every canary"),
    "the same coins again": (np.tile(RNG.random((1, 200)) < 0.5, (5, 1)), "run 0 and run 1 .* have the same bits"),
    "pairs of complements": (draw_inclusion(2, 200, RNG), "run 0 and run 1 .* have opposite bits"),
    "one canary twice": (
        np.repeat(RNG.random((100, 40)) < 0.5, 2, axis=1),
        "canary 0 and canary 1 .* have the same bits",
    ),
    "one of two canaries": (
        np.repeat(RNG.random((100, 40)) < 0.5, 2, axis=1) ^ (np.arange(80) % 2 == 0),
        "exactly 40 of 80 are 1 in every run",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_bits_that_are_no_independent_fair_coins_are_refused_by_name(name):
    bits, clause = WRONG[name]
    with pytest.raises(ParameterError, match=f"bits must be independent fair coins.*but {clause}") as caught:
        audit_scores(BitScores(bits, RNG.normal(size=bits.shape)), claim=PureDP(1.0))
    assert caught.value.argument == "bits"


@pytest.mark.parametrize("shape", [(1, 5), (1, 100), (1, 3_000), (2, 40), (8, 8), (40, 12), (12, 40), (60, 1)])
def test_fair_coins_are_refused_no_more_often_than_stated(shape):
    """At 0.2; of one run, where a single binomial test is made, also no more rarely than its steps explain."""
    repeats, rng = 1_500, np.random.default_rng([1, *shape])
    refused = sum(_unfairness(rng.random(shape) < 0.5, level=0.2) is not None for _ in range(repeats))
    assert refused <= stats.binom.isf(1e-6, repeats, 0.2)
    if shape == (1, 3_000):
        assert refused >= stats.binom.ppf(1e-6, repeats, 0.18)
    assert _unfairness(rng.random(shape) < 0.5) is None


def test_designs_of_the_library_are_not_refused():
    """One model of pairs of complements, and models that are drawn record by record."""
    rng = np.random.default_rng(2)
    pairs = draw_inclusion(64, 600, rng)
    assert all(_unfairness(pairs[model][None]) is None for model in range(64))
    assert _unfairness(draw_inclusion(64, 600, rng, design="bernoulli")) is None
    assert _unfairness(pairs) is not None


@pytest.mark.parametrize(("ones", "n"), [(800, 1_800), (1_000, 1_800), (10, 60), (0, 11), (440, 1_000)])
def test_a_split_that_coins_seldom_give_needs_the_statement_that_they_did(ones, n):
    bits = np.random.default_rng(5).permutation(n)[None, :] < ones
    evidence = BitScores(bits, RNG.normal(size=bits.shape))
    assert stats.binomtest(ones, n).pvalue <= UNSTATED_COINS_LEVEL
    with pytest.raises(
        ParameterError, match=f"but {ones:,} of {n:,} are 1, which happens .* 0.001 or less. .*--tossed"
    ):
        audit_scores(evidence, claim=PureDP(1.0))
    assert audit_scores(evidence, claim=PureDP(1.0), tossed=True).verdict is not None


@pytest.mark.parametrize(("ones", "n"), [(830, 1_800), (0, 10), (18, 60), (452, 1_000)])
def test_splits_that_coins_give_need_no_statement(ones, n):
    bits = np.random.default_rng(5).permutation(n)[None, :] < ones
    assert stats.binomtest(ones, n).pvalue > UNSTATED_COINS_LEVEL
    assert audit_scores(BitScores(bits, RNG.normal(size=bits.shape)), claim=PureDP(1.0)).verdict is not None


def test_the_statement_does_not_excuse_bits_that_cannot_be_coins():
    bits = np.arange(1_000)[None, :] < 900
    with pytest.raises(ParameterError, match=r"but 900 of 1,000 are 1\. Toss a coin"):
        audit_scores(BitScores(bits, 1.0 * bits), claim=PureDP(1.0), tossed=True)


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (PairScores(RNG.normal(size=50), RNG.normal(size=50)), "Records of one model are no runs"),
        (BitScores(RNG.random((1, 50)) < 0.5, RNG.normal(size=(1, 50))), "a training and a test set"),
        (Successes(10, 100, 0.1), "a fresh secret from the known prior"),
    ],
)
def test_the_condition_stands_before_any_number(evidence, words):
    result = audit_scores(evidence, claim=PureDP(1.0))
    first, second, *_ = result.summary().splitlines()
    assert first.startswith("condition   The bound is valid only if")
    assert words in first
    assert second.startswith("verdict")
    assert AuditResult.from_json(result.to_json()).valid_if == result.valid_if


@pytest.mark.parametrize(("tossed", "level"), [(False, UNSTATED_COINS_LEVEL), (True, STATED_COINS_LEVEL)])
def test_the_coins_are_in_the_ledger_and_do_not_weaken_the_bound(tossed, level):
    bits = np.random.default_rng(3).random((1, 400)) < 0.5
    result = audit_scores(BitScores(bits, 1.0 * bits), claim=PureDP(1.0), bound="one-run", tossed=tossed)
    entry = next(entry for entry in result.ledger if entry.what == "coins")
    assert entry.looked_at.startswith(f"{bits.sum()} of 400 are 1")
    assert number(level) in entry.correction
    assert result.bound.confidence == 0.95


def test_scores_that_are_given_twice_are_refused():
    rng = np.random.default_rng(4)
    out, in_ = rng.normal(size=500), rng.normal(size=500) + 1
    with pytest.raises(ParameterError, match="in_ holds the same 500 scores as out"):
        audit_scores(PairScores(out, out.copy()), claim=PureDP(1.0))
    for pilot in (PairScores(out, in_), PairScores(out[:100], rng.normal(size=100))):
        with pytest.raises(ParameterError, match="pilot holds scores that are counted too, those of `out`"):
            audit_scores(PairScores(out, in_), claim=PureDP(1.0), pilot=pilot)
    for repeated in (PairScores(np.repeat(out, 3), in_), PairScores(out, np.concatenate([in_, in_]))):
        with pytest.raises(ParameterError, match=r"each of its 500 values occurs [23] times, or a multiple of it"):
            audit_scores(repeated, claim=PureDP(1.0))
    counts = PairScores(rng.poisson(900, 3_000), rng.poisson(900, 3_000))  # of more than 100 values, repeated by chance
    assert audit_scores(counts, claim=PureDP(1.0)).bound.epsilon < 1.0
    few = PairScores(np.arange(40) % 2, np.arange(40) % 2)  # of few values, which may be equal by chance
    assert audit_scores(few, claim=PureDP(1.0)).bound.epsilon == 0.0
