"""Membership attacks: ROC curves on logarithmic axes, and the vulnerability of each record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from scipy.special import ndtr

from ....audit.bounds.pair.simultaneous import band
from ....audit.evidence.scores import Tally
from ....audit.metrics.membership.result import HEADLINE_FPR as AT, AttackMetrics, MembershipResult, Region
from ....audit.metrics.membership.text import too_few_models
from ....mechanisms.core import Floats, confidence_text, number, percent
from ..results.parameters import cut
from .style import (
    CLAIM,
    MUTED,
    SERIES,
    SIDE0,
    VIOLATION,
    NotebookFigure,
    Plot,
    logarithmic,
    new_figure,
    save,
    series_colour,
    style_axes,
)

BINS = 25
SIGNIFICANCE = 0.05
"""Significance level of the statement that these records are exposed, over all records."""
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
"""Line styles: 36 combinations with the colours, and consecutive lines differ in both."""
NAME, DETAIL = 34, 5.2
"""Characters of a name, two of which fit side by side above a figure; width in inches, which fits a telephone."""
REGION, FORBIDDEN, CHANCE = "largest rate allowed by the claim", "forbidden by the claim", "expected by chance"


@dataclass(frozen=True, eq=False)
class MembershipCurve:
    """ROC curve of one attack.

    Args:
        name: the attack.
        fpr, tpr: `(m,)` observed at each threshold, increasing.
        low_tpr: `(m,)` lower edge of the confidence band, simultaneous over all thresholds; None if it is not drawn.
    """

    name: str
    fpr: Floats
    tpr: Floats
    low_tpr: Floats | None = None


@dataclass(frozen=True, eq=False)
class MembershipRoc(Plot):
    """True positive rate against false positive rate on logarithmic axes, which show small false positive rates.

    Args:
        curves: the attacks, the best one first.
        region: rates that the claim allows; None without a claim.
        n_out: number of non-members' scores; rates below 1 / n_out cannot be observed.
        confidence: confidence of the band of the first curve.
        clustered: True if the band is approximate because scores share models and records.
        tpr: true positive rate of the first attack at a false positive rate of 1 %.
    """

    curves: tuple[MembershipCurve, ...]
    region: Region | None
    n_out: int
    confidence: float
    clustered: bool
    tpr: float

    @classmethod
    def from_result(cls, result: MembershipResult) -> MembershipRoc:
        """Return the curves of all attacks: the headline attack first and with a band, then by true positive rate."""
        first = result.headline
        others = sorted((m for m in result.attacks if m is not first), key=lambda metrics: -metrics.rate_at(AT).tpr)
        curves = [_curve(first, result.confidence), *(_curve(metrics, None) for metrics in others)]
        n_out = max(metrics.n_out for metrics in result.attacks)
        tpr = first.rate_at(AT).tpr
        return cls(tuple(curves), result.region, n_out, result.confidence, result.n_models > 1, tpr)

    @property
    def title(self) -> str:
        """True positive rate of the headline attack, as a sentence."""
        name = cut(self.curves[0].name, 40)
        return f"At {percent(AT)} false positives, {name} identifies {percent(self.tpr)} of the members"

    @property
    def caption(self) -> str:
        about = " (approximately: scores share models and records)" if self.clustered else ""
        region = f" If the claim is true, no attack can enter the region “{FORBIDDEN}”." if self.region else ""
        return (
            "Each point of a curve is one threshold: the share of non-members classified as members, and the share of "
            f"members classified as members; both axes include 0. With {confidence_text(self.confidence)} "
            f"confidence{about}, the true curve of “{cut(self.curves[0].name, NAME)}” lies above the lower edge of its "
            f"band.{region} "
            "These are metrics, not bounds on epsilon."
        )

    def _draw(self, ax: Axes) -> None:
        """Draw the curves on logarithmic axes."""
        floor = 0.5 / self.n_out
        handles = self._draw_region(ax, floor)
        for place, curve in reversed(list(enumerate(self.curves))):
            colour, dashes = series_colour(place), DASHES[sum(divmod(place, len(SERIES))) % len(DASHES)]
            style: dict[str, Any] = {
                "color": colour.light,
                "linestyle": dashes,
                "linewidth": 1.8 if place == 0 else 1.2,
            }
            lines = ax.step(
                curve.fpr, curve.tpr, where="post", label=cut(curve.name, NAME), zorder=3 - place / 100, **style
            )
            handles = [*lines, *handles]
            if curve.low_tpr is not None:
                band: dict[str, Any] = {"color": colour.light, "alpha": 0.15, "linewidth": 0}
                ax.fill_between(curve.fpr, curve.low_tpr, curve.tpr, step="post", **band)
        guess = np.append(0.0, np.geomspace(0.1 * floor, 1.0, 60))
        dots: dict[str, Any] = {"color": MUTED.light, "linewidth": 0.9, "linestyle": (0, (1, 2)), "zorder": 1}
        handles += ax.plot(guess, guess, label="guessing", **dots)
        style_axes(ax, title=self.title, x="false positive rate", y="true positive rate", handles=handles, columns=2)
        logarithmic(ax.xaxis, floor, 1.15, zero=True)
        logarithmic(ax.yaxis, floor, 1.15, zero=True)

    def _draw_region(self, ax: Axes, floor: float) -> list[Any]:
        if self.region is None:
            return []
        fpr = np.append(0.0, np.geomspace(0.1 * floor, 1.0, 120))
        tpr = np.interp(fpr, self.region.fpr, self.region.tpr)
        ax.fill_between(fpr, tpr, 1.15, color=VIOLATION.light, alpha=0.13, linewidth=0)
        line = ax.plot(fpr, tpr, color=CLAIM.light, linewidth=1.4, label=REGION)
        return [*line, Patch(color=VIOLATION.light, alpha=0.13, linewidth=0, label=FORBIDDEN)]


@dataclass(frozen=True, eq=False)
class RecordVulnerability(Plot):
    """Histogram of the AUC of each record over the models.

    Args:
        name: the attack.
        auc: `(n_records,)`.
        null: `(BINS,)` number of records expected in each bin if none is exposed (normal approximation).
        n_exposed: number of exposed records, with Holm's correction over all records.
        too_few: reason why no record can be shown to be exposed; empty if that is possible.
    """

    name: str
    auc: Floats
    null: Floats
    n_exposed: int
    too_few: str = ""

    @classmethod
    def from_metrics(cls, metrics: AttackMetrics, n_models: int) -> RecordVulnerability:
        """Return the histogram of the records of one attack; raises `ValueError` if it has no table of records."""
        if metrics.records is None:
            raise ValueError(f"{metrics.attack} has no table of records: it needs more models.")
        auc = metrics.records.auc[np.isfinite(metrics.records.auc)]
        half = max(1, n_models // 2)
        spread = np.sqrt((2 * half + 1.0) / (12.0 * half * half))
        null = len(auc) * np.diff(ndtr((np.linspace(0.0, 1.0, BINS + 1) - 0.5) / spread))
        too_few = "" if metrics.records.resolvable else too_few_models(metrics.records, n_models)
        return cls(metrics.attack, auc, null, len(metrics.records.exposed()), too_few)

    @property
    def title(self) -> str:
        """Number of exposed records, and the attack."""
        if self.too_few:
            return f"Too few models to test any of {len(self.auc):,} records individually"
        of_all = percent(self.n_exposed / max(1, len(self.auc)))
        name = cut(self.name, 40)
        return f"{self.n_exposed:,} of {len(self.auc):,} records ({of_all}) are individually exposed by {name}"

    @property
    def caption(self) -> str:
        return (
            "For each record, the probability that a model with it scores higher than a model without it "
            f"({cut(self.name, NAME)}); “{CHANCE}” is the histogram if no record were exposed and all scores of a "
            "record were independent. "
            f"Exposed: p <= {number(SIGNIFICANCE)}, corrected for all records."
            f"{' ' if self.too_few else ''}{self.too_few}"
        )

    def _draw(self, ax: Axes) -> None:
        """Draw the histogram."""
        edges = np.linspace(0.0, 1.0, BINS + 1)
        ax.hist(self.auc, bins=edges.tolist(), color=series_colour(0).light, alpha=0.75, rwidth=0.94, label="records")
        middle = 0.5 * (edges[1:] + edges[:-1])
        ax.plot(middle, self.null, color=SIDE0.light, linewidth=1.6, label=CHANCE)
        top = float(max(np.histogram(self.auc, edges)[0].max(initial=1), self.null.max()))
        ax.set(xlim=(-0.01, 1.01), ylim=(0.0, 1.12 * top))
        x = "area under the ROC curve (AUC) of the record, over models"
        style_axes(ax, title=self.title, x=x, y="records", columns=2)


def draw_membership(result: MembershipResult) -> NotebookFigure:
    """Return a figure with the ROC curves and, next to them, the records under the headline attack."""
    records = _records(result)
    figure = new_figure(11.4 if records else 6.4, 5.6)
    grid = figure.add_gridspec(1, 2 if records else 1, width_ratios=[1.25, 1.0] if records else None)
    MembershipRoc.from_result(result).plot(figure.add_subplot(grid[0]))
    if records:
        records.plot(figure.add_subplot(grid[1]))
    return figure


def draw_study(result: MembershipResult, directory: Path, *, pdf: bool = False) -> list[Path]:
    """Draw `membership-roc.*` and, with enough models, `membership-records.*` into `directory`; return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for name, plot in (("membership-roc", MembershipRoc.from_result(result)), ("membership-records", _records(result))):
        if plot is not None:
            figure = new_figure(DETAIL, 4.8)
            plot.plot(figure.add_subplot())
            files += save(figure, directory / name, title=plot.title, description=plot.caption, pdf=pdf)
    return files


def _records(result: MembershipResult) -> RecordVulnerability | None:
    """Return the records under the headline attack, else under the first attack with a table; None if none has one."""
    tables = [metrics for metrics in (result.headline, *result.attacks) if metrics.records is not None]
    return RecordVulnerability.from_metrics(tables[0], result.n_models) if tables else None


def _curve(metrics: AttackMetrics, confidence: float | None) -> MembershipCurve:
    """Return the observed curve, with the lower edge of its band if a confidence is given."""
    tally = metrics.tally
    fpr, tpr = (
        np.append(hits, 0)[::-1] / n for hits, n in ((tally.hits_out, tally.n_out), (tally.hits_in, tally.n_in))
    )
    if confidence is None:
        return MembershipCurve(metrics.attack, fpr, tpr)
    low = 1.0 - band(_effective(tally, metrics.design_effect), confidence=confidence).tradeoff_upper(fpr)
    return MembershipCurve(metrics.attack, fpr, tpr, np.minimum(low, tpr))


def _effective(tally: Tally, design_effect: float) -> Tally:
    """Return the counts divided by the design effect, as of independent scores."""
    out, in_ = (np.floor(hits / design_effect).astype(np.int64) for hits in (tally.hits_out, tally.hits_in))
    return Tally(tally.thresholds, out, in_, int(tally.n_out / design_effect), int(tally.n_in / design_effect))


__all__ = ["MembershipRoc", "RecordVulnerability", "draw_membership", "draw_study"]
