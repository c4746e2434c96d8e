"""Audit released libraries, and write docs/results/libraries.json and libraries.md: `make gallery`.

Null hypothesis of each call: its claim holds on its pair; with --stress on every pair. Fixed in NAME.toml before any
run: the call, its data, trials and confidence. The verdicts are separate statements: a false violation among m calls
whose claims are true has a probability of at most 1e-6 m.

Each library is installed in an environment of its own below .venv-gallery, which is kept. A call runs there, in a
process of `dpassay check --python`, and what it does is judged here. Records of other versions of a library stay.

    python docs/results/libraries [NAME...] [--only FUNCTION] [--missing]

rows.py    the audited calls of a library
page.py    the page
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from environments import ROOT, environment
from page import FILE, PAGE, check_line, page
from rows import CONFIDENCE, Call, Library, current, key, libraries, slug

SECONDS = 900
"""Limit of one audit."""


def measure(library: Library, call: Call, python: Path) -> dict[str, Any]:
    """Run one audit as on the command line, and return its record.

    Raises:
        RuntimeError: it fails without a verdict and without a call that does not answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        line = shlex.split(check_line(library, call, str(python)))[1:]
        run = [sys.executable, "-m", "dpassay", *line]
        began, cpu = time.monotonic(), _cpu()
        done = subprocess.run(
            [*run, "--json", str(out), "--quiet"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        record = {
            "library": library.name,
            "version": library.version,
            "function": call.function,
            "options": call.options,
            **_answer(out, done),
            "confidence": CONFIDENCE,
            "seconds": round(time.monotonic() - began),
            "cpu_seconds": round(_cpu() - cpu),
            "date": date.today().isoformat(),
        }
    sys.stdout.write(f"{library.name} {library.version} {call.function}: {record['verdict']} {record['bound']}\n")
    sys.stdout.flush()
    return record


def _answer(out: Path, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return verdict, bound, claim and runs of an audit; of a stress test those of the reported pair."""
    if not out.exists():
        if "no answer" not in done.stderr and "took longer" not in done.stderr:
            raise RuntimeError(f"no verdict:\n{done.stdout}{done.stderr}")
        return {"verdict": "no answer", "bound": None, "claim": None, "delta": None, "trials": None}
    result = json.loads(out.read_text())
    answer: dict[str, Any] = {"data": ""}
    if "pairs" in result:
        pair = result["pairs"][result["index"]]
        answer["data"] = f"{pair['words']}: {pair['code0']} and {pair['code1']}"
        result = result["reported"]
    return (
        answer
        | {
            "verdict": result["verdict"],
            "bound": round(max(bound["epsilon"] for bound in result["bounds"]), 3),
            "claim": round(result["claim"], 4),
            "delta": result["delta"],
            "trials": result["trials"]["per_side"],
            "method": result["bounds"][0]["method"],
        }
        | ({"without_low_bits": round(low["bound"]["epsilon"], 3)} if (low := result.get("without_low_bits")) else {})
    )


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Audit the named libraries, or all."""
    parser = argparse.ArgumentParser(description="Audit released libraries.")
    parser.add_argument("names", nargs="*", help="libraries; all by default")
    parser.add_argument("--only", help="one function")
    parser.add_argument("--missing", action="store_true", help="only calls without a record")
    asked = parser.parse_args()
    records = {key(one): one for one in json.loads(FILE.read_text())} if FILE.exists() else {}
    made = libraries()
    for library in made:
        if library.not_run or (asked.names and library.name not in asked.names):
            continue
        python = environment(slug(library.name), library.install)
        for call in library.calls():
            known = (library.name, library.version, call.function, call.options) in records
            if asked.only in (None, call.function) and not (known and asked.missing):
                record = measure(library, call, python)
                records[key(record)] = record
                records = {name: one for name, one in records.items() if current(one, made)}
                FILE.write_text(json.dumps(sorted(records.values(), key=key), indent=1) + "\n")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
