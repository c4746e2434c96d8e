"""Trade-off curve: the error rates of the attack and the smallest error rates that the claim allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ....audit.bounds.pair.simultaneous import band
from ....audit.evidence.scores import Tally
from ....audit.results.audit_result import AuditResult
from ....mechanisms.core import Floats, confidence_text, percent
from .labels import number
from .style import BOUND, CLAIM, MUTED, VIOLATION, Mark, Plot, logarithmic, style_axes

ALLOWED, FORBIDDEN, OBSERVED = "claim: smallest errors allowed", "forbidden by the claim", "attack, observed"
FAINT = 0.13
RING: dict[str, Any] = {
    "marker": "o", "markersize": 7, "markerfacecolor": "none", "markeredgewidth": 1.6, "linestyle": "none",
    "clip_on": False, "zorder": 4,
}  # fmt: skip
MARKED = 60
"""Largest number of thresholds that a page explains under the pointer."""
SQUEEZED = 0.15
"""The axes are logarithmic if the claim allows both error rates to be smaller than this."""


@dataclass(frozen=True, eq=False)
class Tradeoff(Plot):
    """False negative rate against false positive rate.

    Args:
        fpr, fnr: `(m,)` observed at each threshold, from (0, 1) to (1, 0).
        upper_fpr, upper_fnr: `(k,)` upper confidence band of the true trade-off curve, simultaneous over all rates;
            empty for the bits of one run, which are not independent.
        claim_fpr, claim_fnr: `(j,)` smallest false negative rate that the claim allows.
        gap: (false positive rate, upper curve, claim) where the upper curve lies deepest in the region that the claim
            forbids; None if it does not enter this region.
        chosen: (fpr, fnr) of the event that gave the bound; None if there is no single event.
        confidence: confidence of the upper curve, simultaneous over all thresholds.
        n: number of evaluation trials on the smaller side; rates below 1 / n cannot be observed.
        name: the claim, such as "PureDP(epsilon=1.0)".
        events: text for the event of each of some thresholds: the counts, and the lower bound that the band gives.
    """

    fpr: Floats
    fnr: Floats
    upper_fpr: Floats
    upper_fnr: Floats
    claim_fpr: Floats
    claim_fnr: Floats
    gap: tuple[float, float, float] | None
    chosen: tuple[float, float] | None
    confidence: float
    n: int
    name: str
    events: tuple[Mark, ...] = ()

    @classmethod
    def from_result(cls, result: AuditResult) -> Tradeoff:
        """Return the curves of one audit, from its counts and its claim."""
        tally, curve = result.tally, result.claim_curve
        claim_fpr, claim_fnr = np.array(curve.fpr), np.array(curve.fnr)
        hits, bound = result.bound.hits, result.bound
        grid, upper_fnr, gap, epsilons = np.empty(0), np.empty(0), None, {}
        if result.game.independent_scores:
            upper = band(tally, confidence=result.confidence)
            grid = np.unique(np.concatenate([_grid(tally), upper.fpr_upper, claim_fpr]))
            upper_fnr = np.asarray(upper.tradeoff_upper(grid))
            lower = np.asarray(upper.limits.epsilon_lower(result.delta))
            epsilons = dict(zip(upper.thresholds.tolist(), lower.tolist(), strict=True))
            gap = _deepest(claim_fpr, np.asarray(upper.tradeoff_upper(claim_fpr)), claim_fnr)
        claim_fpr, claim_fnr = with_corners(claim_fpr, claim_fnr)
        return cls(
            fpr=np.concatenate([[1.0], tally.hits_out / tally.n_out, [0.0]]),
            fnr=np.concatenate([[0.0], 1.0 - tally.hits_in / tally.n_in, [1.0]]),
            upper_fpr=grid,
            upper_fnr=upper_fnr,
            claim_fpr=claim_fpr,
            claim_fnr=claim_fnr,
            gap=gap,
            chosen=None
            if hits is None or bound.threshold is None
            else (hits[0] / tally.n_out, 1 - hits[1] / tally.n_in),
            confidence=result.confidence,
            n=min(tally.n_out, tally.n_in),
            name=result.claim_name,
            events=_events(result, epsilons),
        )

    def marks(self) -> tuple[Mark, ...]:
        """Return the points that a page explains under the pointer."""
        return self.events

    @property
    def of_bits(self) -> bool:
        """True for canaries of one run, for which there is no band."""
        return not len(self.upper_fpr)

    @property
    def crossed(self) -> bool:
        """True if the upper curve enters the region that the claim forbids."""
        return self.gap is not None

    @property
    def title(self) -> str:
        """Error rates of the attack, and the smallest ones that the claim allows."""
        if self.gap is not None:
            fpr, upper, allowed = map(percent, self.gap)
            return f"At {fpr} false positives, the attack misses at most {upper}; the claim requires at least {allowed}"
        observed, allowed_sum = (
            float(np.min(a + b)) for a, b in ((self.fpr, self.fnr), (self.claim_fpr, self.claim_fnr))
        )
        attacked = "attack on the canaries" if self.of_bits else "attack"
        return (
            f"The error rates of the {attacked} sum to at least {percent(observed)}; "
            f"the claim requires at least {percent(allowed_sum)}"
        )

    @property
    def caption(self) -> str:
        if self.of_bits:
            return (
                f"Each point of “{OBSERVED}” is one threshold on the score: excluded canaries classified as members "
                "(false positives) against included canaries classified as non-members (false negatives). "
                "All of these scores come from one run, so that this curve has no confidence band: the bound in the "
                f"table counts correct guesses instead. The claim forbids the region below “{ALLOWED}” for each canary."
            )
        end = "enters" if self.crossed else "does not enter"
        return (
            f"Each point of “{OBSERVED}” is one threshold on the score: runs without the record classified as "
            "members (false positives) against runs with the record classified as non-members (false negatives). With "
            f"{confidence_text(self.confidence)} confidence, the true curve lies on or below “{self._upper_name}” at "
            f"all thresholds simultaneously; this line {end} the region “{FORBIDDEN}”. The verdict is based on the "
            "bound in the table, not on this figure."
        )

    @property
    def _upper_name(self) -> str:
        return f"attack, upper curve ({confidence_text(self.confidence)})"

    @property
    def logarithmic(self) -> bool:
        """True if the claimed curve lies near the corner (0, 0), and has enough samples there to be drawn."""
        corner = float(np.min(np.maximum(self.claim_fpr, self.claim_fnr)))
        fine = np.count_nonzero((self.claim_fpr > 0) & (self.claim_fpr < 0.01)) >= 8
        return corner < SQUEEZED and bool(fine)

    def _draw(self, ax: Axes) -> None:
        """Draw the curves, on logarithmic axes if the claim allows both error rates to be small."""
        floor = 0.3 / self.n if self.logarithmic else 0.0
        claim, observed, upper = (
            _dense(*curve, floor)
            for curve in ((self.claim_fpr, self.claim_fnr), (self.fpr, self.fnr), (self.upper_fpr, self.upper_fnr))
        )
        ax.fill_between(claim[0], 0.0, claim[1], color=VIOLATION.light, alpha=FAINT, linewidth=0)
        handles: list[Any] = ax.plot(*claim, color=CLAIM.light, linewidth=1.6, label=ALLOWED)
        handles.append(Patch(color=VIOLATION.light, alpha=FAINT, linewidth=0, label=FORBIDDEN))
        handles += ax.plot(*observed, color=BOUND.light, linewidth=2.0, label=OBSERVED)
        if not self.of_bits:
            dashes = (0, (4, 1.5))
            handles += ax.plot(*upper, color=BOUND.light, linewidth=1.0, linestyle=dashes, label=self._upper_name)
        if self.chosen is not None:
            handles += ax.plot(*self.chosen, label="event of the bound", color=BOUND.light, **RING)
        style_axes(ax, title=self.title, x="false positive rate", y="false negative rate", handles=handles)
        if floor:
            logarithmic(ax.xaxis, floor, 1.3, zero=True)
            logarithmic(ax.yaxis, floor, 1.3, zero=True)
        else:
            guess = np.array([0.0, 1.0])
            ax.plot(guess, 1.0 - guess, color=MUTED.light, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
            ax.set(xlim=(-0.012, 1.012), ylim=(-0.012, 1.012))


def _events(result: AuditResult, epsilons: Mapping[float, float]) -> tuple[Mark, ...]:
    """Return the events of at most `MARKED` thresholds, evenly spread along the observed curve, and that of the bound.

    Args:
        epsilons: threshold -> lower bound on epsilon, at all thresholds simultaneously; empty without a band.
    """
    tally, words = result.tally, result.game.words
    fpr, tpr = tally.hits_out / tally.n_out, tally.hits_in / tally.n_in
    length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(fpr), np.diff(tpr)))])
    places = set(np.searchsorted(length, np.linspace(0.0, length[-1], MARKED)).tolist())
    places |= set(np.flatnonzero(tally.thresholds == result.bound.threshold).tolist())
    marks = []
    for place in sorted(places):
        threshold = float(tally.thresholds[place])
        counts = f"{words.legend[1]}: {tally.hits_in[place]:,} of {tally.n_in:,} {words.unit}"
        counts += f"; {words.legend[0]}: {tally.hits_out[place]:,} of {tally.n_out:,}"
        parts = [f"score ≥ {number(threshold, 4)}", counts]
        if threshold in epsilons:
            parts.append(f"epsilon ≥ {number(max(0.0, epsilons[threshold]), 3)} (band over all thresholds)")
        if threshold == result.bound.threshold:
            parts.append(f"event of the bound: epsilon ≥ {number(result.bound.epsilon, 4)}")
        marks.append(Mark(float(fpr[place]), 1.0 - float(tpr[place]), ". ".join(parts)))
    return tuple(marks)


def _deepest(fpr: Floats, upper: Floats, claim: Floats) -> tuple[float, float, float] | None:
    """Return the point at which the upper curve lies furthest below the claim; None if it is never below."""
    place = int(np.argmax(claim - upper))
    inside = upper[place] < claim[place] - 1e-12
    return (float(fpr[place]), float(upper[place]), float(claim[place])) if inside else None


def _dense(fpr: Floats, fnr: Floats, floor: float) -> tuple[Floats, Floats]:
    """Return a curve for drawing, with more points for logarithmic axes, which bend straight lines."""
    if not floor or not len(fpr):
        return fpr, fnr
    order = np.lexsort((-fnr, fpr))
    fpr, fnr = fpr[order], fnr[order]
    between = np.geomspace(0.1 * floor, 1.0, 150)
    between = between[(between > fpr[0]) & (between < fpr[-1])]
    dense, values = np.concatenate([fpr, between]), np.concatenate([fnr, np.interp(between, fpr, fnr)])
    order = np.lexsort((-values, dense))
    return dense[order], values[order]


def with_corners(fpr: Floats, fnr: Floats) -> tuple[Floats, Floats]:
    """Return a convex curve from samples, with the corners between them.

    Between two samples the curve lies between the chord and the extensions of the neighbouring chords; a corner is
    added where these intersect. Exact for piecewise linear curves; elsewhere the region that the claim forbids is
    drawn slightly too small, never too large (except in the first and the last interval, which use the chord).
    """
    order = np.argsort(fpr)
    x, y = fpr[order], fnr[order]
    slope = np.diff(y) / np.maximum(np.diff(x), 1e-300)
    left, right = slope[:-2], slope[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = (y[2:-1] - y[1:-2] + left * x[1:-2] - right * x[2:-1]) / (left - right)
    inside = (right - left > 1e-9) & (at > x[1:-2]) & (at < x[2:-1])
    corner_x, corner_y = at[inside], (y[1:-2] + left * (at - x[1:-2]))[inside]
    x, y = np.append(x, corner_x), np.append(y, np.maximum(corner_y, 0.0))
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _grid(tally: Tally) -> Floats:
    """Return the false positive rates at which the upper curve is drawn, dense at both ends."""
    small = np.geomspace(0.3 / tally.n_out, 0.5, 60)
    return np.concatenate([[0.0, 1.0], small, 1.0 - small])
