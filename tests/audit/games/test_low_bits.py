"""Results without the low bits of floats, reported with the main result at a share of the significance."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.base import Attack
from dpassay.attacks.distinguishing import Classifier, Portfolio
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.audit_result import AuditResult
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.local import KAryRandomizedResponse

PAIR = Neighbours(np.ones(1), np.ones(2), "add_remove")
PORTFOLIO = Portfolio(classifier=Classifier(model="logistic"), bits_from=1)


def right(dataset, size, rng):
    return len(dataset) + rng.laplace(size=size)


def half_the_noise(dataset, size, rng):
    return len(dataset) + 0.5 * rng.laplace(size=size)


def audited(function, **options):
    options = {"claim": PureDP(1.0), "attack": PORTFOLIO, "trials": 20_000, "seed": 0} | options
    return audit(function, PAIR, **options)


def test_correct_function_is_refuted_by_low_bits_only():
    result = audited(right)
    assert result.verdict is Verdict.VIOLATION
    assert "2^-" in result.deciding.rule
    assert 0.8 < result.without_low_bits.bound.epsilon <= 1.0
    assert not result.without_low_bits.refutes(result.claim)
    assert "only the low bits refute the claim" in result.summary()
    assert "only the low bits refute the claim" in result.summary(details=False)


def test_a_wrong_function_is_refuted_without_low_bits_too():
    result = audited(half_the_noise)
    assert "2^-" in result.deciding.rule
    assert 1.7 < result.without_low_bits.bound.epsilon <= 2.0
    assert "2^-" not in result.without_low_bits.rule
    assert "the claim is refuted without the low bits too" in result.summary()
    assert AuditResult.from_json(result.to_json()) == result


def test_low_bits_that_are_not_read_are_not_reported():
    result = audited(lambda dataset, size, rng: np.round(right(dataset, size, rng), 1))
    assert result.without_low_bits is None
    assert "low bits" not in result.summary()


def test_counts_on_a_grid_show_the_same_as_scores(monkeypatch):
    kept = audited(half_the_noise)
    monkeypatch.setattr("dpassay.audit.trials.plan.MAX_KEPT_SCORES", 5_000)
    counted = audited(half_the_noise)
    assert counted.without_low_bits.bound.hits == kept.without_low_bits.bound.hits


# --- two scores that are both tight at the claim, at significance 0.2 -------------------------------------------------


@dataclass(frozen=True)
class Reaches:
    """A scorer that gives 1 for categories from a number on, and a second one without the low bits of floats."""

    category: int
    without_low_bits: "Reaches | None" = None

    def score(self, outputs):
        return (outputs.values >= self.category).astype(float)


@dataclass(frozen=True)
class TwoScores(Attack):
    """An attack on three categories, of which the last is e times as likely on side 1, and the first on side 0."""

    def fit(self, target, pilot0, pilot1, rng):
        return Reaches(2, without_low_bits=Reaches(1))


MECHANISM = KAryRandomizedResponse(epsilon=1.0, k=3)
ENDS = Neighbours(0, 2, "replace_one")
OPTIONS = {"attack": TwoScores(), "trials": 400, "confidence": 0.8}


def test_both_scores_refute_a_true_claim_no_more_often_than_one_may(without_power):
    repeats = 300
    results = [audit(MECHANISM, ENDS, seed=seed, **OPTIONS) for seed in range(repeats)]
    refuted = sum(result.verdict is Verdict.VIOLATION for result in results)
    assert 0.1 * repeats < refuted <= stats.binom(repeats, 0.2).isf(1e-6)
    assert refuted - 0.02 * repeats <= sum(result.p_value <= 0.2 for result in results) <= refuted


def test_each_score_has_half_of_the_significance(without_power):
    result = audit(MECHANISM, ENDS, seed=0, **OPTIONS)
    shares = [1 - bound.confidence for bound in (result.bound, result.without_low_bits.bound)]
    assert shares == pytest.approx([0.1, 0.1])
    assert [entry.correction for entry in result.ledger if entry.what == "low bits"] == [
        "half of the significance each"
    ]
