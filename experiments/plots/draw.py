"""All figures of an experiment, and the overview of one audit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from matplotlib.axes import Axes

from ...audit.evidence.game import Game
from ...audit.evidence.verdict import Verdict
from ...audit.results.audit_result import AuditResult
from ...audit.results.explained import Explained
from ...mechanisms.errors import DpassayError
from ..results.formatting import cut, number, parameters_text
from .bound_claim import BoundClaim
from .ladder import Ladder
from .profile import Profile
from .reconstruction import SuccessCeiling, SuccessSweep
from .scores import ScoreHistogram
from .style.canvas import SMALL, NotebookFigure, new_figure
from .style.files import FONT, save
from .style.palette import INK, MUTED
from .tradeoff import Tradeoff

if TYPE_CHECKING:
    from ..results.sweep import SweepPoint, SweepResult

SHOWN = 6
"""Audits of a sweep that get figures of their own: violations first, then spread over the sweep."""


class Plot(Protocol):
    """Numbers that know how to draw and describe themselves."""

    @property
    def title(self) -> str: ...
    @property
    def caption(self) -> str: ...
    def plot(self, ax: Axes | None = None) -> Axes: ...


OF_AN_AUDIT: dict[str, Callable[[AuditResult], Plot]] = {
    "tradeoff": Tradeoff.from_result,
    "profile": Profile.from_result,
    "scores": ScoreHistogram.from_result,
    "success": SuccessCeiling.from_result,
}
"""File name -> plot, for every audit that is shown."""
OF_A_GAME = {
    Game.DISTINGUISHING: ("tradeoff", "profile", "scores"),
    Game.MEMBERSHIP: ("tradeoff", "scores"),
    Game.RECONSTRUCTION: ("success",),
    Game.RECONSTRUCTION_OF_BITS: ("success", "scores"),
}
"""Which of them its evidence can show: the scores of one run are not independent, and successes have no scores."""


def plots_of(result: AuditResult) -> dict[str, Plot]:
    """The plots of one audit, by file name."""
    return {name: OF_AN_AUDIT[name](result) for name in names_of(result)}


def names_of(result: AuditResult) -> list[str]:
    """File names of the plots of one audit."""
    return [name for name in OF_A_GAME[result.game] if name != "success" or result.recovery is not None]


def draw_all(sweep: SweepResult, directory: Path) -> list[Path]:
    """Draws the figures of an experiment into `directory`, each as SVG and PNG.

    Args:
        sweep: the result.
        directory: made if missing; figures of the same name are replaced.

    Returns:
        The files: `bound-claim.*`, `success.*` of reconstructions, then `audit-NN-tradeoff.*` and the like for the
        audits that `shown` picks and the plots of their game, NN being their place in the sweep, from 1. A figure that
        cannot be drawn is left out with a `RuntimeWarning`: no number depends on it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    explained = Explained(through=(OSError, DpassayError))
    files = explained.step("the figure bound-claim", partial(_overview, sweep, directory), [])
    files += explained.step("the figure success", partial(_success, sweep, directory), [])
    digits = max(2, len(str(len(sweep.points))))
    for place in shown(sweep.points):
        point, number_ = sweep.points[place], f"audit-{place + 1:0{digits}}"
        for name in names_of(point.result):
            make = partial(_figure, point, name, directory / f"{number_}-{name}")
            files += explained.step(f"the figure {number_}-{name}", make, [])
    for text in explained.warnings:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return files


def _overview(sweep: SweepResult, directory: Path) -> list[Path]:
    seen = overview(sweep)
    return _draw(seen, directory / "bound-claim", width=7.6, height=seen.height)


def _success(sweep: SweepResult, directory: Path) -> list[Path]:
    if not SuccessSweep.fits(sweep):
        return []
    success = SuccessSweep.from_sweep(sweep)
    return _draw(success, directory / "success", width=7.6, height=success.height)


def _figure(point: SweepPoint, name: str, stem: Path) -> list[Path]:
    return _draw(OF_AN_AUDIT[name](point.result), stem, width=5.2, height=4.3, of=parameters_text(point.parameters))


def draw_result(result: AuditResult) -> NotebookFigure:
    """All views of one audit on one figure, two in a row."""
    plots: list[Plot] = [BoundClaim.from_result(result), *plots_of(result).values()]
    rows = max(2, math.ceil(len(plots) / 2))
    figure = new_figure(11.0, 4.3 * rows)
    grid = figure.add_gridspec(rows, 2)
    for place, plot in enumerate(plots):
        plot.plot(figure.add_subplot(grid[place]))
    headline = f"{result.verdict.value}: {cut(result.mechanism, 100)}"
    figure.suptitle(
        headline, x=0.01, ha="left", color=INK.light, fontfamily=FONT, fontsize=12, fontweight="bold", parse_math=False
    )
    return figure


def shown(points: Sequence[SweepPoint], limit: int = SHOWN) -> list[int]:
    """Places of the audits that get figures of their own, in the order of the sweep.

    Half of them are violations where there are as many, the rest is spread evenly from the first to the last.
    """
    if len(points) <= limit:
        return list(range(len(points)))
    refuted = [i for i, point in enumerate(points) if point.verdict is Verdict.VIOLATION][: limit // 2]
    spare = limit - len(refuted)
    spread = [round(i * (len(points) - 1) / (spare - 1)) for i in range(spare)]
    return sorted({*refuted, *spread})


def overview(sweep: SweepResult) -> BoundClaim | Ladder:
    """Bounds and claims: along a number that is swept, or a ladder where nothing that is swept is a number."""
    return BoundClaim.from_sweep(sweep) if BoundClaim.fits(sweep) else Ladder.from_sweep(sweep)


def _draw(plot: Plot, stem: Path, *, width: float, height: float, of: str = "") -> list[Path]:
    """A figure; `of` names the audit that it shows, where there are several."""
    figure = new_figure(width, height)
    plot.plot(figure.add_subplot())
    if of:
        style: dict[str, Any] = {"color": MUTED.light, "fontfamily": FONT, "fontsize": SMALL, "parse_math": False}
        figure.suptitle(cut(of, 80), x=0.012, ha="left", **style)
    return save(figure, stem, title=f"{of}: {plot.title}" if of else plot.title, description=plot.caption)


__all__ = ["SHOWN", "Plot", "draw_all", "draw_result", "number", "overview", "plots_of", "shown"]
