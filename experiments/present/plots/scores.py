"""Histograms of the attack scores on the two sides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from ....audit.evidence.game import Game
from ....audit.evidence.scores import Tally
from ....audit.results.audit_result import AuditResult
from ....mechanisms.core import Floats, fixed, percent
from ..results.parameters import cut
from .labels import number
from .style import MUTED, SIDE0, SIDE1, Mark, Plot, logarithmic, style_axes

BEGINS = "threshold of the bound"
OUT: Any = "-"
IN: Any = (0, (5, 1))
"""Line styles of the two sides, so that they can be distinguished without colours."""
BINS = 48
"""Largest number of bins; fewer for few runs."""
FEW, SOME = 24, 4
"""Up to `FEW` distinct scores are drawn as atoms, except rare scores if there are at least `SOME` of them."""
HEAVY = 0.02
"""Share of the runs of a side above which a single score is drawn as an atom."""


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Plot):
    """Shares of runs by score; a higher score indicates side 1.

    Args:
        edges: `(b + 1,)` edges of the bins; empty if every distinct score is an atom.
        out, in_: `(b,)` share of the runs of side 0 and side 1 in each bin, without atoms.
        atoms: `(a,)` scores that many runs share, infinite ones included.
        atoms_out, atoms_in: `(a,)` share of the runs of each side on each atom.
        threshold: the bound uses the event {score >= threshold}; None if it does not use a single event.
        events: exceptional outputs such as {"raised ValueError": (0, 12)}: numbers of runs of side 0 and side 1.
        n_out, n_in: runs on each side.
        auc: probability that a run of side 1 scores higher than a run of side 0; ties count half.
        game: the game that gave the scores, which decides between the words "runs" and "canaries".
    """

    edges: Floats
    out: Floats
    in_: Floats
    atoms: Floats
    atoms_out: Floats
    atoms_in: Floats
    threshold: float | None
    events: dict[str, tuple[int, int]]
    n_out: int
    n_in: int
    auc: float
    game: Game = Game.DISTINGUISHING

    @classmethod
    def from_result(cls, result: AuditResult) -> ScoreHistogram:
        """Return the histograms of one audit, from the differences of its counts."""
        tally = _merged(result.tally)
        share_out, share_in = _shares(tally.hits_out, tally.n_out), _shares(tally.hits_in, tally.n_in)
        is_atom = _atoms(tally, share_out, share_in)
        bins = int(np.clip(2.0 * min(tally.n_out, tally.n_in) ** (1 / 3), 6, BINS))  # Rice's rule
        edges = _edges(tally.thresholds, (share_out + share_in) * ~is_atom, bins)
        return cls(
            edges=edges,
            out=_binned(tally.thresholds, share_out * ~is_atom, edges),
            in_=_binned(tally.thresholds, share_in * ~is_atom, edges),
            atoms=tally.thresholds[is_atom],
            atoms_out=share_out[is_atom],
            atoms_in=share_in[is_atom],
            threshold=result.bound.threshold,
            events=dict(result.events),
            n_out=tally.n_out,
            n_in=tally.n_in,
            auc=_auc(tally),
            game=result.game,
        )

    @property
    def title(self) -> str:
        """Most distinctive exceptional output, or the AUC of the scores."""
        if self.events:
            name, (out, in_) = max(self.events.items(), key=lambda event: abs(event[1][1] - event[1][0]))
            more = f", and {len(self.events) - 1:,} more kinds of exceptional output" if len(self.events) > 1 else ""
            return f"{cut(name, 40)}: {in_:,} times with the record, {out:,} times without it{more}"
        words = self.game.words
        return f"{words.member} scores higher than {words.other} in {percent(self.auc)} of all pairs"

    @property
    def caption(self) -> str:
        words = self.game.words
        events = "; ".join(f"{name}: {a:,} on side 0 and {b:,} on side 1" for name, (a, b) in self.events.items())
        return (
            f"Share of the counted {words.unit} by attack score, {words.sides} on a logarithmic "
            "axis that includes 0: the vertical distance between the two is the privacy loss of that score. Stems "
            f"are single scores that many {words.unit} share; the outermost bins include all scores beyond them."
            + (f" The bound counts the {words.unit} with scores from “{BEGINS}”." if self._has_threshold else "")
            + (f" Exceptional outputs: {events}." if events else "")
        )

    def marks(self) -> tuple[Mark, ...]:
        """Return the points that a page explains under the pointer: one per bin and per finite atom."""
        middles = 0.5 * (self.edges[1:] + self.edges[:-1])
        bins = [f"score {number(a)} to {number(b)}" for a, b in pairwise(self.edges.tolist())]
        atoms = [f"score = {number(float(atom), 4)}" for atom in self.atoms]
        rows = [
            *zip(middles, bins, self.out, self.in_, strict=True),
            *zip(self.atoms, atoms, self.atoms_out, self.atoms_in, strict=True),
        ]
        return tuple(self._mark(float(x), text, float(a), float(b)) for x, text, a, b in rows if np.isfinite(x))

    def _mark(self, x: float, text: str, out: float, in_: float) -> Mark:
        words = self.game.words
        parts = [
            text,
            f"{words.legend[1]}: about {fixed(in_ * self.n_in, 0)} of {self.n_in:,} {words.unit}; "
            f"{words.legend[0]}: about {fixed(out * self.n_out, 0)} of {self.n_out:,}",
        ]
        if out > 0.0 and in_ > 0.0:
            parts.append(f"privacy loss {number(float(np.log(in_ / out)))} (estimate)")
        if self.threshold is not None:
            parts.append(f"the bound counts scores from {number(self.threshold, 4)}")
        return Mark(x, max(out, in_), ". ".join(parts))

    @property
    def _has_threshold(self) -> bool:
        return self.threshold is not None and bool(np.isfinite(self.threshold))

    def _draw(self, ax: Axes) -> None:
        """Draw the histograms, the share of runs on a logarithmic axis."""
        names = self.game.words.legend
        handles: list[Any] = []
        for shares, colour, dashes, name in ((self.out, SIDE0, OUT, names[0]), (self.in_, SIDE1, IN, names[1])):
            if len(self.edges):
                ax.stairs(shares, self.edges, baseline=0.0, color=colour.light, linewidth=1.6, linestyle=dashes)
                ax.stairs(shares, self.edges, baseline=0.0, color=colour.light, fill=True, alpha=0.12)
            handles.append(Line2D([], [], color=colour.light, linewidth=2.2, linestyle=dashes, label=name))
        low, high = self._reach()
        if self._has_threshold:
            handles.append(self._draw_threshold(ax, low, high))
        self._draw_atoms(ax, low, high)
        y = f"share of the {self.game.words.unit}" + (" in each bin" if len(self.edges) else "")
        style_axes(ax, title=self.title, x="score (higher = more like side 1)", y=y, handles=handles)
        logarithmic(ax.yaxis, self._floor(), 1.25, zero=True)
        ax.set_xlim(low, high)

    def _floor(self) -> float:
        """Return a power of ten below the smallest drawn share."""
        shares = np.concatenate([self.out, self.in_, self.atoms_out, self.atoms_in])
        smallest = float(np.min(shares[shares > 0.2 / max(self.n_out, self.n_in)], initial=0.1))
        return float(10.0 ** np.floor(np.log10(smallest / 1.5)))

    def _reach(self) -> tuple[float, float]:
        """Return the range of the x axis: all bins and finite atoms, with margins for infinite atoms."""
        finite = np.concatenate([self.edges, self.atoms[np.isfinite(self.atoms)]])
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (-1.0, 1.0)
        margin = 0.08 * (high - low) if high > low else max(1.0, abs(high)) * 0.5
        room = 2.0 * margin
        return low - (room if -np.inf in self.atoms else margin), high + (room if np.inf in self.atoms else margin)

    def _draw_atoms(self, ax: Axes, low: float, high: float) -> None:
        """Draw one stem per side and atom, next to each other; infinite scores are at the margins."""
        width = high - low
        places = np.clip(self.atoms, low + 0.05 * width, high - 0.05 * width)
        marks = ((self.atoms_out, SIDE0, OUT, "s", -3.0), (self.atoms_in, SIDE1, IN, "o", 3.0))
        for shares, colour, dashes, marker, shift in marks:
            moved = ax.transData + ScaledTranslation(shift / 72, 0.0, ax.figure.dpi_scale_trans)
            ax.vlines(places, 0.0, shares, color=colour.light, linewidth=3.0, transform=moved, linestyle=dashes)
            style: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 5, "color": colour.light}
            ax.plot(places, shares, transform=moved, **style)
        for score, place in zip(self.atoms, places, strict=True):
            if np.isinf(score):
                ax.annotate(
                    number(float(score)),
                    (place, 0.0),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, -14),
                    textcoords="offset points",
                    ha="center",
                    va="top",
                    color=MUTED.light,
                    fontsize=9,
                )

    def _draw_threshold(self, ax: Axes, low: float, high: float) -> Any:
        """Draw a line at the threshold of the bound, clipped to the range of the x axis."""
        place = min(max(self.threshold or 0.0, low), high)
        return ax.axvline(place, label=BEGINS, color=MUTED.light, linewidth=1.0, linestyle=(0, (1, 1.5)))


def _auc(tally: Tally) -> float:
    """Return the area under the ROC curve by the trapezoidal rule."""
    fpr = np.concatenate([[0.0], tally.hits_out[::-1] / tally.n_out, [1.0]])
    tpr = np.concatenate([[0.0], tally.hits_in[::-1] / tally.n_in, [1.0]])
    return float(np.sum(np.diff(fpr) * 0.5 * (tpr[1:] + tpr[:-1])))


def _merged(tally: Tally) -> Tally:
    """Return the tally with thresholds merged that differ only by rounding."""
    t = tally.thresholds
    finite = t[np.isfinite(t)]
    near = 1e-9 * float(finite[-1] - finite[0]) if len(finite) else 0.0
    with np.errstate(invalid="ignore"):
        first = np.concatenate([[True], ~(np.diff(t) <= near)])
    return Tally(t[first], tally.hits_out[first], tally.hits_in[first], tally.n_out, tally.n_in)


def _shares(hits: np.ndarray, n: int) -> Floats:
    """Return the share of the runs from each threshold to the next, or to infinity for the last."""
    return -np.diff(np.append(hits, 0)) / n


def _atoms(tally: Tally, out: Floats, in_: Floats) -> np.ndarray:
    """Return a mask of the intervals between thresholds that are single scores: too many runs for their width.

    Thresholds are quantiles: an interval of a continuous distribution has about the same share as its neighbours.
    """
    t, share = tally.thresholds, np.maximum(out, in_)
    infinite = ~np.isfinite(t)
    if len(t) <= FEW:
        light = (share > 0) & (share <= HEAVY) & ~infinite
        return (~light if np.count_nonzero(light) >= SOME else np.ones(len(t), dtype=bool)) & (share > 0)
    typical = float(np.median(share[share > 0]))
    return infinite & (share > 0) | (share > max(HEAVY, 4.0 * typical))


def _edges(thresholds: Floats, share: Floats, bins: int) -> Floats:
    """Return edges of equal bins over all but the far tails, which are counted in the outermost bins."""
    finite = np.isfinite(thresholds) & (share > 0)
    if np.count_nonzero(finite) < 2:
        return np.empty(0)
    t, weight = thresholds[finite], np.cumsum(share[finite]) / np.sum(share[finite])
    beyond = thresholds[np.isfinite(thresholds) & (thresholds > t[-1])]
    last = beyond[0] if len(beyond) else t[-1]  # scores of the last interval lie below the next threshold
    bulk = np.interp([0.01, 0.99], weight, t)
    spare = 0.1 * (bulk[1] - bulk[0])
    low, high = max(t[0], bulk[0] - spare), min(last, bulk[1] + spare)
    return np.linspace(low, high, bins + 1) if high > low else np.empty(0)


def _binned(thresholds: Floats, share: Floats, edges: Floats) -> Floats:
    """Return the shares in the bins, with the runs between two thresholds spread evenly."""
    if not len(edges):
        return np.empty(0)
    finite = np.isfinite(thresholds)
    t, w = thresholds[finite], share[finite]
    below = np.concatenate([[0.0], np.cumsum(w)[:-1]])
    at = np.interp(edges, t, below)
    at[0], at[-1] = 0.0, float(np.sum(w))
    return np.diff(at)
