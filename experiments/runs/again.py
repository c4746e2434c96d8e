"""Reading finished runs again: `dpassay report` draws them, and `dpassay card` writes their evidence."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.metrics.membership.result import MembershipResult
from ...mechanisms.core.errors import ResultError, StoreError
from ..config.schema import Config
from ..report.results.sweep import SweepResult
from .directory import JUDGED, RunDirectory
from .evidence import write_evidence
from .record import recorded
from .writing import AGAIN, ConfigRun, write_results

if TYPE_CHECKING:
    from ..report.card.card import Card


def report(directory: Path | str, *, pdf: bool = False) -> ConfigRun:
    """Draw and report a finished run again, from its numbers; with `pdf`, draw the figures as PDF too.

    Raises:
        StoreError: it is not a run directory, or the run is not finished.
        ResultError: the numbers were damaged or changed, contradict each other, or belong to another configuration.
    """
    run_directory = RunDirectory(Path(directory))
    config, source = run_directory.config()
    result = read_result(run_directory.read("results.json"), config, run_directory)
    known, inputs = recorded(run_directory)
    files = write_results(result, config, source.name, run_directory, inputs=inputs, known=known, pdf=pdf)
    return ConfigRun(run_directory.path, result, tuple(files))


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
    title, unit, command = "", "", AGAIN
    if (run_directory.path / JUDGED).is_file():
        result = _read_any(run_directory)
        request = judged_request(run_directory)
        command, unit = str(request.get("command", command)), str(request.get("unit", ""))
    else:
        config, _ = run_directory.config()
        result = read_result(run_directory.read("results.json"), config, run_directory)
        title, unit = config.title, config.unit
    if not title:
        name = run_directory.path.resolve().name
        title = result.title if isinstance(result, SweepResult) else f"Membership attacks in {name}"
    known, inputs = recorded(run_directory)
    if not known:
        raise StoreError(
            f"{run_directory.path} does not say how its numbers were made: environment.json is missing or damaged, or "
            "the last session did not finish. Run the experiment again; it continues from its trials."
        )
    made, files = write_evidence(
        result, run_directory, title=title, command=command, environment=known, unit=unit, inputs=inputs
    )
    return made, ConfigRun(run_directory.path, result, tuple(files))


def judged_request(directory: RunDirectory) -> dict[str, Any]:
    """Return the description of external scores; raise `StoreError` if it is damaged."""
    try:
        return tomllib.loads(directory.read(JUDGED))
    except ValueError as error:
        raise StoreError(f"{directory.path / JUDGED} is damaged: {error}. Judge the scores again.") from error


def _read_any(directory: RunDirectory) -> SweepResult | MembershipResult:
    """Load the numbers of a directory without a configuration, by the format that they state."""
    text = directory.read("results.json")
    try:
        is_sweep = json.loads(text).get("format") == SweepResult.FORMAT
        return SweepResult.from_json(text) if is_sweep else MembershipResult.from_json(text)
    except (ValueError, AttributeError, RecursionError) as error:
        raise ResultError(f"{directory.path / 'results.json'}: {error}") from error


def read_result(text: str, config: Config, directory: RunDirectory) -> SweepResult | MembershipResult:
    """Load the result of a run directory; raise `ResultError` if it is damaged or of another configuration."""
    read = SweepResult.from_json if config.membership is None else MembershipResult.from_json
    path = directory.path / "results.json"
    try:
        result = read(text)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from error
    if isinstance(result, SweepResult) and result.fingerprint != config.fingerprint:
        raise ResultError(
            f"{path} has the results of another configuration than the config.toml next to it. Restore both, or run "
            "the experiment again in another directory."
        )
    return result


__all__ = ["card", "judged_request", "read_result", "report"]
