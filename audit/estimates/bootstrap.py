"""The observed rates taken for the true ones, and a bootstrap interval around what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special

from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import one_of, whole
from ..evidence.scores import Counts, Floats, PairScores, Scores
from .base import Estimate, check_level, hits_at

_THRESHOLDS = 256  # at most about this many are compared, evenly spread over the ranks


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
    """Estimates epsilon by the largest ln((p - delta) / q) over events, p and q observed rates, and resamples it.

    Events are {score >= threshold}, more likely on side 1, and the complements, more likely on side 0, as far as at
    least `minimum_hits` scores of each side fall into them.

    Args:
        scores: of both sides.
        rng: draws the resamples.
        threshold: None takes the best of all thresholds, on the same scores; a number keeps to that one.
        delta: in [0, 1).
        level: in (0, 1), of the interval.
        interval: "bca" (bias-corrected and accelerated, Efron 1987) or "percentile".
        resamples: >= 100; each draws both sides anew from what was observed.
        minimum_hits: >= 2; fewer hits make the best of many ratios explode.

    Raises:
        ParameterError: a value out of range; no event has this many hits on both sides.

    Guarantees:
        * None. The best of many ratios lies above the truth on average, and resampling does not see that: its interval
          misses far more often than `level` says.

    Example:
        >>> draws = np.random.default_rng(1).laplace(size=(2, 2000))
        >>> found = plug_in(PairScores(draws[0], draws[1] + 1.0), rng=np.random.default_rng(2))
        >>> found.value > 1.0  # the truth is 1
        True

    References:
        Efron (1987), JASA 82; Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 14.3.
    """
    check_level(delta=delta, confidence=level)
    one_of(["bca", "percentile"], interval=interval)
    whole(100, resamples=resamples)
    whole(2, minimum_hits=minimum_hits)
    seen = _Bins.of(scores, threshold)
    ratio = _Ratio(seen, delta, minimum_hits)
    value = float(ratio(seen.hits_out, seen.hits_in, seen.n_out, seen.n_in))
    drawn = ratio(*seen.resampled(rng, resamples), seen.n_out, seen.n_in)
    ends = np.array([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    if interval == "bca":
        ends = _bca(ends, value, drawn, _acceleration(seen, ratio))
    low, high = np.quantile(drawn, ends, method="inverted_cdf")
    chosen = (
        f"the best of {len(seen.hits_out)} thresholds, chosen on the scores that are resampled"
        if threshold is None
        else "a bootstrap of one event that was fixed beforehand"
    )
    return Estimate(
        value=value,
        interval=(float(low), float(high)),
        level=level,
        delta=delta,
        method="plug-in",
        n_trials=seen.n_out + seen.n_in,
        label=f"no coverage: {chosen}",
    )


@dataclass(frozen=True, eq=False)
class _Bins:
    """Scores of each side between neighbouring thresholds; the first bin lies below all of them.

    Args:
        out, in_: `(m + 1,)` counts.
    """

    out: Counts
    in_: Counts

    @classmethod
    def of(cls, scores: Scores, threshold: float | None) -> Self:
        if threshold is not None:
            k0, k1 = hits_at(scores, threshold)
            return cls(np.array([scores.n_out - k0, k0]), np.array([scores.n_in - k1, k1]))
        if min(scores.n_out, scores.n_in) == 0:
            raise ParameterError(
                f"an estimate needs scores on both sides, but there are {scores.n_out} and {scores.n_in}.",
                argument="scores",
            )
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
        """`(m,)` scores of side 0 that reach each threshold."""
        return _hits(self.out)

    @property
    def hits_in(self) -> Counts:
        return _hits(self.in_)

    def resampled(self, rng: np.random.Generator, size: int) -> tuple[Counts, Counts]:
        """`(size, m)` hits of each side when as many scores are drawn from those that were seen, with replacement."""
        out = rng.multinomial(self.n_out, self.out / self.n_out, size=size)
        return _hits(out), _hits(rng.multinomial(self.n_in, self.in_ / self.n_in, size=size))


def _hits(bins: Counts) -> Counts:
    return np.flip(np.cumsum(np.flip(bins, axis=-1), axis=-1), axis=-1)[..., 1:]


class _Ratio:
    """The statistic: the largest logarithm of a ratio over the events that had hits enough in what was seen."""

    def __init__(self, seen: _Bins, delta: float, minimum_hits: int) -> None:
        k0, k1 = seen.hits_out, seen.hits_in
        self.delta = delta
        self.forward = np.minimum(k0, k1) >= minimum_hits
        self.backward = np.minimum(seen.n_out - k0, seen.n_in - k1) >= minimum_hits
        if not (self.forward.any() or self.backward.any()):
            raise ParameterError(
                f"minimum_hits = {minimum_hits} is more than any event has on both sides. Run more trials, lower it to "
                "2 or more, or take a lower bound such as ClopperPearson, which is right at few hits too.",
                argument="minimum_hits",
            )

    def __call__(self, hits_out: Counts, hits_in: Counts, n_out: int, n_in: int) -> Floats:
        """Over the last axis; 0 where no ratio is above 1."""
        q, p = hits_out / n_out, hits_in / n_in
        forward = _log_ratio(p[..., self.forward] - self.delta, q[..., self.forward])
        backward = _log_ratio(1.0 - q[..., self.backward] - self.delta, 1.0 - p[..., self.backward])
        return np.asarray(np.concatenate([forward, backward], axis=-1).max(axis=-1).clip(min=0.0))


def _log_ratio(above: Floats, below: Floats) -> Floats:
    """ln(above / below); -inf where `above` is not positive, inf where `below` is not."""
    with np.errstate(divide="ignore"):
        top, bottom = np.log(np.maximum(above, 0.0)), np.log(np.maximum(below, 0.0))
    return np.where(top == -np.inf, -np.inf, top - np.where(top == -np.inf, 0.0, bottom))


def _acceleration(seen: _Bins, ratio: _Ratio) -> float:
    """Skewness of the influence of single scores on both sides, a sixth of it (Efron and Tibshirani 1993, 14.15).

    Leaving out any score of a bin has the same effect, so that there are as many values as bins.
    """
    m = len(seen.hits_out)
    below = np.tri(m + 1, m, -1, dtype=np.int64)  # a score of bin j reaches the thresholds before it
    cube, square = 0.0, 0.0
    for bins, left in (
        (seen.out, ratio(seen.hits_out - below, seen.hits_in, seen.n_out - 1, seen.n_in)),
        (seen.in_, ratio(seen.hits_out, seen.hits_in - below, seen.n_out, seen.n_in - 1)),
    ):
        n = int(bins.sum())
        kept, weight = left[bins > 0], bins[bins > 0]
        influence = (n - 1) * (np.average(kept, weights=weight) - kept)
        cube += float(np.sum(weight * influence**3)) / n**3
        square += float(np.sum(weight * influence**2)) / n**2
    return cube / (6.0 * square**1.5) if square > 0.0 else 0.0


def _bca(ends: Floats, value: float, drawn: Floats, acceleration: float) -> Floats:
    """The quantiles to read, moved for bias and acceleration (Efron 1987); ties count half."""
    share = float(np.mean(drawn < value) + 0.5 * np.mean(drawn == value))
    bias = float(special.ndtri(np.clip(share, 0.5 / len(drawn), 1.0 - 0.5 / len(drawn))))
    reach = bias + special.ndtri(ends)
    shrink = 1.0 - acceleration * reach
    moved = special.ndtr(bias + reach / np.where(shrink > 0.0, shrink, math.inf))
    return np.asarray(np.clip(moved, 0.0, 1.0))
