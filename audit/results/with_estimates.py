"""Estimates added to a result by name: shown without a guarantee, and never compared to a claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...mechanisms.core import ParameterError, one_of
from ..evidence.scores import PairCounts
from .audit_result import AuditResult
from .estimates.base import Estimate
from .estimates.bootstrap import plug_in
from .estimates.katz import katz_log
from .estimates.posterior import bayesian

_RESAMPLES_KEY = 0xE57
"""Key of the random stream of the resamples, in addition to the seed of the audit."""


def _plug_in(scores: PairCounts, result: AuditResult) -> Estimate:
    rng = np.random.default_rng([_RESAMPLES_KEY, result.seed])
    return plug_in(scores, rng=rng, threshold=result.bound.threshold, delta=result.delta, level=result.confidence)


def _katz_log(scores: PairCounts, result: AuditResult) -> Estimate:
    return katz_log(scores, threshold=_event(result), delta=result.delta, level=result.confidence)


def _bayesian(scores: PairCounts, result: AuditResult) -> Estimate:
    return bayesian(scores, threshold=_event(result), delta=result.delta, level=result.confidence)


ESTIMATES: dict[str, Callable[[PairCounts, AuditResult], Estimate]] = {
    "bayesian": _bayesian,
    "katz-log": _katz_log,
    "plug-in": _plug_in,
}
"""Function that computes the estimate of a result, by name."""


def check_estimates(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names; raise `ParameterError` for an unknown one, with the nearest known name."""
    if isinstance(names, str):
        raise ParameterError(f"estimates must be a list of names, such as [{names!r}].", argument="estimates")
    for name in names:
        one_of(ESTIMATES, estimates=name)
    return tuple(names)


def with_estimates(result: AuditResult, names: Sequence[str]) -> AuditResult:
    """Return the result with estimates of epsilon, computed from the event of its bound.

    Args:
        result: of runs on a pair.
        names: keys of `ESTIMATES`: "bayesian", "katz-log", "plug-in".

    Returns:
        The same result with `estimates`, in the order of the names. Bound, p-value and verdict are unchanged. An
        estimate that these counts do not allow (no hits, or a bound without a single event) becomes a warning.

    Raises:
        ParameterError: an unknown name, or a game whose scores are not those of independent runs on a pair.

    Example:
        >>> from dpassay.audit import audit
        >>> from dpassay.mechanisms import Laplace
        >>> result = with_estimates(audit(Laplace(epsilon=1.0), trials=10_000, seed=0), ["bayesian"])
        >>> 0.9 < result.bound.epsilon < result.estimates[0].value < 1.1
        True
    """
    names = check_estimates(names)
    if names and not result.game.independent_scores:
        raise ParameterError(
            f"estimates are for runs on a pair of datasets, but the game is {result.game.value!r}. Leave them out.",
            argument="estimates",
        )
    estimates, warnings = [], list(result.warnings)
    for name in names:
        try:
            estimates.append(ESTIMATES[name](PairCounts(result.tally), result))
        except ParameterError as error:
            warnings.append(f"no estimate {name!r}: {error}")
    return replace(result, estimates=tuple(estimates), warnings=tuple(warnings))


def _event(result: AuditResult) -> float:
    """Return the threshold of the event of the bound."""
    if result.bound.threshold is None:
        raise ParameterError(
            f"{result.bound.method} uses no single event. Try 'plug-in', or bound='joint-exact'.", argument="estimates"
        )
    return result.bound.threshold
