"""Coins for the units of a table: `dpassay coins TABLE --real FILE --holdout FILE`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from ...audit.metrics.table_risk.claim import toss_table
from ...mechanisms.core import ParameterError
from ..data.table_files import read_table
from ..tasks.judgement import planned_for
from .outputs import write_text


def split(
    file: Path,
    out: Path,
    real: Path | None,
    holdout: Path | None,
    *,
    unit: str | None,
    column: str | None,
    seed: int | None,
    **claim: Any,
) -> int:
    """Write the coins of a table, the records of the included units and those of the excluded ones."""
    if real is None or holdout is None:
        raise ParameterError(
            "--real, --holdout and --unit are used together, for a table: give --real FILE for the included records "
            "and --holdout FILE for the others. --unit is optional.",
            argument="real",
        )
    if column is not None:
        raise ParameterError("--column is for a list of ids. With --real, name the unit by --unit.", argument="column")
    for name, path in (("out", out), ("real", real), ("holdout", holdout)):
        _check_new(name, path)
    if len({path.resolve() for path in (out, real, holdout)}) < 3:
        raise ParameterError("--out, --real and --holdout must be three files.", argument="real")
    table = read_table(file).astype("string")
    tossed = toss_table(table, unit=unit, seed=seed)
    coins, who = tossed.coins, f"units ({unit})" if unit else "rows"
    planned = planned_for(len(coins.ids), out=out, who=who, negatives=0.0, **claim)
    coins.save(out)
    for path, records in ((real, tossed.real), (holdout, tossed.holdout)):
        write_text(path, records.to_csv(index=False, lineterminator="\n"))
    command = ["dpassay", "risk", str(real), "SYNTHETIC.csv", "--holdout", str(holdout), "--coins", str(out)]
    command += ["--unit", unit] if unit else []
    epsilon, delta = ("E", "D") if claim["epsilon"] is None else (claim["epsilon"], claim["delta"])
    sys.stdout.write(
        f"{len(coins.included_ids):,} of {len(coins.ids):,} {who} are included: {len(tossed.real):,} records in "
        f"{real}; {len(tossed.holdout):,} records of the others in {holdout}\n"
        f"digest {coins.digest}\n\n{planned}"
        f"Make the synthetic table from {real} only. Then:\n"
        f"{shlex.join(command)} --epsilon {epsilon} --delta {delta}\n"
    )
    return 0


def _check_new(name: str, path: Path) -> None:
    if path.exists():
        raise ParameterError(f"{name} must be a new file, but {path} exists. Give another name.", argument=name)
    if name != "out" and path.suffix.lower() != ".csv":
        raise ParameterError(f"{name} must end in .csv, but is {path}.", argument=name)


__all__ = ["split"]
