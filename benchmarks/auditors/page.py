"""The page of the auditors side by side, and its table in the README: `make docs`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "results" / "auditors.json"
PAGE = FILE.with_suffix(".md")
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- (auditors[\w -]*) -->\n\n).*?\n?(<!-- end -->)", re.DOTALL)
KINDS = {"broken": "false claims", "twin": "twins", "wasteful": "wasteful"}


def summary(records: dict[str, Any]) -> str:
    """Return a row for each method: found and missed of the false claims, false alarms, CPU seconds."""
    names = list(next(iter(records.values()))["methods"])
    wrong = [one for one in records.values() if one["wrong"]]
    right = [one for one in records.values() if not one["wrong"]]
    head = (
        f"| method | found, of {len(wrong)} | missed: not shown | missed: cannot read | false alarms, of {len(right)} "
        f"| CPU seconds, all |\n|{'---|' * 6}\n"
    )
    rows = ""
    for name in names:
        of_wrong = [one["methods"][name] for one in wrong]
        found = sum(one["found"] for one in of_wrong)
        unread = sum(not one["found"] and _unread(one) for one in of_wrong)
        alarms = sum(one["methods"][name]["found"] for one in right)
        seconds = sum(one["methods"][name]["cpu"] for one in records.values())
        rows += f"| {name} | {found} | {len(wrong) - found - unread} | {unread} | {alarms} | {seconds:,.0f} |\n"
    return head + rows


def _unread(record: dict[str, Any]) -> bool:
    return record["said"] not in ("", "violation", "consistent", "underpowered", "dependent")


def details(records: dict[str, Any]) -> str:
    """Return a row for each mechanism: what each method says."""
    names = list(next(iter(records.values()))["methods"])
    head = f"| mechanism | claim | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}\n"
    rows = ""
    for case, record in records.items():
        cells = [_cell(record["methods"][name]) for name in names]
        claim = f"{record['epsilon']:.3g}" + (f" at {record['delta']:g}" if record["delta"] else "")
        rows += f"| {case} | {claim} | {' | '.join(cells)} |\n"
    return head + rows


def _cell(record: dict[str, Any]) -> str:
    if record["found"]:
        return "found"
    if _unread(record):
        return "cannot read"
    return record["said"] if record["said"] not in ("", "consistent") else "-"


def filled(text: str, records: dict[str, Any]) -> str:
    """Return a page with its tables written anew."""
    tables = {"auditors": summary, "auditors in detail": details}
    return BLOCK.sub(lambda block: f"{block[1]}{tables[block[2]](records)}\n{block[3]}", text)


def write() -> None:
    records = json.loads(FILE.read_text())
    for page in (PAGE, README):
        page.write_text(filled(page.read_text(), records))


if __name__ == "__main__":
    write()
