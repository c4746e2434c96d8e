"""The plug-in estimate from observed rates, with a bootstrap interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special

from ....mechanisms.core import Floats, ParameterError, one_of, whole
from ...evidence.scores import Counts, PairScores, Scores
from .base import Estimate, check_arguments

_THRESHOLDS = 256  # approximate largest number of thresholds, evenly spaced in the ranks


def plug_in(
    scores: Scores,
    *,
    rng: np.random.Generator,
    threshold: float | None = None,
    delta: float = 0.0,
    level: float = 0.95,
    interval: str = "bca",
    resamples: int = 1000,
    minimum_hits: int = 20,
) -> Estimate:
    """Estimate epsilon by the largest ln((p - delta) / q) over events, p and q observed rates, and resample it.

    Events are {score >= threshold}, more likely on side 1, and the complements, more likely on side 0, with at least
    `minimum_hits` scores of each side.

    Args:
        scores: of both sides.
        rng: draws the resamples.
        threshold: a fixed threshold; None for the best of all thresholds, on the same scores.
        delta: in [0, 1).
        level: in (0, 1), of the interval.
        interval: "bca" (bias-corrected and accelerated, Efron 1987) or "percentile".
        resamples: >= 100; each redraws both sides from the observed scores.
        minimum_hits: >= 2; with fewer hits the best of many ratios is unstable.

    Raises:
        ParameterError: a value out of range; no event has this many hits on both sides.

    Guarantees:
        * None. The best of many ratios exceeds the true value on average, and resampling does not correct for it: the
          interval misses far more often than `level` says.

    Example:
        >>> draws = np.random.default_rng(1).laplace(size=(2, 2000))
        >>> estimate = plug_in(PairScores(draws[0], draws[1] + 1.0), rng=np.random.default_rng(2))
        >>> estimate.value > 1.0  # the true epsilon is 1
        True

    References:
        Efron (1987), JASA 82; Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 14.3.
    """
    check_arguments(scores, delta=delta, confidence=level)
    one_of(["bca", "percentile"], interval=interval)
    whole(100, resamples=resamples)
    whole(2, minimum_hits=minimum_hits)
    observed = Bins.of(scores, threshold)
    ratio = _Ratio(observed, delta, minimum_hits)
    value = float(ratio(observed.hits_out, observed.hits_in, observed.n_out, observed.n_in))
    drawn = ratio(*observed.resampled(rng, resamples), observed.n_out, observed.n_in)
    ends = np.array([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    if interval == "bca":
        ends = _bca(ends, value, drawn, _acceleration(observed, ratio))
    low, high = np.quantile(drawn, ends, method="inverted_cdf")
    reason = (
        f"the best of {len(observed.hits_out)} thresholds, chosen on the scores that are resampled"
        if threshold is None
        else "a bootstrap of one event that was fixed beforehand"
    )
    return Estimate(
        value=value,
        interval=(float(low), float(high)),
        level=level,
        delta=delta,
        method="plug-in",
        n_trials=observed.n_out + observed.n_in,
        label=f"no coverage: {reason}",
    )


@dataclass(frozen=True, eq=False)
class Bins:
    """Counts of the scores of each side between adjacent thresholds; the first bin lies below all thresholds.

    Args:
        out, in_: `(m + 1,)` counts.
    """

    out: Counts
    in_: Counts

    @classmethod
    def of(cls, scores: Scores, threshold: float | None) -> Self:
        if threshold is not None:
            k0, k1 = scores.hits(threshold)
            return cls(np.array([scores.n_out - k0, k0]), np.array([scores.n_in - k1, k1]))
        tally = scores.thinned(_THRESHOLDS) if isinstance(scores, PairScores) else scores.tally.thin(_THRESHOLDS)
        sides = ((tally.hits_out, tally.n_out), (tally.hits_in, tally.n_in))
        return cls(*(-np.diff(np.concatenate([[n], hits, [0]])) for hits, n in sides))

    @property
    def n_out(self) -> int:
        return int(self.out.sum())

    @property
    def n_in(self) -> int:
        return int(self.in_.sum())

    @property
    def hits_out(self) -> Counts:
        """Numbers of scores of side 0 that reach each threshold, `(m,)`."""
        return _hits(self.out)

    @property
    def hits_in(self) -> Counts:
        return _hits(self.in_)

    def resampled(self, rng: np.random.Generator, size: int) -> tuple[Counts, Counts]:
        """Return hits of each side, `(size, m)`, of as many scores drawn from the observed ones with replacement."""
        out = rng.multinomial(self.n_out, self.out / self.n_out, size=size)
        return _hits(out), _hits(rng.multinomial(self.n_in, self.in_ / self.n_in, size=size))


def _hits(bins: Counts) -> Counts:
    return np.flip(np.cumsum(np.flip(bins, axis=-1), axis=-1), axis=-1)[..., 1:]


class _Ratio:
    """The statistic: the largest log ratio over the events with enough observed hits."""

    def __init__(self, observed: Bins, delta: float, minimum_hits: int) -> None:
        k0, k1 = observed.hits_out, observed.hits_in
        self.delta = delta
        self.forward = np.minimum(k0, k1) >= minimum_hits
        self.backward = np.minimum(observed.n_out - k0, observed.n_in - k1) >= minimum_hits
        if not (self.forward.any() or self.backward.any()):
            raise ParameterError(
                f"minimum_hits = {minimum_hits} exceeds the hits of every event. Run more trials, lower it to "
                "2 or more, or use a lower bound such as ClopperPearson, which is valid at few hits too.",
                argument="minimum_hits",
            )

    def __call__(self, hits_out: Counts, hits_in: Counts, n_out: int, n_in: int) -> Floats:
        """Return the largest log ratio over the last axis; 0 where no ratio exceeds 1."""
        q, p = hits_out / n_out, hits_in / n_in
        forward = _log_ratio(p[..., self.forward] - self.delta, q[..., self.forward])
        backward = _log_ratio(1.0 - q[..., self.backward] - self.delta, 1.0 - p[..., self.backward])
        return np.asarray(np.concatenate([forward, backward], axis=-1).max(axis=-1).clip(min=0.0))


def _log_ratio(above: Floats, below: Floats) -> Floats:
    """Return ln(above / below); -inf where `above` is not positive, inf where `below` is not."""
    with np.errstate(divide="ignore"):
        top, bottom = np.log(np.maximum(above, 0.0)), np.log(np.maximum(below, 0.0))
    return np.where(top == -np.inf, -np.inf, top - np.where(top == -np.inf, 0.0, bottom))


def _acceleration(observed: Bins, ratio: _Ratio) -> float:
    """Return a sixth of the skewness of the influence of single scores (Efron and Tibshirani 1993, 14.15).

    Leaving out any score of a bin has the same effect, so there are as many values as bins.
    """
    m = len(observed.hits_out)
    below = np.tri(m + 1, m, -1, dtype=np.int64)  # a score of bin j reaches the thresholds before it
    cube, square = 0.0, 0.0
    for bins, left in (
        (observed.out, ratio(observed.hits_out - below, observed.hits_in, observed.n_out - 1, observed.n_in)),
        (observed.in_, ratio(observed.hits_out, observed.hits_in - below, observed.n_out, observed.n_in - 1)),
    ):
        n = int(bins.sum())
        values, weight = left[bins > 0], bins[bins > 0]
        influence = (n - 1) * (np.average(values, weights=weight) - values)
        cube += float(np.sum(weight * influence**3)) / n**3
        square += float(np.sum(weight * influence**2)) / n**2
    return cube / (6.0 * square**1.5) if square > 0.0 else 0.0


def _bca(ends: Floats, value: float, drawn: Floats, acceleration: float) -> Floats:
    """Return the quantile levels, corrected for bias and acceleration (Efron 1987); ties count half."""
    share = float(np.mean(drawn < value) + 0.5 * np.mean(drawn == value))
    bias = float(special.ndtri(np.clip(share, 0.5 / len(drawn), 1.0 - 0.5 / len(drawn))))
    reach = bias + special.ndtri(ends)
    shrink = 1.0 - acceleration * reach
    corrected = special.ndtr(bias + reach / np.where(shrink > 0.0, shrink, math.inf))
    return np.asarray(np.clip(corrected, 0.0, 1.0))
