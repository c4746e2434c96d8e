"""What an audit that could not have refuted its claim says to change: it suffices, and a bit less does not."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dpassay.audit import Successes, audit, audit_scores
from dpassay.audit.bounds.bits.guessing import n_shares
from dpassay.audit.bounds.catalogue import choose_bounds
from dpassay.audit.evidence.scores import BitScores, PairScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.power.remedies import Remedy
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP


def perfect(kind, n, prior=0.5, relation="add_remove"):
    """Evidence of an attack that never errs."""
    if kind is PairScores:
        return PairScores(np.zeros(n), np.ones(n)), {"pilot": PairScores(np.zeros(60), np.ones(60))}
    if kind is Successes:
        return Successes(n, n, prior), {}
    bits = np.arange(n)[None, :] % 2 == 0
    return BitScores(bits, 1.0 * bits, relation), {}


def able(kind, n, claim, *, delta, confidence, prior=0.5):
    """By brute force: whether the bounds on the scores of a perfect attack refute the claim."""
    evidence, options = perfect(kind, n, prior)
    bounds = choose_bounds("auto", reads=kind, claim=claim)
    stated = Statement(claim, delta, confidence).shared(n_shares(bounds))
    fixed = [bound.fix(stated, options.get("pilot"), evidence.sizes) for bound in bounds]
    exceeded = [one.lower_bound(evidence).epsilon > stated.epsilon for one in fixed]
    return any(exceeded) or any(one.curve_test(evidence) is not None for one in fixed)


CASES = [
    (BitScores, 1_000, ApproximateDP(8.0, 1e-5), 1 - 1e-6, {"trials confidence", "trials delta"}),
    (BitScores, 40_000, ApproximateDP(8.0, 1e-5), 1 - 1e-6, {"confidence", "trials delta"}),
    (BitScores, 100_000, ApproximateDP(8.0, 1e-5), 1 - 1e-6, {"confidence", "delta"}),
    (BitScores, 1_000, ApproximateDP(8.0, 1e-5), 0.95, {"trials"}),
    (BitScores, 100, PureDP(3.0), 1 - 1e-6, {"trials", "confidence"}),
    (BitScores, 60, GaussianDP(2.0), 0.99, {"trials"}),
    (PairScores, 20, PureDP(3.0), 1 - 1e-6, {"trials", "confidence"}),
    (PairScores, 1_000, ApproximateDP(8.0, 0.01), 1 - 1e-6, {"trials"}),
    (PairScores, 60, PureDP(2.5), 1 - 1e-6, {"trials", "confidence"}),
    (Successes, 5, PureDP(3.0), 0.99, {"trials", "prior_success"}),
    (Successes, 5, ApproximateDP(1.0, 0.1), 0.99, {"trials", "prior_success"}),
    (Successes, 5, PureDP(0.5), 0.95, {"trials", "confidence", "prior_success"}),
    (Successes, 5, PureDP(25.0), 0.99, {"prior_success"}),
]


@cache
def judged(kind, n, claim, confidence):
    """Return the result on the scores of a perfect attack."""
    evidence, options = perfect(kind, n)
    delta = 1e-5 if claim.default_delta is None else claim.default_delta
    return audit_scores(evidence, claim=claim, delta=delta, confidence=confidence, **options)


@pytest.mark.parametrize(("kind", "n", "claim", "confidence", "expected"), CASES)
def test_every_remedy_suffices_and_a_smaller_change_does_not(kind, n, claim, confidence, expected):
    result = judged(kind, n, claim, confidence)
    delta = result.delta
    assert (result.verdict, result.detectable) == (Verdict.UNDERPOWERED, math.inf)
    ways = {" ".join(name for name, to in vars(way).items() if to is not None): way for way in result.remedies}
    assert ways.keys() == expected
    for way in ways.values():
        stated = {"delta": way.delta or delta, "confidence": way.confidence or confidence}
        stated |= {"prior": way.prior_success or 0.5, "n": way.trials or n}
        less = []
        if way.trials is not None:  # beyond 1,000 trials, the least one is found to 1 in 200
            less.append({"n": way.trials - 1 if way.trials <= 1_000 else math.floor(way.trials * 0.99)})
        elif way.confidence is not None:
            less.append({"confidence": 1.0 - (1.0 - way.confidence) * 0.9})
        elif way.delta is not None:
            less.append({"delta": way.delta * 1.1})
        else:
            less.append({"prior": way.prior_success * 1.1})

        def follow(change, stated=stated):
            changed = stated | change
            n, tested = changed.pop("n"), claim
            if isinstance(claim, ApproximateDP):
                tested = ApproximateDP(claim.nominal_epsilon, changed["delta"])
            return able(kind, n, tested, **changed)

        assert follow({}), way
        assert not any(follow(change) for change in less), way


def test_more_canaries_are_not_advised_where_no_number_of_them_helps():
    """At 1 - 1e-6 and delta 1e-5 the ceiling is 0 for any number of canaries."""
    for n in (1_000, 100_000):
        result = judged(BitScores, n, ApproximateDP(8.0, 1e-5), 1 - 1e-6)
        assert (result.ceiling, result.verdict) == (0.0, Verdict.UNDERPOWERED)
        assert all(way != Remedy(trials=way.trials) for way in result.remedies)
        said = " ".join(result.summary().split())
        ways = ("canaries in all, and a confidence of 99.9 % or less", "a confidence of 99.977 % or less")
        assert "next step Such an audit could contradict the claim with" in said
        assert ways[n > 1_000] in said


def test_an_audit_that_nothing_makes_able_says_so():
    result = audit_scores(perfect(PairScores, 40)[0], claim=PureDP(30.0))
    assert result.remedies == ()
    assert "No feasible number of runs, confidence or delta" in result.summary()


def test_advised_trials_include_the_pilot_and_the_correction():
    few = audit(Laplace(4.0), trials=60, seed=0, n_hypotheses=40)
    assert (few.verdict, few.detectable) == (Verdict.CONSISTENT, math.inf)  # alone it could have, of forty it cannot
    way = few.remedies[0]
    counted = few.game.describe_needed(way.trials, few.trials)
    trials = int(counted.partition("(")[2].split()[0].replace(",", ""))
    assert f"{way.trials:,} counted runs on each side" in few.summary()
    enough = audit(Laplace(4.0), trials=trials, seed=0, n_hypotheses=40)
    assert enough.trials.evaluation >= way.trials
    assert enough.remedies == ()
    assert audit(Laplace(4.0), trials=30, seed=0, n_hypotheses=40).remedies != ()


def test_an_audit_that_could_have_refuted_its_claim_has_nothing_to_change():
    result = audit(Laplace(1.0), trials=2_000, seed=0)
    assert result.remedies == ()
    assert "remedy" not in result.summary()
    assert replace(result, remedies=(Remedy(trials=3, confidence=0.9),)).to_json() != result.to_json()
