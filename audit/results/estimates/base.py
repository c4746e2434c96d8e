"""Estimates of epsilon: numbers without coverage, which may exceed the true epsilon more often than their level says.

    LowerBound   valid at its confidence for every number of trials       gives a verdict
    Estimate     valid in the limit, under a model, or not at all         is drawn next to the bound

The two share no interface: an estimate has no `epsilon` and no `confidence`, and does not compare with a number.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....mechanisms.core import ParameterError, delta_range, open_unit
from ...evidence.scores import Scores


@dataclass(frozen=True)
class Estimate:
    """An estimate of epsilon, and an interval that has no coverage.

    Args:
        value: the estimate, >= 0. Natural logarithm.
        interval: (low, high), 0 <= low <= high <= inf.
        level: nominal level of the interval; (1 - level) / 2 is cut off at each end.
        delta: of the epsilon that is estimated.
        method: "bayesian", "katz-log" or "plug-in".
        n_trials: number of scores, both sides together.
        label: starts with "no coverage: " and says why there is none; every plot and table shows it.
    """

    value: float
    interval: tuple[float, float]
    level: float
    delta: float
    method: str
    n_trials: int
    label: str

    def __post_init__(self) -> None:
        if not self.label.startswith("no coverage: "):
            raise ParameterError(
                f'label must say why there is no coverage, "no coverage: ...", but is {self.label!r}.', argument="label"
            )


def check_arguments(scores: Scores, *, delta: float, confidence: float) -> None:
    """Raise `ParameterError` for a delta or a confidence out of range, or a side without scores."""
    delta_range(delta=delta)
    open_unit(confidence=confidence)
    if min(scores.n_out, scores.n_in) == 0:
        raise ParameterError(
            f"an estimate needs scores on both sides, but there are {scores.n_out} and {scores.n_in}.",
            argument="scores",
        )
