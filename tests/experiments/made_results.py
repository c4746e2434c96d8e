"""Audit results made by hand from simulated scores, for figures and reports: no mechanism and no engine is needed."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.special import betaincinv, log_ndtr, ndtr

from dpassay.audit.bounds.base import LedgerEntry, LowerBound
from dpassay.audit.bounds.curve import CurveViolation
from dpassay.audit.evidence.game import Game, Trials
from dpassay.audit.evidence.scores import PairScores
from dpassay.audit.evidence.verdict import Verdict, judge
from dpassay.audit.results.audit_result import AuditResult, ClaimCurve
from dpassay.experiments.present.results.sweep import SweepResult, corrected

LEDGER = (
    LedgerEntry("pair", "1, fixed beforehand", "no correction needed"),
    LedgerEntry("attack", "1, likelihood-ratio", "known output law, nothing learned"),
    LedgerEntry("threshold", "1 of 512", "chosen on pilot trials only"),
)


def laplace_scores(epsilon: float, n: int, rng: np.random.Generator) -> PairScores:
    """Log-likelihood ratios of Laplace noise on 0 and on 1: atoms at +-epsilon, a density between."""
    out, in_ = rng.laplace(0.0, 1.0 / epsilon, n), 1.0 + rng.laplace(0.0, 1.0 / epsilon, n)
    return PairScores(*(epsilon * np.clip(2.0 * x - 1.0, -1.0, 1.0) for x in (out, in_)))


def gaussian_scores(mu: float, n: int, rng: np.random.Generator) -> PairScores:
    return PairScores(rng.normal(0.0, 1.0, n), rng.normal(mu, 1.0, n))


def coin_scores(epsilon: float, n: int, rng: np.random.Generator) -> PairScores:
    """Randomized response: two scores, and nothing else."""
    truthful = 1.0 / (1.0 + math.exp(-epsilon))
    return PairScores(*(np.where(rng.random(n) < p, epsilon, -epsilon) for p in (1 - truthful, truthful)))


def fine_fpr() -> np.ndarray:
    small = np.geomspace(1e-6, 0.018, 25)
    return np.sort(np.concatenate([np.linspace(0.0, 1.0, 51), small, 1.0 - small]))


def pure_curve(epsilon: float, fpr: np.ndarray | None = None) -> ClaimCurve:
    fpr = fine_fpr() if fpr is None else fpr
    fnr = np.maximum(0.0, np.maximum(1 - math.exp(epsilon) * fpr, math.exp(-epsilon) * (1 - fpr)))
    grid = np.linspace(0.0, max(1.5 * epsilon, 0.5), 101)
    delta = np.maximum(0.0, (math.exp(epsilon) - np.exp(grid)) / (1 + math.exp(epsilon)))
    return ClaimCurve(*(tuple(map(float, v)) for v in (fpr, fnr, grid, delta)))


def gaussian_curve(mu: float) -> ClaimCurve:
    from scipy.special import ndtri

    fpr, grid = fine_fpr(), np.linspace(0.0, 6.0 * mu, 101)
    delta = ndtr(-grid / mu + mu / 2) - np.exp(grid + log_ndtr(-grid / mu - mu / 2))
    return ClaimCurve(*(tuple(map(float, v)) for v in (fpr, ndtr(ndtri(1 - fpr) - mu), grid, delta)))


def bound_at(scores: PairScores, threshold: float, *, delta: float, confidence: float) -> LowerBound:
    """Clopper-Pearson on the event {score >= threshold}."""
    fp, tp = scores.hits(threshold)
    share = (1 - confidence) / 2
    high = 1.0 if fp == scores.n_out else float(betaincinv(fp + 1, scores.n_out - fp, 1 - share))
    low = 0.0 if tp == 0 else float(betaincinv(tp, scores.n_in - tp + 1, share))
    epsilon = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    return LowerBound(
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        method="clopper-pearson",
        n_trials=2 * scores.n_in,
        ceiling=math.log(scores.n_in / -math.log(share)),
        ledger=LEDGER[2:],
        threshold=threshold,
        hits=(fp, tp),
    )


def result_of(
    scores: PairScores,
    claim: float,
    curve: ClaimCurve,
    *,
    threshold: float,
    delta: float = 0.0,
    exact_epsilon: float | None = None,
    **other: Any,
) -> AuditResult:
    """An audit whose evaluation gave `scores`."""
    bound = bound_at(scores, threshold, delta=delta, confidence=0.95)
    gap = (bound.epsilon - claim) * math.sqrt(scores.n_in) / 3
    fields: dict[str, Any] = {
        "mechanism": f"Laplace(epsilon={claim:g}, sensitivity=1)",
        "relation": "add_remove",
        "attack": "likelihood-ratio",
        "claim": claim,
        "claim_name": f"PureDP(epsilon={claim:g})",
        "exact_epsilon": exact_epsilon,
        "delta": delta,
        "confidence": 0.95,
        "bounds": (bound,),
        "p_value": float(min(1.0, max(1e-12, math.exp(-max(gap, 0.0) * 3)))) if gap > 0 else 1.0,
        "detectable": claim + 3 / math.sqrt(scores.n_in),
        "detectable_family": "PureDP for some epsilon",
        "game": Game.DISTINGUISHING,
        "trials": Trials(scores.n_in + 1000, 1000, scores.n_in),
        "seed": 20,
        "verdict": judge(bound=bound.epsilon, claim=claim, ceiling=bound.ceiling),
        "ledger": LEDGER,
        "tally": scores.thinned(400, keep=threshold),
        "claim_curve": curve,
        "events": {},
        "fingerprint": "5f2c" * 16,
    }
    return AuditResult(**(fields | other))


def laplace_result(
    epsilon: float = 1.0, *, claim: float | None = None, n: int = 20_000, seed: int = 0, **other: Any
) -> AuditResult:
    """Laplace noise of that true epsilon; `claim` defaults to the truth."""
    claim = epsilon if claim is None else claim
    scores = laplace_scores(epsilon, n, np.random.default_rng(seed))
    return result_of(scores, claim, pure_curve(claim), threshold=epsilon - 1e-9, exact_epsilon=epsilon, **other)


def gaussian_result(mu: float = 1.0, *, delta: float = 1e-2, n: int = 20_000, **other: Any) -> AuditResult:
    curve = gaussian_curve(mu)
    claim = float(np.interp(-delta, -np.array(curve.delta), curve.epsilon))
    scores = gaussian_scores(mu, n, np.random.default_rng(1))
    names = {"mechanism": f"Gaussian(noise_multiplier={1 / mu:g})", "claim_name": f"GaussianDP(mu={mu:g})"}
    return result_of(scores, claim, curve, threshold=mu / 2 + 1.0, delta=delta, exact_epsilon=claim, **(names | other))


def coin_result(epsilon: float = math.log(3), *, n: int = 20_000, **other: Any) -> AuditResult:
    scores = coin_scores(epsilon, n, np.random.default_rng(2))
    names = {"mechanism": "RandomizedResponse(epsilon=1.09861)"}
    return result_of(scores, epsilon, pure_curve(epsilon), threshold=epsilon, exact_epsilon=epsilon, **(names | other))


def elsewhere_result(claim: float = 1.0) -> AuditResult:
    """Refuted, but not at the delta that was asked: the bound stays below the claim."""
    low = dataclasses.replace(laplace_result().bound, epsilon=0.5 * claim)
    where = CurveViolation(0.3, 0.1, 0.2, 0.1, 0.3, 0.4, 0.0, (10, 90), "joint-exact")
    return dataclasses.replace(
        laplace_result(claim, claim=claim),
        bounds=(low,),
        verdict=Verdict.VIOLATION,
        curve_violation=where,
        p_value=1e-9,
        exact_epsilon=4.0 * claim,
    )


def sweep_of(parameters: list[dict[str, Any]], results: list[AuditResult], **other: Any) -> SweepResult:
    """A sweep over these audits."""
    points, verdict, entry = corrected(parameters, results, confidence=0.95)
    fields: dict[str, Any] = {
        "name": "laplace-count",
        "title": "Laplace noise on a count: how tight is the claim?",
        "description": "A count is released with Laplace noise. Theory says that the claim is exact; the audit shows "
        "how much of it an attacker can really see.",
        "fingerprint": "ab12" * 16,
        "seed": 20,
        "confidence": 0.95,
        "points": points,
        "verdict": verdict,
        "ledger": (entry,),
    }
    return SweepResult(**(fields | other))


def laplace_sweep(epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 4.0), **other: Any) -> SweepResult:
    results = [laplace_result(e, seed=i) for i, e in enumerate(epsilons)]
    return sweep_of([{"mechanism.epsilon": e} for e in epsilons], results, **other)


def broken_sweep() -> SweepResult:
    """Claims of 1 and 2 that are false, one of 4 that holds."""
    results = [laplace_result(e, claim=c) for e, c in ((1.5, 1.0), (3.0, 2.0), (4.0, 4.0))]
    return sweep_of(
        [{"mechanism.epsilon": c} for c in (1.0, 2.0, 4.0)], results, title="Laplace, sensitivity forgotten"
    )


__all__ = [
    "Verdict",
    "broken_sweep",
    "coin_result",
    "elsewhere_result",
    "gaussian_result",
    "laplace_result",
    "laplace_sweep",
    "pure_curve",
    "sweep_of",
]
