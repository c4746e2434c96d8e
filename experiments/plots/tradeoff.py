"""The two errors of the attack beside the least errors that the claim allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from audit.bounds.simultaneous import band
from audit.games import Floats, Tally
from audit.results import AuditResult
from audit.text import percent
from experiments.plots.canvas import axes_or_new, legend, logarithmic, style_axes, write
from experiments.plots.formatting import number
from experiments.plots.palette import BOUND, CLAIM, MUTED, VIOLATION

SQUEEZED = 0.15
"""Where the claim lets both errors be smaller than this, only logarithmic axes show anything."""


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """False negative rate against false positive rate.

    Args:
        fpr, fnr: `(m,)` observed at each threshold, from (0, 1) to (1, 0).
        upper_fpr, upper_fnr: `(k,)` with `confidence`, the true trade-off curve lies on or below this one everywhere;
            empty for the bits of one run, which are not independent.
        claim_fpr, claim_fnr: `(j,)` least false negative rate that the claim allows.
        crossed: whether the upper curve enters the region that the claim forbids.
        chosen: (fpr, fnr) of the event that gave the bound; None if there is no single one.
        confidence: of the upper curve, all thresholds at once.
        n: evaluation trials on the smaller side: rates below 1 / n are not seen.
        name: the claim, such as "PureDP(epsilon=1.0)".
    """

    fpr: Floats
    fnr: Floats
    upper_fpr: Floats
    upper_fnr: Floats
    claim_fpr: Floats
    claim_fnr: Floats
    crossed: bool
    chosen: tuple[float, float] | None
    confidence: float
    n: int
    name: str

    @classmethod
    def from_result(cls, result: AuditResult) -> Tradeoff:
        """The curves of one audit, from its counts and its claim."""
        tally, curve = result.tally, result.claim_curve
        claim_fpr, claim_fnr = np.array(curve.fpr), np.array(curve.fnr)
        hits, bound = result.bound.hits, result.bound
        grid, upper_fnr, crossed = np.empty(0), np.empty(0), False
        if result.trials.n_canaries is None:
            upper = band(tally, confidence=result.confidence)
            grid = np.unique(np.concatenate([_grid(tally), upper.fpr_upper, claim_fpr]))
            upper_fnr = np.asarray(upper.tradeoff_upper(grid))
            crossed = bool(np.any(np.asarray(upper.tradeoff_upper(claim_fpr)) < claim_fnr - 1e-12))
        claim_fpr, claim_fnr = _with_corners(claim_fpr, claim_fnr)
        return cls(
            fpr=np.concatenate([[1.0], tally.hits_out / tally.n_out, [0.0]]),
            fnr=np.concatenate([[0.0], 1.0 - tally.hits_in / tally.n_in, [1.0]]),
            upper_fpr=grid,
            upper_fnr=upper_fnr,
            claim_fpr=claim_fpr,
            claim_fnr=claim_fnr,
            crossed=crossed,
            chosen=None
            if hits is None or bound.threshold is None
            else (hits[0] / tally.n_out, 1 - hits[1] / tally.n_in),
            confidence=result.confidence,
            n=min(tally.n_out, tally.n_in),
            name=result.claim_name,
        )

    @property
    def of_bits(self) -> bool:
        """Whether these are canaries of one run, which stand in no band."""
        return not len(self.upper_fpr)

    @property
    def title(self) -> str:
        """What is seen, in one line."""
        if self.of_bits:
            return "How well the attack tells the canaries apart"
        if self.crossed:
            return "The attack errs less than the claim allows"
        return "The attack was not shown to leave what the claim allows"

    @property
    def caption(self) -> str:
        """How to read it."""
        if self.of_bits:
            return (
                "Each point of the attack's curve is one threshold on its score: canaries that were out and were "
                "called members (false positives) against canaries that were in and were missed (false negatives). "
                "One run makes all of these scores, so that no confidence goes with this curve: the bound in the "
                "table counts right guesses instead. The claim forbids the shaded region to each canary."
            )
        end = "reaches into" if self.crossed else "stays out of"
        return (
            "Each point of the attack's curve is one threshold on its score: runs without the record that were called "
            "members (false positives) against runs with it that were missed (false negatives). With "
            f"{percent(self.confidence)} confidence the true curve lies on or below the thin line, at all thresholds "
            f"at once; that line {end} the shaded region, which the claim forbids. The verdict rests on the bound in "
            "the table, not on this picture."
        )

    @property
    def logarithmic(self) -> bool:
        """Whether the claim squeezes the curve into the corner, and is sampled finely enough there to be drawn."""
        corner = float(np.min(np.maximum(self.claim_fpr, self.claim_fnr)))
        fine = np.count_nonzero((self.claim_fpr > 0) & (self.claim_fpr < 0.01)) >= 8
        return corner < SQUEEZED and bool(fine)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it, on logarithmic axes where the claim allows both errors to be small."""
        ax = axes_or_new(ax)
        floor = 0.3 / self.n if self.logarithmic else 0.0
        claim, seen, upper = (
            self._line(*curve, floor)
            for curve in ((self.claim_fpr, self.claim_fnr), (self.fpr, self.fnr), (self.upper_fpr, self.upper_fnr))
        )
        ax.fill_between(claim[0], floor, claim[1], color=VIOLATION.light, alpha=0.13, linewidth=0)
        ax.plot(*claim, color=CLAIM.light, linewidth=1.6, label="claim: least errors allowed")
        ax.plot(*seen, color=BOUND.light, linewidth=2.0, label="attack, observed")
        if not self.of_bits:
            ax.plot(*upper, color=BOUND.light, linewidth=0.9, label=f"attack, upper curve ({percent(self.confidence)})")
        if self.chosen is not None:
            ax.plot(
                *(max(v, floor) for v in self.chosen),
                marker="o",
                markersize=7,
                markerfacecolor="none",
                linestyle="none",
                markeredgecolor=BOUND.light,
                markeredgewidth=1.6,
                label="event that gave the bound",
                clip_on=False,
            )
        style_axes(ax, title=self.title, x="false positive rate", y="false negative rate")
        self._scales(ax, floor)
        write(ax, *self._forbidden(), VIOLATION, transform=ax.transAxes, fontsize=8.5)
        legend(
            ax, **({"loc": "lower left", "bbox_to_anchor": (0.0, 0.07)} if self.logarithmic else {"loc": "upper right"})
        )
        return ax

    def _forbidden(self) -> tuple[float, float, str]:
        """Where no curve crosses the words in the forbidden region: its corner, or between attack and claim."""
        x, words = 0.3, "forbidden by the claim"
        attack = float(np.interp(x, self.fpr[::-1], self.fnr[::-1]))
        claim = float(np.interp(x, self.claim_fpr, self.claim_fnr))
        if self.logarithmic:
            return 0.03, 0.035, words
        if self.crossed and claim - attack > 0.12:
            return x, 0.5 * (attack + claim), words
        return (0.03, 0.035, words) if claim > 0.12 else (0.012, 0.02, "forbidden\nby the claim")

    def _line(self, fpr: Floats, fnr: Floats, floor: float) -> tuple[Floats, Floats]:
        """A curve for drawing. Logarithmic axes bend straight lines, so more points are put on these."""
        if not floor:
            return fpr, fnr
        order = np.lexsort((-fnr, fpr))
        fpr, fnr = fpr[order], fnr[order]
        between = np.geomspace(floor, 1.0, 120)
        dense = np.concatenate([fpr, between])
        values = np.concatenate([fnr, np.interp(between, fpr, fnr)])
        order = np.lexsort((-values, dense))
        return np.maximum(dense[order], floor), np.maximum(values[order], floor)

    def _scales(self, ax: Axes, floor: float) -> None:
        if floor:
            logarithmic(ax.xaxis)
            logarithmic(ax.yaxis)
            ax.set(xlim=(floor, 1.3), ylim=(floor, 1.3))
            return
        guess = np.array([0.0, 1.0])
        ax.plot(guess, 1.0 - guess, color=MUTED.light, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
        ticks = np.linspace(0, 1, 6)
        ax.set_xticks(ticks, [number(t) for t in ticks])
        ax.set_yticks(ticks, [number(t) for t in ticks])


def _with_corners(fpr: Floats, fnr: Floats) -> tuple[Floats, Floats]:
    """A convex curve from samples, with the corners that lie between them.

    Between two samples the curve lies between the chord and the lines through the neighbouring chords; where these
    meet, a corner is added. Exact for piecewise linear curves; elsewhere the region that the claim forbids is drawn a
    little too small, never too large (but for the first and the last interval, where the chord is all there is).
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
    """False positive rates at which the upper curve is drawn, dense at both ends."""
    small = np.geomspace(0.3 / tally.n_out, 0.5, 60)
    return np.concatenate([[0.0, 1.0], small, 1.0 - small])
