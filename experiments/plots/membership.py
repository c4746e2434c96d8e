"""Membership attacks: ROC curves on logarithmic axes, and the vulnerability of each record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtr

from audit.bounds.simultaneous import band
from audit.games import Floats, Tally
from audit.membership.result import AttackMetrics, MembershipResult, Region
from audit.membership.text import too_few_models
from audit.text import percent
from experiments.plots.canvas import NotebookFigure, axes_or_new, legend, logarithmic, new_figure, style_axes, write
from experiments.plots.files import save
from experiments.plots.formatting import cut
from experiments.plots.palette import CLAIM, MUTED, SIDE0, VIOLATION, series_colour

BINS = 25
SIGNIFICANCE = 0.05
"""Of the statement that these records are exposed, over all of them."""
LINES = 6
"""Attacks that get a line of their own colour; the others are thin and grey."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One attack.

    Args:
        name: the attack.
        fpr, tpr: `(m,)` observed at each threshold, increasing.
        low_tpr: `(m,)` with the confidence of the plot, all thresholds at once, the true curve lies above; None if it
            is not drawn.
    """

    name: str
    fpr: Floats
    tpr: Floats
    low_tpr: Floats | None = None


@dataclass(frozen=True, eq=False)
class MembershipRoc:
    """True positive rate against false positive rate, both logarithmic: what counts is the left edge.

    Args:
        curves: the attacks, the best one first.
        region: what the accountant allows; None without a claim.
        n_out: non-members' scores: rates below 1 / n_out are not seen.
        confidence: of the band of the first curve.
        clustered: whether the band is approximate because models and records are shared.
        found: true positive rate of the first attack at 1 % false positives.
    """

    curves: tuple[Curve, ...]
    region: Region | None
    n_out: int
    confidence: float
    clustered: bool
    found: float

    @classmethod
    def from_result(cls, result: MembershipResult) -> MembershipRoc:
        """The curves of all attacks, in the order of their true positive rate at 1 % FPR; the first with a band.

        The loss, which all are compared with, keeps a colour.
        """
        ranked = sorted(result.attacks, key=lambda metrics: -metrics.rate_at(0.01).tpr)
        places = [i for i, metrics in enumerate(ranked) if metrics.attack == "loss"]
        if places and places[0] >= LINES:
            ranked.insert(LINES - 1, ranked.pop(places[0]))
        curves = [_curve(metrics, result.confidence if i == 0 else None) for i, metrics in enumerate(ranked)]
        n_out = max(metrics.n_out for metrics in result.attacks)
        found = ranked[0].rate_at(0.01).tpr
        return cls(tuple(curves), result.region, n_out, result.confidence, result.n_models > 1, found)

    @property
    def title(self) -> str:
        """What is seen, in one line."""
        return f"At 1 % false alarms, {cut(self.curves[0].name, 40)} finds {100 * self.found:.3g} % of the members"

    @property
    def caption(self) -> str:
        """How to read it."""
        about = " (approximately: scores share models and records)" if self.clustered else ""
        region = " No attack can enter the shaded region if the accountant is right." if self.region else ""
        return (
            "Each point of a curve is one threshold: the share of non-members that it calls members, and the share of "
            f"members that it finds. Guessing lies on the dotted diagonal. With {percent(self.confidence)} confidence"
            f"{about} the true curve of the first attack lies above the lower edge of its band.{region} These are "
            "metrics, not bounds on epsilon."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it."""
        ax = axes_or_new(ax)
        floor = 0.5 / self.n_out
        guess = np.array([floor, 1.0])
        ax.plot(guess, guess, color=MUTED.light, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        self._draw_region(ax, floor)
        for i, curve in reversed(list(enumerate(self.curves))):
            colour = series_colour(i) if i < LINES else MUTED
            seen = curve.tpr > 0.0
            x, y = np.maximum(curve.fpr[seen], floor), np.maximum(curve.tpr[seen], floor)
            name = cut(curve.name, 44) if i < LINES else "other attacks" if i == LINES else None
            ax.step(x, y, where="post", color=colour.light, linewidth=1.8 if i == 0 else 1.1, label=name, zorder=9 - i)
            if curve.low_tpr is not None:
                low = np.maximum(curve.low_tpr[seen], floor)
                ax.fill_between(x, low, y, color=colour.light, alpha=0.15, linewidth=0, step="post")
        style_axes(ax, title=self.title, x="false positive rate", y="true positive rate")
        logarithmic(ax.xaxis)
        logarithmic(ax.yaxis)
        ax.set(xlim=(floor, 1.05), ylim=(floor, 1.3))
        self._key(ax)
        return ax

    def _key(self, ax: Axes) -> None:
        handles, labels = ax.get_legend_handles_labels()
        legend(ax, handles=handles[::-1], labels=labels[::-1], loc="lower right")

    def _draw_region(self, ax: Axes, floor: float) -> None:
        if self.region is None:
            return
        fpr = np.geomspace(floor, 1.0, 120)
        tpr = np.interp(fpr, self.region.fpr, self.region.tpr)
        ax.fill_between(fpr, tpr, 1.3, color=VIOLATION.light, alpha=0.13, linewidth=0)
        ax.plot(fpr, tpr, color=CLAIM.light, linewidth=1.4, label="most that the accountant allows")
        write(ax, 0.03, 0.97, "forbidden by the claim", VIOLATION, transform=ax.transAxes, va="top", fontsize=8.5)


@dataclass(frozen=True, eq=False)
class RecordVulnerability:
    """How many records are how exposed: the AUC of each record over the models.

    Args:
        name: the attack.
        auc: `(n_records,)`.
        null: `(BINS,)` number of records expected in each bin if none were exposed (normal approximation).
        n_exposed: records that are exposed, with Holm's correction over all.
        too_few: why none could have been; empty where some could.
    """

    name: str
    auc: Floats
    null: Floats
    n_exposed: int
    too_few: str = ""

    @classmethod
    def from_metrics(cls, metrics: AttackMetrics, n_models: int) -> RecordVulnerability:
        """Of the records of one attack; raises `ValueError` if it has no table of records."""
        if metrics.records is None:
            raise ValueError(f"{metrics.attack} has no table of records: it takes more models.")
        auc = metrics.records.auc[np.isfinite(metrics.records.auc)]
        half = max(1, n_models // 2)
        spread = np.sqrt((2 * half + 1.0) / (12.0 * half * half))
        null = len(auc) * np.diff(ndtr((np.linspace(0.0, 1.0, BINS + 1) - 0.5) / spread))
        too_few = "" if metrics.records.resolvable else too_few_models(metrics.records, n_models)
        return cls(metrics.attack, auc, null, len(metrics.records.exposed()), too_few)

    @property
    def title(self) -> str:
        """What is seen, in one line."""
        if self.too_few:
            return f"Too few models to expose any of {len(self.auc):,} records one by one"
        share = self.n_exposed / max(1, len(self.auc))
        return f"{self.n_exposed:,} of {len(self.auc):,} records ({100 * share:.3g} %) are exposed one by one"

    @property
    def caption(self) -> str:
        """How to read it."""
        return (
            f"For each record, how often a model with it scores higher ({self.name}) than a model without it. The line "
            f"is what chance alone would give. Exposed: Holm-adjusted p <= {SIGNIFICANCE:g} over all records."
            f"{' ' if self.too_few else ''}{self.too_few}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it."""
        ax = axes_or_new(ax)
        edges = np.linspace(0.0, 1.0, BINS + 1)
        ax.hist(self.auc, bins=edges.tolist(), color=series_colour(0).light, alpha=0.75, rwidth=0.94)
        middle = 0.5 * (edges[1:] + edges[:-1])
        ax.plot(middle, self.null, color=SIDE0.light, linewidth=1.6)
        top = float(max(np.histogram(self.auc, edges)[0].max(initial=1), self.null.max()))
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.12 * top))
        write(
            ax,
            float(middle[np.argmax(self.null)]),
            float(self.null.max()) + 0.015 * top,
            "chance alone",
            SIDE0,
            ha="center",
            va="bottom",
        )
        style_axes(ax, title=self.title, x="AUC of the record, over models", y="records")
        return ax


def draw_membership(result: MembershipResult) -> NotebookFigure:
    """The ROC curves, and beside them the records under the attack that exposes most of them."""
    records = _records(result)
    figure = new_figure(11.4 if records else 6.4, 5.0)
    grid = figure.add_gridspec(1, 2 if records else 1, width_ratios=[1.25, 1.0] if records else None)
    MembershipRoc.from_result(result).plot(figure.add_subplot(grid[0]))
    if records:
        records.plot(figure.add_subplot(grid[1]))
    return figure


def draw_study(result: MembershipResult, directory: Path) -> list[Path]:
    """Draws `membership-roc.*` and, with enough models, `membership-records.*` into `directory`; returns the files."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for name, plot in (("membership-roc", MembershipRoc.from_result(result)), ("membership-records", _records(result))):
        if plot is not None:
            figure = new_figure(6.0, 4.6)
            plot.plot(figure.add_subplot())
            files += save(figure, directory / name, title=plot.title, description=plot.caption)
    return files


def _records(result: MembershipResult) -> RecordVulnerability | None:
    """The records under the attack that exposes most of them; None with too few models for a table."""
    tables = [metrics for metrics in result.attacks if metrics.records is not None]
    if not tables:
        return None
    most = max(tables, key=lambda metrics: (len(metrics.records.exposed()) if metrics.records else 0, metrics.auc))
    return RecordVulnerability.from_metrics(most, result.n_models)


def _curve(metrics: AttackMetrics, confidence: float | None) -> Curve:
    """The observed curve, and with a confidence the lower edge of its band."""
    tally = metrics.tally
    fpr, tpr = (
        np.append(hits, 0)[::-1] / n for hits, n in ((tally.hits_out, tally.n_out), (tally.hits_in, tally.n_in))
    )
    if confidence is None:
        return Curve(metrics.attack, fpr, tpr)
    low = 1.0 - band(_effective(tally, metrics.design_effect), confidence=confidence).tradeoff_upper(fpr)
    return Curve(metrics.attack, fpr, tpr, np.minimum(low, tpr))


def _effective(tally: Tally, design_effect: float) -> Tally:
    """The counts that as many independent scores would have as these are worth."""
    out, in_ = (np.floor(hits / design_effect).astype(np.int64) for hits in (tally.hits_out, tally.hits_in))
    return Tally(tally.thresholds, out, in_, int(tally.n_out / design_effect), int(tally.n_in / design_effect))


__all__ = ["MembershipRoc", "RecordVulnerability", "draw_membership", "draw_study"]
