"""The parts of the claim of an audit on a pair, for mechanisms whose white-box curve is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...attacks.distinguishing.likelihood_ratio import LikelihoodRatio
from ...mechanisms.accounting import GaussianDP
from ...mechanisms.core import Guarantee, KnownViews
from ..evidence.scores import Scores
from ..results.audit_result import AuditResult
from ..results.breakdown import EpsilonBreakdown, break_down
from ..results.estimates.base import Estimate
from ..results.estimates.gaussian_fit import gaussian_fit
from ..results.explanations import Explanations
from .setup import AuditSetup

ACCOUNTANT_PRECISION = 1e-3
"""Relative excess of a known epsilon over the claim that is only the precision of the grid of an accountant."""
_RESAMPLES_KEY = 0xB0D
"""Key of the random stream of the resamples, in addition to the seed of the audit."""


def with_breakdown(result: AuditResult, setup: AuditSetup, scores: Scores) -> AuditResult:
    """Return the result with its `breakdown`, where the mechanism is one of `KnownViews`.

    A refuted claim, a claim below a known epsilon, dependent trials and an infinite claim have no parts.
    """
    if not isinstance(setup.mechanism, KnownViews) or result.witness or result.dependence:
        return result
    if not math.isfinite(result.claim) or not 0.0 < result.delta < 1.0 or result.refuted_by:
        return result
    explained = Explanations()
    parts = explained.step("the parts of the claim", lambda: _breakdown(result, setup, scores), None)
    return replace(result, breakdown=parts, warnings=(*result.warnings, *explained.warnings))


def _breakdown(result: AuditResult, setup: AuditSetup, scores: Scores) -> EpsilonBreakdown | None:
    mechanism = setup.mechanism
    assert isinstance(mechanism, KnownViews)
    worst = mechanism.white_box_guarantee()
    if worst is None:
        return None
    view = mechanism.view_guarantee(setup.neighbours)
    white_box, view_epsilon = (None if known is None else float(known.epsilon(result.delta)) for known in (worst, view))
    if (
        max(known for known in (white_box, view_epsilon, 0.0) if known is not None)
        > (1.0 + ACCOUNTANT_PRECISION) * result.claim
    ):
        return None
    optimal = isinstance(setup.attack, LikelihoodRatio) and view_epsilon is not None
    attack = view_epsilon if optimal else _estimate(result, worst, scores)
    return break_down(result.claim, white_box=white_box, view=view_epsilon, attack=attack, bound=result.bound.epsilon)


def _estimate(result: AuditResult, worst: Guarantee, scores: Scores) -> Estimate | None:
    """Return the estimated epsilon of the attack; None if the worst case has no Gaussian curve."""
    if not isinstance(worst, GaussianDP):
        return None
    rng = np.random.default_rng([_RESAMPLES_KEY, result.seed])
    return gaussian_fit(scores, rng=rng, delta=result.delta)
