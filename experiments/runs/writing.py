"""Writing the files of a result: numbers, evidence card, figures and reports.

results.json, results.csv -> evidence card -> figures -> report
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...audit.calibration.certificate import Certificate
from ...audit.evidence.verdict import Verdict
from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...mechanisms.core import ParameterError
from ..config.schema import Config
from ..data.table_files import csv_text
from ..present.results.provenance import environment
from ..present.results.sweep import SweepResult
from .directory import RunDirectory
from .evidence import latex_table, write_evidence

if TYPE_CHECKING:
    import pandas as pd

REPEAT_COMMAND = "dpassay run config.toml --out again"
"""Command that repeats an experiment from the configuration in its report."""
Result: TypeAlias = SweepResult | MembershipResult | RiskResult
"""Audits and their verdict; or the metrics of membership attacks; or the risks of a table."""


@dataclass(frozen=True)
class ConfigRun:
    """A finished experiment.

    Args:
        directory: the run directory.
        result: see `Result`; or the certificate of bounds.
        files: the figures, the reports and the evidence.
    """

    directory: Path
    result: Result | Certificate
    files: tuple[Path, ...]

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of the result; None for metrics of membership attacks, and for risks without a holdout."""
        return self.result.verdict

    def to_frame(self) -> pd.DataFrame:
        """Return one row per audit or attack, as in results.csv."""
        return self.result.to_frame()

    def to_latex(self) -> str:
        """Return the table of results as LaTeX, as in results.tex; it needs the package booktabs."""
        if isinstance(self.result, Certificate):
            raise ParameterError("a certificate has no table in LaTeX. Use to_frame().")
        return latex_table(self.result)


@dataclass(frozen=True)
class Heading:
    """What pages and evidence card say besides the numbers.

    Args:
        title: of the page.
        command: reproduces the numbers.
        unit: the privacy unit in words; for the evidence card.
        description: paragraphs below the title of membership metrics; a sweep has its own.
        settings: names and values for the list of settings of membership metrics.
        config: the configuration, printed in full; None if there is none.
        assumptions: the assumptions of the bounds, in sentences; None for those of the games.
    """

    title: str
    command: str = REPEAT_COMMAND
    unit: str = ""
    description: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    config: str | None = None
    assumptions: str | None = None

    @classmethod
    def of(cls, result: Result, config: Config, name: str) -> Heading:
        """Return the heading of an experiment `name` with a configuration."""
        trained = config.data.shadows if config.data is not None else None
        models = ("mechanism", config.mechanism.name) if trained is None else ("shadow models", trained)
        return cls(
            title=result.title if isinstance(result, SweepResult) else config.title or name,
            unit=config.unit,
            description=config.description,
            settings=(models, ("seed", str(config.seed))),
            config=config.to_toml(),
        )

    @classmethod
    def from_dict(cls, texts: Mapping[str, Any], title: str) -> Heading:
        """Return the heading in `judged.toml`; `title` where it has none, as that of a sweep in Python.

        Raises:
            KeyError, ValueError: there is no command, or a value is no text.
        """
        for name, text in texts.items():
            if not isinstance(text, str):
                raise ValueError(f"{name} must be text, but is {text!r}")
        return cls(
            texts.get("title", title), texts["command"], texts.get("unit", ""), assumptions=texts.get("assumptions")
        )

    def to_dict(self) -> dict[str, str]:
        """Return the texts of a heading without a configuration, for `judged.toml`."""
        texts = {"command": self.command, "title": self.title, "unit": self.unit, "assumptions": self.assumptions}
        return {key: text for key, text in texts.items() if text}


def write_results(
    result: Result,
    heading: Heading,
    directory: RunDirectory,
    *,
    ids: Sequence[str] = (),
    inputs: Mapping[str, str] | None = None,
    known: Mapping[str, Any] | None = None,
    pdf: bool = False,
) -> ConfigRun:
    """Write the numbers, the evidence card, the figures and the reports, and return the finished run.

    Risks of a table have neither card nor figures.

    Args:
        result, heading, directory: of the run.
        ids: names of the records of shadow models of other code.
        inputs: path -> SHA-256 of files outside the directory that the run read.
        known: environment of the run; None for the present one.
        pdf: whether to draw the figures as PDF too.
    """
    _write_numbers(result, directory)
    if isinstance(result, MembershipResult) and ids:
        directory.write("results.records.csv", csv_text(_record_frame(result, ids)))
    evidence: list[Path] = []
    if not isinstance(result, RiskResult):
        known = environment() if known is None else known
        about = {"title": heading.title, "command": heading.command, "unit": heading.unit}
        _, evidence = write_evidence(result, directory, **about, environment=known, inputs=inputs)
    return ConfigRun(directory.path, result, (*_pages(result, heading, directory, pdf=pdf), *evidence))


def _pages(result: Result, heading: Heading, directory: RunDirectory, *, pdf: bool) -> list[Path]:
    """Write the figures and the reports."""
    from ..present.pages import Drawn, load_figures, with_narrow, write
    from ..present.plots import draw_all
    from ..present.plots.membership import draw_study
    from ..present.results.provenance import read_times
    from ..present.results.sweep_text import checks, describe

    path = directory.path
    about: dict[str, Any] = {"title": heading.title, "command": heading.command, "config": heading.config}
    with directory.disk():
        if isinstance(result, RiskResult):
            return write(result.text(), path, Drawn(), **about)
        if isinstance(result, SweepResult):
            figures = draw_all(result, directory.figures(), pdf=pdf)
            text = describe(result, read_times(path), assumptions=heading.assumptions)
            drawn = Drawn.of_sweep(figures, len(result.points))
            origin = (("seed", str(result.seed)), ("digest", result.fingerprint))
            said: dict[str, Any] = {"description": result.description, "origin": origin, "checks": checks(result)}
            return [*figures, *write(text, path, drawn, **about, **said)]
        figures = draw_study(result, directory.figures(), pdf=pdf)
        by_name = load_figures(figures)
        drawn = Drawn(figures=with_narrow(by_name, by_name))
        text = result.text()
        groups = [section for section in text.details if section.title == f"{result.headline.attack}, by group"]
        said = {"description": heading.description, "settings": heading.settings, "summarised": groups}
        return [*figures, *write(text, path, drawn, **about, **said)]


def _write_numbers(result: Result, directory: RunDirectory) -> None:
    """Write results.json and results.csv."""
    directory.write("results.json", result.to_json())
    directory.write("results.csv", csv_text(result.to_frame()))


def _record_frame(result: MembershipResult, ids: Sequence[str]) -> pd.DataFrame:
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
