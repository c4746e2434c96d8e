"""Reading finished runs again: `dpassay report` draws them, and `dpassay card` writes their evidence."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from ...audit.metrics.membership.result import MembershipResult
from ...audit.metrics.table_risk.result import RiskResult
from ...mechanisms.core import ResultError, StoreError
from ..config.schema import Config
from ..present.results.sweep import SweepResult
from .directory import JUDGED, RunDirectory
from .evidence import write_evidence
from .record import recorded, state
from .writing import ConfigRun, Heading, Result, write_results

if TYPE_CHECKING:
    from ..present.card.card import Card


def report(directory: Path | str, *, pdf: bool = False) -> ConfigRun:
    """Draw and report a finished run again, from its numbers; with `pdf`, draw the figures as PDF too.

    Args:
        directory: of `dpassay run`, of `sweep`, or of `--out` of `dpassay judge`, `membership` or `risk`.
        pdf: whether to draw the figures as PDF too.

    Raises:
        StoreError: it is not such a directory, or the run is not finished.
        ResultError: the numbers were damaged or changed, contradict each other, or belong to another configuration.
    """
    run_directory = RunDirectory(Path(directory))
    result, heading = saved(run_directory)
    known, inputs = recorded(run_directory)
    done = write_results(result, heading, run_directory, inputs=inputs, known=known, pdf=pdf)
    state(run_directory)
    return done


def card(directory: Path | str) -> tuple[Card, ConfigRun]:
    """Write evidence card, registry record and LaTeX table of a finished run again, from its numbers.

    Args:
        directory: of `dpassay run`, or of `dpassay judge --out`, `dpassay membership --out` or `sweep`.

    Returns:
        The card; and the result, with the files that were written.

    Raises:
        StoreError: it is not such a directory, or the run is not finished.
        ResultError: the numbers were damaged or changed, or belong to another configuration.
    """
    run_directory = RunDirectory(Path(directory))
    result, heading = saved(run_directory)
    if isinstance(result, RiskResult):
        raise StoreError(
            f"{run_directory.path} has the risks of a table, which test no claim on epsilon: they have no evidence "
            "card. `dpassay report` writes their pages."
        )
    known, inputs = recorded(run_directory)
    if not known:
        raise StoreError(
            f"{run_directory.path} does not say how its numbers were made: environment.json is missing or damaged, or "
            "the last session did not finish. Run the experiment again; it continues from its trials."
        )
    about = {"title": heading.title, "command": heading.command, "unit": heading.unit}
    made, files = write_evidence(result, run_directory, **about, environment=known, inputs=inputs)
    state(run_directory)
    return made, ConfigRun(run_directory.path, result, tuple(files))


def saved(directory: RunDirectory) -> tuple[Result, Heading]:
    """Load the numbers of a finished run, and what its pages say besides them."""
    with directory.disk():
        judged = (directory.path / JUDGED).is_file()
    if not judged:
        config, source = directory.config()
        result = read_result(directory.read("results.json"), directory, config)
        return result, Heading.of(result, config, source.name)
    _refuse_parts(directory)
    result = read_result(directory.read("results.json"), directory)
    title = result.title if isinstance(result, SweepResult) else directory.path.resolve().name
    try:
        return result, Heading.from_dict(tomllib.loads(directory.read(JUDGED)), title)
    except (ValueError, KeyError) as error:
        raise StoreError(f"{directory.path / JUDGED} is damaged: {error}. Judge the scores again.") from error


def _refuse_parts(directory: RunDirectory) -> None:
    """Raise `StoreError` for the directory of an audit of texts, whose results are in folders."""
    parts = [path.parent for path in sorted(directory.path.glob(f"*/{JUDGED}"))]
    if parts and not (directory.path / "results.json").exists():
        listed = ", ".join(map(str, parts))
        raise StoreError(f"{directory.path} has its results in folders. Pass one of them: {listed}.")


def read_result(text: str, directory: RunDirectory, config: Config | None = None) -> Result:
    """Return the numbers of a directory: of its configuration, or without one by the format that they state.

    Raises:
        ResultError: they are damaged, or of another configuration.
    """
    path = directory.path / "results.json"
    try:
        if config is None:
            kinds = {kind.FORMAT: kind for kind in (SweepResult, MembershipResult, RiskResult)}
            return kinds.get(json.loads(text).get("format"), SweepResult).from_json(text)
        result: Result = (SweepResult if config.membership is None else MembershipResult).from_json(text)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ResultError(f"{path}: {error}") from error
    if isinstance(result, SweepResult) and result.fingerprint != config.fingerprint:
        raise ResultError(
            f"{path} has the results of another configuration than the config.toml next to it. Restore both, or run "
            "the experiment again in another directory."
        )
    return result


__all__ = ["card", "read_result", "report", "saved"]
