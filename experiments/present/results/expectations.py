"""Comparison of a result with the numbers and verdicts that its config expects.

    verdict         the same, after the correction for the number of audits
    claim, exact    computed without trials: equal to the digits that the config states
    lower_bound     random. Without pilot trials its event is fixed: within the interval into which a repetition with
                    another seed falls. Else equal to the stated digits, which the seed of the config determines

A number has at least three significant digits, since TOML does not keep trailing zeros: 0.1 means 0.100.
"""

from __future__ import annotations

import math
from decimal import Decimal

from scipy.special import ndtri

from ....audit.results.audit_result import AuditResult
from ....mechanisms.core import number
from ...config.sweep import VERDICT, point_text
from .sweep import SweepResult

MIN_COUNT = 100
"""Runs in the event on a side, from which a bound varies like the logarithm of a normal variable."""


def unmet(sweep: SweepResult, *, significance: float = 1e-6) -> list[str]:
    """Return a sentence for each expected number or verdict that the result does not have.

    Args:
        sweep: result of an experiment.
        significance: probability that a lower bound of a repetition with another seed is reported; in (0, 1).
    """
    sentences = []
    for point in sweep.points:
        place, found, stated = point_text(point.parameters), numbers(point.result), sweep.expected_of(point)
        verdict = stated.pop(VERDICT, point.verdict)
        if verdict != point.verdict:
            sentences.append(f"{place}: {VERDICT} is {point.verdict}, but the config expects {verdict}.")
        for name, wanted in stated.items():
            value, allowed = found[name], _half_unit(wanted)
            if name == "lower_bound":
                allowed += _repetition_interval(point.result, significance)
            if value is None or not abs(value - wanted) <= allowed * (1 + 1e-9):
                sentences.append(f"{place}: {name} is {value}, but the config expects {wanted} ± {number(allowed, 2)}.")
    return sentences


def numbers(result: AuditResult) -> dict[str, float | None]:
    """Return name -> number of an audit, for the names of `EXPECTED_NUMBERS`."""
    return {"claim": result.claim, "exact": result.exact_epsilon, "lower_bound": result.bound.epsilon}


def _half_unit(stated: float) -> float:
    """Return half a unit of the last stated digit, with at least three significant digits.

    >>> _half_unit(4.77457), _half_unit(0.1), _half_unit(10)
    (5e-06, 0.0005, 0.05)
    """
    written = Decimal(str(stated))
    exponent = written.as_tuple().exponent
    assert isinstance(exponent, int)  # not infinite
    return float(Decimal(5).scaleb(min(exponent, written.adjusted() - 2) - 1))


def _repetition_interval(result: AuditResult, significance: float) -> float:
    """Return how far the lower bounds of two independent repetitions differ at most, at this significance.

    A bound from one event is ln((p1 - delta) / p0) of its rates on both sides, less a margin. By the delta method its
    variance is (1 - p1) p1 / (n (p1 - delta)^2) + (1 - p0) / (n p0); the difference of two bounds has twice as much.
    It is 0 if the bound comes from several events, if pilot trials chose the event, which adds a variance that is not
    known, or with fewer than `MIN_COUNT` runs in the event on a side.
    """
    if result.bound.hits is None or result.trials.pilot:
        return 0.0
    n, (out, in_) = result.trials.evaluation, result.bound.hits
    common, rare = max(((in_, out), (n - out, n - in_)), key=lambda counts: counts[0] / max(counts[1], 0.5))
    p1, p0 = common / n, rare / n
    if rare < MIN_COUNT or p1 <= result.delta:
        return 0.0
    variance = ((1.0 - p1) * p1 / (p1 - result.delta) ** 2 + (1.0 - p0) / p0) / n
    return float(-ndtri(0.5 * significance) * math.sqrt(2.0 * variance))
