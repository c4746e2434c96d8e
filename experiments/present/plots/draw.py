"""Figures of an experiment, and the overview of one audit."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....audit.evidence.game import Game
from ....audit.evidence.verdict import Verdict
from ....audit.results.audit_result import AuditResult
from ....audit.results.explanations import Explanations
from ....audit.results.result_text import tone_of
from ....mechanisms.core import DpassayError
from ..results.parameters import cut, parameters_text
from .bound_claim import BoundClaim
from .breakdown import BreakdownPlot
from .labels import number
from .ladder import LadderPlot
from .profile import MAX_EPSILON, Profile
from .reconstruction import SuccessCeiling, SuccessSweep
from .scores import ScoreHistogram
from .style import FONT, INK, MUTED, SMALL, NotebookFigure, Plot, new_figure, save, stacked
from .tradeoff import Tradeoff

if TYPE_CHECKING:
    from ..results.sweep import SweepPoint, SweepResult

WIDE, DETAIL = 7.6, 5.2
"""Widths in inches of an overview, which has another form for a telephone, and of a figure of one audit."""
HEADING = 90
"""Characters per line of the heading of all plots of an audit, which fit its width."""
N_DETAILED = 6
"""Number of audits of a sweep with separate figures: violations first, then spread over the sweep."""


OF_AN_AUDIT: dict[str, Callable[[AuditResult], Plot]] = {
    "tradeoff": Tradeoff.from_result,
    "profile": Profile.from_result,
    "scores": ScoreHistogram.from_result,
    "success": SuccessCeiling.from_result,
}
"""File name -> constructor of the plot of one audit."""
OF_A_GAME = {
    Game.DISTINGUISHING: ("tradeoff", "profile", "scores"),
    Game.MEMBERSHIP: ("tradeoff", "scores"),
    Game.RECONSTRUCTION: ("success",),
    Game.RECONSTRUCTION_OF_BITS: ("success", "scores"),
}
"""Game -> plots that its evidence allows: scores of one run are not independent, and successes have no scores."""


def plots_of(result: AuditResult) -> dict[str, Plot]:
    """Return the plots of one audit, by file name."""
    return {name: OF_AN_AUDIT[name](result) for name in _names_of(result)}


def _names_of(result: AuditResult) -> list[str]:
    """Return the file names of the plots of one audit."""
    return [name for name in OF_A_GAME[result.game] if name != "success" or result.recovery is not None]


def draw_all(sweep: SweepResult, directory: Path, *, pdf: bool = False) -> list[Path]:
    """Draw the figures of an experiment into `directory`, each as SVG and PNG, and with `pdf` also as PDF.

    Args:
        sweep: the result.
        directory: created if missing; figures of the same name are replaced.
        pdf: whether to draw PDF files too, with embedded fonts, for papers.

    Returns:
        The files: `bound-claim.*` and, of reconstructions, `success.*`, each with a narrow SVG; `breakdown.*` where
        parts of claims are known; then `audit-NN-tradeoff.*` and the other plots of the game for the audits selected
        by `shown`, where NN is the index in the sweep, from 1. A figure that cannot be drawn is omitted with a
        `RuntimeWarning`; no number depends on it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    explained = Explanations(through=(OSError, DpassayError))
    files = explained.step("the figure bound-claim", partial(_overview, sweep, directory, pdf), [])
    files += explained.step("the figure success", partial(_success, sweep, directory, pdf), [])
    files += explained.step("the figure breakdown", partial(_breakdown, sweep, directory, pdf), [])
    digits = max(2, len(str(len(sweep.points))))
    for place in shown(sweep.points):
        point, number_ = sweep.points[place], f"audit-{place + 1:0{digits}}"
        for name in _names_of(point.result):
            make = partial(_figure, point, name, directory / f"{number_}-{name}", pdf)
            files += explained.step(f"the figure {number_}-{name}", make, [])
    too_large = any(point.result.claim > MAX_EPSILON for point in sweep.points)
    reason = (
        f". The claimed epsilon exceeds {number(MAX_EPSILON)}, the largest that is drawn reliably" if too_large else ""
    )
    for text in explained.warnings:
        warnings.warn(f"{text}{reason}", RuntimeWarning, stacklevel=2)
    return files


def _overview(sweep: SweepResult, directory: Path, pdf: bool) -> list[Path]:
    plot = overview(sweep)
    return _draw(plot, directory / "bound-claim", width=WIDE, height=plot.height, pdf=pdf)


def _success(sweep: SweepResult, directory: Path, pdf: bool) -> list[Path]:
    if not SuccessSweep.fits(sweep):
        return []
    plot = SuccessSweep.from_sweep(sweep)
    return _draw(plot, directory / "success", width=WIDE, height=plot.height, pdf=pdf)


def _breakdown(sweep: SweepResult, directory: Path, pdf: bool) -> list[Path]:
    if not BreakdownPlot.fits(sweep):
        return []
    plot = BreakdownPlot.from_sweep(sweep)
    return _draw(plot, directory / "breakdown", width=WIDE, height=plot.height, pdf=pdf)


def _figure(point: SweepPoint, name: str, stem: Path, pdf: bool) -> list[Path]:
    audit = parameters_text(point.parameters)
    return _draw(OF_AN_AUDIT[name](point.result), stem, width=DETAIL, height=4.3, of=audit, pdf=pdf)


def figure_of(plot: Plot, width: float = 7.6, height: float | None = None) -> NotebookFigure:
    """Return one plot as a figure, with its title and caption as the text alternative.

    Args:
        plot: numbers of a figure, such as a `LadderPlot`.
        width, height: size in inches; by default the height that the plot asks for, else 4.3. The form for a telephone
            is as high, or as high as the plot asks for.
    """
    size = (width, getattr(plot, "height", 4.3) if height is None else height)
    alt = f"{plot.title}. {plot.caption}"
    figure = new_figure(*size, alt=alt)
    plot.plot(figure.add_subplot())
    if width > DETAIL:
        figure.narrow = lambda: stacked([plot.plot], getattr(plot, "narrow_height", size[1]), alt=alt)
    return figure


def draw_result(result: AuditResult) -> NotebookFigure:
    """Return one figure with all plots of one audit, two per row."""
    plots: list[Plot] = [BoundClaim.from_result(result), *plots_of(result).values()]
    rows = max(2, math.ceil(len(plots) / 2))
    figure = new_figure(11.0, 4.3 * rows)
    grid = figure.add_gridspec(rows, 2)
    for place, plot in enumerate(plots):
        plot.plot(figure.add_subplot(grid[place]))
    title = f"{tone_of(result.verdict, weak=result.weak).label.lower()}: {cut(result.mechanism, 160)}"
    figure.alt = ". ".join([title, *(plot.title for plot in plots)])
    figure.narrow = lambda: stacked([plot.plot for plot in plots], 4.3, alt=figure.alt)
    headline = "\n".join(textwrap.wrap(title, HEADING))
    figure.suptitle(
        headline, x=0.01, ha="left", color=INK.light, fontfamily=FONT, fontsize=12, fontweight="bold", parse_math=False
    )
    return figure


def shown(points: Sequence[SweepPoint], limit: int = N_DETAILED) -> list[int]:
    """Return the indices of the audits with separate figures, in the order of the sweep.

    Up to half of them are violations; the rest is spread evenly from the first audit to the last.
    """
    if len(points) <= limit:
        return list(range(len(points)))
    refuted = [i for i, point in enumerate(points) if point.verdict is Verdict.VIOLATION][: limit // 2]
    spare = limit - len(refuted)
    spread = [round(i * (len(points) - 1) / (spare - 1)) for i in range(spare)]
    return sorted({*refuted, *spread})


def overview(sweep: SweepResult) -> BoundClaim | LadderPlot:
    """Return the plot of bounds and claims: along a swept number, or a ladder if no swept parameter is a number."""
    return BoundClaim.from_sweep(sweep) if BoundClaim.fits(sweep) else LadderPlot.from_sweep(sweep)


def _draw(plot: Plot, stem: Path, *, width: float, height: float, of: str = "", pdf: bool = False) -> list[Path]:
    """Draw and save a figure; `of` names the audit where there are several."""
    with np.errstate(over="ignore", invalid="ignore"):  # of ticks at the largest numbers
        figure = figure_of(plot, width, height)
    marks = plot.marks() if isinstance(plot, Tradeoff | ScoreHistogram) else ()
    if of:
        style: dict[str, Any] = {"color": MUTED.light, "fontfamily": FONT, "fontsize": SMALL, "parse_math": False}
        figure.suptitle(cut(of, 80), x=0.012, ha="left", **style)
    title = f"{of}: {plot.title}" if of else plot.title
    return save(figure, stem, title=title, description=plot.caption, marks=marks, pdf=pdf)


__all__ = ["N_DETAILED", "Plot", "draw_all", "draw_result", "figure_of", "number", "overview", "plots_of", "shown"]
