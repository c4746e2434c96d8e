"""The page of the audited libraries, from the rows and from what the run has measured."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rows import HERE, Call, Library, Row, key, libraries

FILE, PAGE = HERE.parent / "libraries.json", HERE.parent / "libraries.md"
INTRODUCTION = HERE / "introduction.md"
NO_REPORT = "no report was found in a search of the tracker's stored threads."


def page(folder: Path = HERE, file: Path = FILE) -> str:
    """Return the page: introduction, a table of all calls, and a section for each library."""
    records = {key(one): one for one in json.loads(file.read_text())}
    made = libraries(folder)
    head = "| library | call | claim | bound | verdict | right twin | CPU seconds | date |\n" + f"|{'---|' * 8}\n"
    table = "".join(_line(library, row, records) for library in made for row in library.rows)
    not_run = "".join(
        f"| {library.name} {library.version} | {library.not_run} |\n" for library in made if library.not_run
    )
    missing = f"\nNot run:\n\n| library | reason |\n|---|---|\n{not_run}" if not_run else ""
    sections = "\n".join(_section(library, records) for library in made if library.rows)
    return f"{INTRODUCTION.read_text()}\n{head}{table}{missing}\n{sections}"


def _of(library: Library, call: Call, records: dict[Any, Any]) -> list[dict[str, Any]]:
    """Return the records of a call in all versions, the newest version first."""
    asked = (library.name, call.function, call.options)
    found = [one for (name, _, *of_call), one in records.items() if (name, *of_call) == asked]
    return sorted(found, key=lambda one: (one["version"] != library.version, one["date"]))


def _line(library: Library, row: Row, records: dict[Any, Any]) -> str:
    lines = ""
    for record in _of(library, row, records):
        twin = _of(library, row.twin, records)[:1] if row.twin else []
        cells = (
            f"[{library.name} {record['version']}](#{_anchor(library.name)})",
            f"`{row.call}`",
            _claim(record),
            _bound(record),
            record["verdict"],
            f"{twin[0]['verdict']}, {_bound(twin[0])}" if twin else "",
            str(record["cpu_seconds"]),
            record["date"],
        )
        lines += f"| {' | '.join(cells)} |\n"
    return lines


def _anchor(name: str) -> str:
    """Return what the heading of a library is linked by."""
    return re.sub(r"[^\w\- ]", "", name.lower())


def _claim(record: dict[str, Any]) -> str:
    if record["claim"] is None:
        return ""
    return f"{record['claim']:.3g}" + (f" at {record['delta']:g}" if record["delta"] else "")


def _bound(record: dict[str, Any]) -> str:
    """Return the bound; "" where none holds."""
    return "" if record["verdict"] in ("dependent", "no answer") else f"{record['bound']:.2f}"


def _section(library: Library, records: dict[Any, Any]) -> str:
    """Return what is stated, what was measured, and how to repeat it."""
    parts = [f"## {library.name}\n", f"`pip install {' '.join(library.install)}`\n"]
    for row in library.rows:
        parts += [f"### `{row.call}`\n", _facts(library, row, records)]
        calls = [call for call in (row, row.twin) if call]
        parts += [f"```python\n{source(library.file, [call.function for call in calls])}```\n"]
        lines = "\n".join(check_line(library, call, "THEIR_PYTHON") for call in calls)
        parts += [f"```text\n{lines}\n```\n"]
    return "\n".join(parts)


def _facts(library: Library, row: Row, records: dict[Any, Any]) -> str:
    facts = [f"**Claim**: {row.claim}. Relation: {row.relation}."]
    facts += [f"**Measured**: {_measured(library, row, record)}" for record in _of(library, row, records)]
    if row.cause:
        facts.append(f"**Cause**, derived from the source: {row.cause}")
        facts.append(f"**Known**: {row.known or NO_REPORT}")
    if row.twin:
        facts += [
            f"**Right twin**: {_measured(library, row.twin, record)}" for record in _of(library, row.twin, records)
        ]
    return "".join(f"* {fact}\n" for fact in facts)


def _measured(library: Library, call: Call, record: dict[str, Any]) -> str:
    """Return the result of one audit, with its conditions."""
    conditions = f"with {library.name} {record['version']}, {call.conditions}"
    if record["verdict"] == "no answer":
        return f"{conditions}: a call gives no answer, so that there is no verdict."
    spent = f"{record['cpu_seconds']} s of CPU time, {record['date']}"
    runs = f"{record['trials']:,} runs a side, confidence 1 - 1e-6, {spent}"
    found = {
        "violation": "the outputs differ by more than the stated epsilon",
        "consistent": "these runs do not contradict the claim",
        "underpowered": "so few runs could not contradict the claim",
        "dependent": "the runs are not independent, so that no bound holds",
    }[record["verdict"]]
    low = record.get("without_low_bits")
    found += "" if low is None else f", and without the low bits of floats a bound of {low:.2f}"
    kind = "shortest refuted" if record["verdict"] == "violation" else "reported"
    pair = f" The {kind} pair: {record['data']}." if record.get("data") else ""
    bound = "" if record["verdict"] == "dependent" else f"bound {_bound(record)}, "
    return f"{conditions}: {found}; {bound}claim {_claim(record)} ({runs}).{pair}"


def source(file: Path, functions: Sequence[str]) -> str:
    """Return the code of some functions of a file, with the functions and imports that they use."""
    text = file.read_text()
    wanted, kept = set(functions), set()
    nodes = ast.parse(text).body
    while wanted - kept:
        name = (wanted - kept).pop()
        kept.add(name)
        wanted |= {one for node in nodes if name in _names(node) for one in _read(node)} & set(_all_names(nodes))
    chosen = [node for node in nodes if kept & set(_names(node))]
    groups: list[str] = []
    for node in chosen:
        segment = ast.get_source_segment(text, node) or ""
        groups.append(f"\n\n{segment}\n" if isinstance(node, ast.FunctionDef) else f"{segment}\n")
    return "".join(groups).lstrip("\n")


def _names(node: ast.stmt) -> list[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]


def _all_names(nodes: Iterable[ast.stmt]) -> list[str]:
    return [name for node in nodes for name in _names(node)]


def _read(node: ast.stmt) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def check_line(library: Library, call: Call, python: str) -> str:
    """Return the command that audits a call."""
    root = HERE.parents[2]
    file = library.file.relative_to(root) if library.file.is_relative_to(root) else library.file
    return f"dpassay check {file}:{call.function} --python {python} {call.options}"


if __name__ == "__main__":
    PAGE.write_text(page())
