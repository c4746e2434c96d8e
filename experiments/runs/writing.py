"""Writing the files of a result: numbers, evidence card, figures and reports.

results.json, results.csv -> evidence card -> figures -> report
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...audit.evidence.verdict import Verdict
from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...mechanisms.core.printable import csv_cell
from ..config.schema import Config
from ..report.results.provenance import environment
from ..report.results.sweep import SweepResult
from .directory import RunDirectory
from .evidence import latex_table, write_evidence

if TYPE_CHECKING:
    import pandas as pd

AGAIN = "dpassay run config.toml --out again"
"""Command that repeats an experiment from the configuration in its report."""


@dataclass(frozen=True)
class ConfigRun:
    """A finished experiment.

    Args:
        directory: the run directory.
        result: the audits and the verdict; or the metrics of membership attacks; or the risks of a table.
        files: the figures, the reports and the evidence.
    """

    directory: Path
    result: SweepResult | MembershipResult | RiskResult
    files: tuple[Path, ...]

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the claims; None for metrics."""
        return self.result.verdict if isinstance(self.result, SweepResult) else None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per audit or attack, as in results.csv."""
        return self.result.to_frame()

    def to_latex(self) -> str:
        """Return the table of results as LaTeX, as in results.tex; it needs the package booktabs."""
        return latex_table(self.result)


def write_results(
    result: SweepResult | MembershipResult,
    config: Config,
    name: str,
    directory: RunDirectory,
    *,
    inputs: Mapping[str, str] | None = None,
    known: Mapping[str, Any] | None = None,
    pdf: bool = False,
) -> list[Path]:
    """Write the numbers, the evidence card, the figures and the reports; return all but the numbers.

    Args:
        result, config, directory: of the run.
        name: of the experiment.
        inputs: path -> SHA-256 of files outside the directory that the run read.
        known: environment of the run; None for the present one.
        pdf: whether to draw the figures as PDF too.
    """
    from ..report.membership import write_membership
    from ..report.pages import write
    from ..report.plots import draw_all
    from ..report.plots.membership import draw_study

    write_numbers(result, directory)
    title = result.title if isinstance(result, SweepResult) else config.title or name
    _, evidence = write_evidence(
        result,
        directory,
        title=title,
        command=AGAIN,
        environment=environment() if known is None else known,
        unit=config.unit,
        inputs=inputs,
    )
    with directory.disk():
        if isinstance(result, MembershipResult):
            figures = draw_study(result, directory.figures(), pdf=pdf)
            trained = config.data.shadows if config.data is not None else None
            models = ("mechanism", config.mechanism.name) if trained is None else ("shadow models", trained)
            settings = (models, ("seed", str(config.seed)))
            pages = write_membership(
                result,
                directory.path,
                figures,
                title=title,
                description=config.description,
                settings=settings,
                command=AGAIN,
                config=config.to_toml(),
            )
            return [*figures, *pages, *evidence]
        figures = draw_all(result, directory.figures(), pdf=pdf)
        pages = write(result, directory.path, figures, command=AGAIN, config=config.to_toml())
        return [*figures, *pages, *evidence]


def write_numbers(result: SweepResult | MembershipResult | RiskResult, directory: RunDirectory) -> None:
    """Write results.json and results.csv."""
    directory.write("results.json", result.to_json())
    table = io.StringIO()
    frame = result.to_frame().map(csv_cell).rename(columns=csv_cell)
    frame.to_csv(table, index=False, lineterminator="\n")
    directory.write("results.csv", table.getvalue())


def write_records(result: MembershipResult, ids: Sequence[str], directory: RunDirectory) -> None:
    """Write results.records.csv, the table of the records of shadow models of other code."""
    table = record_frame(result, ids).map(csv_cell).to_csv(index=False, lineterminator="\n")
    directory.write("results.records.csv", table)


def record_frame(result: MembershipResult, ids: Sequence[str]) -> pd.DataFrame:
    """Return one row per record: AUC, share of detections at 1 % FPR and adjusted p-value under each attack.

    The most exposed record is first.
    """
    import pandas as pd

    frame = pd.DataFrame({"record": list(ids)})
    for metrics in result.attacks:
        if metrics.records is not None:
            frame[f"{metrics.attack}: AUC"] = metrics.records.auc
            frame[f"{metrics.attack}: detected"] = metrics.records.tpr
            frame[f"{metrics.attack}: p (Holm)"] = metrics.records.holm
    best = result.headline.records
    if best is None:
        return frame
    return frame.iloc[np.lexsort((-np.nan_to_num(best.auc), best.p_value))]
