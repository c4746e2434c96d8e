"""Saved results of runs, checks and sessions of pytest, read for a comparison.

a run directory             the claims, the duration of each audit, the configuration, the versions
its results.json            the same, where it lies in its run directory
dpassay check --json FILE   the claim of one audit
dpassay check --history F   the claim of the last build, with the verdict of the history
pytest --dp-save FILE       the claims of a session
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...audit.results.audit_result import AuditResult
from ...audit.results.saved import Saved
from ...audit.search.stress_result import StressResult
from ...audit.trials.array_files import read_text
from ...mechanisms.core import DpassayError, ResultError, fixed, number
from ..config.schema import Config
from ..config.sweep import folder_name
from ..present.results.provenance import read_times
from ..present.results.sweep import SweepResult
from ..runs.directory import JUDGED
from ..runs.record import NAME as ENVIRONMENT, NUMBERS
from .checked import CheckedClaims, claims_of
from .comparison import Comparison, common_differences
from .history import Build, History

_KINDS: dict[str, type[Saved]] = {kind.FORMAT: kind for kind in (AuditResult, StressResult, SweepResult, CheckedClaims)}
ADVICE = (
    "Give a run directory, its results.json, the file of `dpassay check --json` or `--history`, or that of `pytest "
    "--dp-save`."
)


@dataclass(frozen=True)
class SavedRun:
    """A saved result, and what is known about its run.

    Args:
        path: file or folder that it was read from.
        checked: the tested claims.
        result: the audit or the sweep itself; None for a session of pytest.
        seconds: duration of the audits, by the name of the claim; empty where unknown.
        config: the configuration without texts, or the request of a judged file; empty where unknown.
        versions: version by package; empty where unknown.
    """

    path: Path
    checked: CheckedClaims
    result: AuditResult | StressResult | SweepResult | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def total_seconds(self) -> float | None:
        """Duration of all audits; None where unknown."""
        return sum(self.seconds.values()) if self.seconds else None


def load(path: Path) -> SavedRun:
    """Return a saved result.

    Args:
        path: a run directory, or a JSON file in one of the formats above.

    Raises:
        ResultError: no such file, another kind of file, or one that is damaged, unfinished or of another version.
    """
    file = path / NUMBERS if path.is_dir() else path
    content = _text(file, path)
    if Build.FORMAT in content.partition("\n")[0]:
        return SavedRun(path, History.read(file).checked)
    kind = _kind(content, file)
    try:
        result: Any = kind.from_json(content)
    except ResultError as error:
        raise ResultError(f"{file}: {error}") from error
    if isinstance(result, CheckedClaims):
        return SavedRun(path, result)
    checked = claims_of(result)
    if isinstance(result, AuditResult | StressResult) or file.name != NUMBERS:
        return SavedRun(path, checked, result)
    folder = file.parent
    return SavedRun(path, checked, result, seconds_of(folder, result, checked), _config(folder), _versions(folder))


def _text(file: Path, given: Path) -> str:
    """Return the text of a result file."""
    try:
        return read_text(file)
    except FileNotFoundError as error:
        reason = f"there is no {NUMBERS} in it: the run is not finished" if given.is_dir() else "there is no such file"
        raise ResultError(f"{given} cannot be read: {reason}. {ADVICE}", argument="file") from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ResultError(f"{file} cannot be read: {reason}. {ADVICE}", argument="file") from error


def _kind(content: str, file: Path) -> type[Saved]:
    """Return the class that reads this text."""
    try:
        form = json.loads(content)["format"]
        return _KINDS[form]
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{file} is not readable as JSON ({error}). {ADVICE}", argument="file") from error
    except (KeyError, TypeError) as error:
        membership = "dpassay.membership" in content[:200]
        what = "metrics of membership attacks, which test no claim" if membership else "no result with claims"
        raise ResultError(f"{file} holds {what}. {ADVICE}", argument="file") from error


def seconds_of(folder: Path, result: SweepResult, checked: CheckedClaims) -> dict[str, float]:
    """Return the recorded duration of each audit of a run directory, by the name of its claim."""
    times = read_times(folder)
    places = {
        claim.name: folder_name(point.parameters) for claim, point in zip(checked.claims, result.points, strict=True)
    }
    return {name: times[place] for name, place in places.items() if place in times}


def _config(folder: Path) -> Mapping[str, Any]:
    """Return the configuration of a run directory; empty where it has none that can be read."""
    readers: dict[str, Callable[[Path], Any]] = {
        "config.toml": lambda path: Config.load(path)[0].setup,
        JUDGED: lambda path: tomllib.loads(read_text(path)),
    }
    for name, read in readers.items():
        try:
            if (folder / name).is_file():
                plain: dict[str, Any] = json.loads(json.dumps(read(folder / name), default=str))
                return plain
        except (DpassayError, OSError, ValueError, RecursionError):
            return {}
    return {}


def _versions(folder: Path) -> Mapping[str, Any]:
    """Return the versions of a run; empty without a record."""
    try:
        versions = json.loads(read_text(folder / ENVIRONMENT))["versions"]
        return versions if isinstance(versions, dict) else {}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def run_notes(before: SavedRun, after: SavedRun, comparison: Comparison) -> list[str]:
    """Return what else differs between two runs: settings, versions and time."""
    notes = [f"differs: {text}" for text in [*_changed_settings(before, after), *common_differences(comparison.claims)]]
    first, second = before.total_seconds, after.total_seconds
    if first is not None and second is not None:
        ratio = f" ({number(second / first, 2)} times)" if first > 0 else ""
        notes.append(f"time: {fixed(first, 1)} s -> {fixed(second, 1)} s{ratio}")
        notes += _slower(before, after)
    return notes


def _slower(before: SavedRun, after: SavedRun) -> list[str]:
    """Return the audit whose time grew most, if there are several."""
    common = [name for name in after.seconds if name in before.seconds]
    if len(common) < 2:
        return []
    name = max(common, key=lambda name: after.seconds[name] - before.seconds[name])
    grown = after.seconds[name] - before.seconds[name]
    if grown <= 0:
        return []
    return [f"time: largest growth in {name}: {fixed(before.seconds[name], 1)} s -> {fixed(after.seconds[name], 1)} s"]


def _changed_settings(before: SavedRun, after: SavedRun) -> list[str]:
    """Return the keys of the configurations, and the versions, in which two runs differ."""
    lines = list(_changed(before.config, after.config, "")) if before.config and after.config else []
    if before.versions and after.versions:
        lines += _changed(before.versions, after.versions, "version of ", joint="")
    return lines


def _changed(before: Any, after: Any, at: str, *, joint: str = ".") -> list[str]:
    """Return a line for each leaf in which two JSON values differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        lines = []
        for key in sorted(before.keys() | after.keys()):
            place = f"{at}{joint if at and joint else ''}{key}"
            lines += _changed(before.get(key), after.get(key), place)
        return lines
    return [] if before == after else [f"{at}: {_shown(before)} -> {_shown(after)}"]


def _shown(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
