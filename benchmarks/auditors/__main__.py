"""Auditors side by side: docs/results/auditors.json and auditors.md, by `python -m benchmarks.auditors [NAME...]`.

Fixed before any run: the cases and their pairs, 10,000 runs a side in all, confidence 95 %, one seed for each case.
Every verdict is a statement of its own: of the true claims that are tight, a valid method refutes up to 1 in 20. What
the file has is not run again.

cases.py     bugs and causes with their twins
methods.py   methods of other auditors, rebuilt
page.py      the page, and the table of the README
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
import zlib
from typing import Any

import numpy as np

from dpassay.audit import audit
from dpassay.mechanisms.adapters.functions.function import FunctionMechanism

from .cases import Case, cases
from .methods import METHODS, CannotReadError, Claim, Runs
from .page import FILE, write

TRIALS = 10_000
CONFIDENCE = 0.95
LEARNED = "dpassay, law unknown"
"""The audit whose attack learns from outputs alone, as that of the other methods."""


def cpu() -> float:
    """Return the CPU seconds of this process and of those that it has started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def seed_of(case: Case) -> int:
    return zlib.crc32(case.name.encode())


def outputs(case: Case) -> tuple[Runs, Runs]:
    """Return the outputs of both sides as matrices of numbers.

    Raises:
        CannotReadError: an output is NaN, an exception, or of another form than the others.
    """
    sides = []
    for side in (0, 1):
        rng = np.random.default_rng([seed_of(case), side])
        made = case.mechanism.release(case.neighbours.side(side), TRIALS, rng)
        if any(made.labels):
            raise CannotReadError("outputs that are not numbers of one form")
        sides.append(np.asarray(made.values, float).reshape(TRIALS, -1))
    return sides[0], sides[1]


def by_dpassay(case: Case, attack: str) -> dict[str, Any]:
    began = cpu()
    result = audit(
        case.mechanism, attack=attack, trials=TRIALS, confidence=CONFIDENCE, delta=case.delta, seed=seed_of(case)
    )
    return {"found": result.verdict.value == "violation", "said": result.verdict.value, "cpu": round(cpu() - began, 2)}


def measured(case: Case, known: dict[str, Any]) -> dict[str, Any]:
    """Return the records of all methods, those that are known unchanged.

    A Python function has no law that an attack could read, so that both audits of dpassay are the same.
    """
    made = {"dpassay": known.get("dpassay") or by_dpassay(case, "auto")}
    function = isinstance(case.mechanism, FunctionMechanism)
    learned = known.get(LEARNED) or (made["dpassay"] if function else by_dpassay(case, "portfolio"))
    others = known if known.keys() >= METHODS.keys() else by_others(case)
    return made | {LEARNED: learned} | {name: others[name] for name in METHODS}


def by_others(case: Case) -> dict[str, dict[str, Any]]:
    """Return the record of each method; the CPU seconds of the runs are added to each."""
    began = cpu()
    try:
        out, in_ = outputs(case)
    except CannotReadError as error:
        return {name: {"found": False, "said": str(error), "cpu": 0.0} for name in METHODS}
    runs, records = cpu() - began, {}
    for name, method in METHODS.items():
        began, rng = cpu(), np.random.default_rng([seed_of(case), 2])
        try:
            found, said = bool(method(out, in_, Claim(case.epsilon, case.delta), 1 - CONFIDENCE, rng)), ""
        except CannotReadError as error:
            found, said = False, str(error)
        records[name] = {"found": found, "said": said, "cpu": round(runs + cpu() - began, 2)}
    return records


def main() -> None:
    """Run all cases that the file does not have, or those whose name contains one of the arguments."""
    records = json.loads(FILE.read_text()) if FILE.exists() else {}
    warnings.simplefilter("ignore")
    for case in cases():
        known = records.get(case.name, {}).get("methods", {})
        wanted = not sys.argv[1:] or any(part in case.name for part in sys.argv[1:])
        if LEARNED in known or not wanted:
            continue
        records[case.name] = {
            "wrong": case.wrong, "epsilon": round(case.epsilon, 4), "delta": case.delta,
            "methods": measured(case, known),
        }  # fmt: skip
        FILE.write_text(json.dumps(records, indent=1) + "\n")
        found = [name for name, record in records[case.name]["methods"].items() if record["found"]]
        print(f"{case.name}: {', '.join(found) or '-'}", flush=True)
    write()


if __name__ == "__main__":
    main()
