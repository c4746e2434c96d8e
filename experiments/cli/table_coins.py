"""Coins for the units of a table: `dpassay coins TABLE --real FILE --holdout FILE`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from ...audit.metrics.table_risk.claim import toss_table
from ...audit.metrics.table_risk.keys import TableKeys
from ...mechanisms.core import ParameterError
from ..data.table_files import read_folder, read_table
from ..tasks.judgement import planned_for
from .outputs import write_text


def split(
    file: Path,
    out: Path,
    real: Path | None,
    holdout: Path | None,
    *,
    unit: str | None,
    keys: Path | None,
    column: str | None,
    seed: int | None,
    **claim: Any,
) -> int:
    """Write the coins of one or more tables, the records of the included units and those of the excluded ones."""
    if real is None or holdout is None:
        raise ParameterError(
            "--real, --holdout and --unit or --keys are used together, for a table: give --real FILE for the included "
            "records and --holdout FILE for the others. --unit and --keys are optional.",
            argument="real",
        )
    if column is not None:
        raise ParameterError("--column is for a list of ids. With --real, name the unit by --unit.", argument="column")
    if keys is not None and unit is not None:
        raise ParameterError("--unit must be left out with --keys, whose person is the unit.", argument="unit")
    for name, path in (("out", out), ("real", real), ("holdout", holdout)):
        _check_new(name, path, is_folder=keys is not None and name != "out")
    if len({path.resolve() for path in (out, real, holdout)}) < 3:
        raise ParameterError("--out, --real and --holdout must be three files or folders.", argument="real")
    if keys is None:
        option, made = ["--unit", unit] if unit else [], "SYNTHETIC.csv"
        tossed = toss_table(read_table(file).astype("string"), unit=unit, seed=seed)
        inside, outside = {real: tossed.real}, {holdout: tossed.holdout}
    else:
        joined, option, made = TableKeys.load(keys), ["--keys", str(keys)], "SYNTHETIC"
        tables = {name: table.astype("string") for name, table in read_folder(file, joined.tables).items()}
        unit = joined.unit
        tossed = toss_table(tables[joined.person], unit=unit, seed=seed)
        inside, outside = (
            {folder / f"{name}.csv": rows for name, rows in part.items()}
            for folder, part in zip((real, holdout), joined.split(tables, tossed.coins.included_ids), strict=True)
        )
    coins, who = tossed.coins, f"units ({unit})" if unit else "rows"
    planned = planned_for(len(coins.ids), out=out, who=who, negatives=0.0, **claim)
    coins.save(out)
    for folder in (real, holdout) if keys else ():
        folder.mkdir(parents=True)
    for path, records in (inside | outside).items():
        write_text(path, records.to_csv(index=False, lineterminator="\n"))
    command = ["dpassay", "risk", str(real), made, "--holdout", str(holdout), "--coins", str(out), *option]
    n_inside, n_outside = (sum(map(len, part.values())) for part in (inside, outside))
    epsilon, delta = ("E", "D") if claim["epsilon"] is None else (claim["epsilon"], claim["delta"])
    sys.stdout.write(
        f"{len(coins.included_ids):,} of {len(coins.ids):,} {who} are included: {n_inside:,} records in "
        f"{real}; {n_outside:,} records of the others in {holdout}\n"
        f"digest {coins.digest}\n\n{planned}"
        f"Make the synthetic table from {real} only. Then:\n"
        f"{shlex.join(command)} --epsilon {epsilon} --delta {delta}\n"
    )
    return 0


def _check_new(name: str, path: Path, *, is_folder: bool) -> None:
    if path.exists():
        kind = "folder" if is_folder else "file"
        raise ParameterError(f"{name} must be a new {kind}, but {path} exists. Give another name.", argument=name)
    if name != "out" and not is_folder and path.suffix.lower() != ".csv":
        raise ParameterError(f"{name} must end in .csv, but is {path}.", argument=name)


__all__ = ["split"]
