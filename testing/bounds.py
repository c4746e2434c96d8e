"""What every bound on pair or bit scores keeps: measured coverage, nested levels, and a number where nothing leaks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..audit.bounds.base import Bound, FixedBound, LowerBound
from ..audit.calibration.certificate import CertificatePlan, CertificateSetting, certify
from ..audit.calibration.laws import Law, all_equal, gaussian, geometric, laplace, laplace_ratio, randomized_response
from ..audit.calibration.methods import BitMethod, BoundMethod
from ..audit.evidence.scores import BitScores, PairCounts, PairScores, Tally
from ..audit.evidence.statement import Statement
from ..mechanisms.accounting import GaussianDP
from ..mechanisms.core import ParameterError, number, percent
from .conformance import Check, require, run_checks

TESTED_LAWS: tuple[tuple[Law, tuple[float, ...]], ...] = (
    (randomized_response(1.0), (0.0,)),
    (randomized_response(1.0, 0.1), (0.1,)),
    (geometric(0.7), (0.0, 0.05)),
    (laplace(1.0), (0.0,)),
    (laplace_ratio(1.0), (0.0,)),
    (gaussian(1.0), (1e-5,)),
    (all_equal(), (0.0,)),
)
"""Laws of scores with a known exact curve, and the deltas at which a bound is tested on them."""


@dataclass(frozen=True, eq=False)
class BoundCase:
    """A bound, and the size of the measurement of its coverage.

    Args:
        bound: any instance that reads `PairScores` or `BitScores`.
        audits: audits of each law and delta.
        n: scores on each side, pilot included.
        laws: laws and deltas on which the assumptions of the bound hold.
    """

    bound: Bound[Any]
    audits: int = 250
    n: int = 400
    laws: tuple[tuple[Law, tuple[float, ...]], ...] = TESTED_LAWS

    def fixed(self, confidence: float) -> tuple[FixedBound[Any], BitScores | PairScores]:
        """Return the bound, fixed for a claim of GaussianDP(1), and 1,000 scores of that law."""
        rng = np.random.default_rng(5)
        bits = rng.random(2 * self.n) < 0.5
        scores = rng.normal(size=2 * self.n) + bits
        statement = Statement(GaussianDP(1.0), delta=1e-5, confidence=confidence)
        if self.bound.reads is BitScores:
            return self.bound.fix(statement, None, (len(bits),)), BitScores(bits, scores)
        evidence = PairScores(scores[~bits], scores[bits])
        pilot = PairScores(rng.normal(size=self.n), rng.normal(size=self.n) + 1.0)
        return self.bound.fix(statement, pilot, (evidence.n_out, evidence.n_in)), evidence


def coverage_is_at_least_the_confidence(case: BoundCase) -> None:
    """Check the certificate at confidence 0.8, where a missing correction shows, and 0.95."""
    settings = tuple(CertificateSetting(law, deltas, ((case.n, case.n),), case.audits) for law, deltas in case.laws)
    kind: Any = BitMethod if case.bound.reads is BitScores else BoundMethod
    method = kind(case.bound)
    certificate = certify(CertificatePlan("conformance", settings, numbers=case.audits), [method], seed=0)
    worst = [
        f"{cell.law} at delta = {number(cell.delta)}: {percent(cell.miss_rate)} of audits"
        for cell in certificate.failures
    ]
    require(
        certificate.holds,
        f"it exceeds the true epsilon too often: {'; '.join(worst[:3])}. Count every choice that reads the scores.",
    )


def a_bound_is_complete(case: BoundCase) -> None:
    """Check that a bound states delta, confidence, method, trials and ceiling, and lists what was fixed beforehand."""
    fixed, evidence = case.fixed(0.95)
    bound = fixed.lower_bound(evidence)
    require(isinstance(bound, LowerBound), f"lower_bound must return a LowerBound, but returns {type(bound).__name__}.")
    require(
        0.0 <= bound.epsilon <= bound.ceiling, f"epsilon {bound.epsilon:.4g} exceeds its ceiling {bound.ceiling:.4g}."
    )
    stated = (bound.delta, bound.confidence, bound.method)
    require(
        stated == (1e-5, 0.95, case.bound.name),
        f"a bound at delta 1e-05 and confidence 0.95 says {stated}. Take them from the statement, and `name`.",
    )
    require(bound.n_trials > 0 and bound.ledger, "n_trials must be counted, and the ledger must list the choices.")


def bounds_fall_with_the_confidence(case: BoundCase) -> None:
    """Check that a larger confidence gives no larger bound, and that p-value and bound agree."""
    epsilons = []
    for confidence in (0.5, 0.8, 0.95, 0.999):
        fixed, evidence = case.fixed(confidence)
        epsilons.append(fixed.lower_bound(evidence).epsilon)
    require(epsilons == sorted(epsilons, reverse=True), f"bounds grow with the confidence: {epsilons}.")
    fixed, evidence = case.fixed(0.95)
    p = fixed.p_value(evidence)
    require(0.0 <= p <= 1.0 and not math.isnan(p), f"p_value must lie in [0, 1], but is {p!r}.")


def counts_give_the_same_bound(case: BoundCase) -> None:
    """Check the bound on counts at its thresholds, which long audits keep in place of the scores."""
    fixed, evidence = case.fixed(0.95)
    if isinstance(evidence, BitScores):
        return
    grid = np.unique([-np.inf, *fixed.thresholds, *(evidence.tally.thresholds if not fixed.thresholds else ())])
    hits = np.array([evidence.hits(threshold) for threshold in grid])
    counts = PairCounts(Tally(grid, hits[:, 0], hits[:, 1], evidence.n_out, evidence.n_in))
    try:
        counted = fixed.lower_bound(counts).epsilon
    except ParameterError as error:
        require(False, f"it reads an event that is not in `thresholds`, so that long audits fail: {error}")
        return
    scored = fixed.lower_bound(evidence).epsilon
    require(abs(counted - scored) < 1e-9, f"it is {scored:.6g} from scores, but {counted:.6g} from their counts.")


def docstring_has_an_example(case: BoundCase) -> None:
    """Check the docstring of the class."""
    text = inspect.getdoc(type(case.bound)) or ""
    require("Example:" in text, "the docstring of its class must have an `Example:`.")


BOUND_CHECKS: Sequence[Check[BoundCase]] = (
    coverage_is_at_least_the_confidence,
    a_bound_is_complete,
    bounds_fall_with_the_confidence,
    counts_give_the_same_bound,
    docstring_has_an_example,
)
"""The checks of a bound, in order."""


def check_bound(
    bound: Bound[Any], *, audits: int = 250, n: int = 400, laws: Sequence[tuple[Law, tuple[float, ...]]] = TESTED_LAWS
) -> None:
    """Run all checks on a bound.

    Args:
        bound: any instance that reads `PairScores` or `BitScores`.
        audits: audits of each law and delta, at least 100; more find smaller excesses of the miss rate.
        n: scores on each side, pilot included, at least 20.
        laws: laws and deltas on which the assumptions of the bound hold.

    Raises:
        ConformanceError: with each check that failed, the problem, and what to do.
        ParameterError: it is no bound.

    Example:
        >>> from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
        >>> check_bound(ClopperPearson(), audits=100)
    """
    run_checks(BoundCase(bound, audits, n, tuple(laws)), BOUND_CHECKS, bound, Bound)
