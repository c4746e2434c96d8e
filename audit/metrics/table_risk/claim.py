"""Test of a claim with one synthetic table: a fair coin for each unit decides whether its records are real or holdout.

    toss_table -> make the table from the included units -> score every unit -> Coins.audit, guesses "in" only

Null hypothesis: the generator satisfies the claim for the unit, added or removed. The records R of all units are fixed,
and the generator gets those whose bit is 1, so that its table T is (epsilon, delta)-DP in each bit. A score is
h(T, R): a function of the table and of the records on both sides in the order of the coins, and never of the bits. So
the guesses are a function of T, which is all that the one-run bound asks for: it assumes no law of the records, and no
independence between units.

Hence no score may read which file a record stands in, the order of a file, or the numbers of real and holdout records,
which are random. The types, bins and distances are those of the pooled records, encoded as one table. The score of a
unit is the most extreme of its records. Fixed before looking: the attack, or several, which share the level (union
bound: `Coins.audit(looks=)`); the direction; and the numbers of guesses, all of them "in".

Attacks, in the order in which records are called real; ties are broken by the next item:

    membership   distance to the nearest row over that to the nearest different record; fewest records nearby; isolation
    copies       a row equals the record; fewest equal records; most equal rows
    distance     distance to the nearest row, the "distance to the closest record" of other tools
    density      density of the table, fitted on its rows, over that of the records (successes.py)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....mechanisms.core import Floats, Guarantee, ParameterError, UnknownNameError, listed, plural
from ...bounds.base import LedgerEntry
from ...bounds.catalogue import build, choose_bounds
from ...evidence.scores import BitScores
from ...evidence.verdict import Verdict
from ...games.coins import Coins
from ...results.audit_result import AuditResult
from .successes import AttackedRecords
from .tables import Tables, check_categories, checked_frame, read_tables, row_keys, unit_text

if TYPE_CHECKING:
    import pandas as pd

MEMBERSHIP = "membership"
"""Default attack."""
_ROW_ID = re.compile(r"row \d+ ([0-9a-f]{16})")
"""Id of a unit that is one row: its number, and a digest of its entries, by which it is found in another file."""


@dataclass(frozen=True, eq=False)
class TossedTable:
    """A table whose units are split by coins.

    Args:
        coins: one for each unit.
        real: records of the included units: make the synthetic table of these only.
        holdout: records of the excluded units.
    """

    coins: Coins
    real: pd.DataFrame
    holdout: pd.DataFrame


def toss_table(
    table: Any, *, unit: str | None = None, seed: int | None = None, file: Path | str | None = None
) -> TossedTable:
    """Toss a fair coin for each unit of a table, and split its records.

    Args:
        table: DataFrame of all records.
        unit: column that names the unit of each record, such as an account; None: each row is a unit.
        seed, file: see `Coins.toss`.

    Raises:
        ParameterError: no DataFrame, no rows, no such column, or an entry of it that is missing; as for `Coins.toss`.

    Example:
        >>> import pandas as pd
        >>> tossed = toss_table(pd.DataFrame({"account": [1, 1, 2, 3], "paid": [5, 6, 7, 8]}), unit="account", seed=0)
        >>> tossed.coins.included.tolist(), tossed.real["paid"].tolist()
        ([False, True, False], [7])
    """
    frame = checked_frame("table", table)
    if unit is None:
        ids = [f"row {row} {digest}" for row, digest in enumerate(_row_digests(frame), start=1)]
    else:
        ids = unit_text("table", frame, unit).tolist()
    coins = Coins.toss(dict.fromkeys(ids), seed=seed, file=file)
    inside = np.isin(ids, coins.included_ids)
    real, holdout = (table[side].reset_index(drop=True) for side in (inside, ~inside))
    return TossedTable(coins, real, holdout)


def audit_claim(
    real: Any,
    synthetic: Any,
    holdout: Any,
    *,
    coins: Coins | None,
    claim: Guarantee | None,
    attacks: Sequence[str] = (MEMBERSHIP,),
    unit: str | None = None,
    ignore: Sequence[str] = (),
    categories: Sequence[str] = (),
    confidence: float = 0.95,
    looks: int = 1,
) -> AuditResult:
    """Audit the claim of the generator with the guesses of each attack, and return the result of the best one.

    Args:
        real, synthetic, holdout, unit, ignore, categories: see `risk`.
        coins: of `toss_table`.
        claim: for the unit, added or removed.
        attacks: names of attacks that were chosen before looking; several divide the level.
        confidence: of the bounds of all attacks together.
        looks: number of planned audits with these coins, at least that of the attacks.

    Raises:
        UnknownNameError: no such attack.
        ParameterError: no coins, claim or holdout; tables that are not those of the coins; see `read_tables`.
    """
    if coins is None or claim is None or holdout is None:
        missing = "coins" if coins is None else "claim" if claim is None else "holdout"
        raise ParameterError(
            f"{missing} must be given too: coins, claim and holdout are used together, to test a claim.",
            argument=missing,
        )
    names = tuple(dict.fromkeys(attacks))
    if not names:
        raise ParameterError(argument="attacks", value=(), allowed=f"name one or more of {', '.join(ATTACKS)}")
    for name in names:
        if name not in ATTACKS:
            raise UnknownNameError("attack", name, ATTACKS)
    pooled = _pooled(real, holdout, coins, unit)
    tables = read_tables(pooled, synthetic, None, tuple(ignore), tuple(categories), unit or "")
    check_categories(tables)
    attacked, planned = AttackedRecords(tables, np.arange(len(pooled))), max(looks, len(names))
    bounds = [build(bound.name, negatives=0.0) for bound in choose_bounds("auto", reads=BitScores, claim=claim)]

    def audited(name: str) -> AuditResult:
        scores = dict(zip(coins.ids, _unit_scores(attacked, name).tolist(), strict=True))
        source = f"{name} of the synthetic table"
        return coins.audit(scores, claim=claim, confidence=confidence, bound=bounds, looks=planned, source=source)

    results = {name: audited(name) for name in names}
    best = max(names, key=lambda name: (results[name].verdict is Verdict.VIOLATION, results[name].bound.epsilon))
    result = results[best] if len(names) == 1 else audited(best)  # again: its ledger counts all looks, in any order
    chosen = f"{best}, of the planned {listed(names)}" if len(names) > 1 else best
    ledger = (
        LedgerEntry("attack", chosen, "fixed beforehand" + "; the significance is divided" * (planned > 1)),
        LedgerEntry("unit", f"{unit}: its most extreme record" if unit else "a row", "a score reads no coin"),
    )
    return replace(result, attack=f"{best} of the table", ledger=(*ledger, *result.ledger))


def _unit_scores(attacked: AttackedRecords, attack: str) -> Floats:
    """Return the score of each unit `(n_units,)`, higher = in: minus the rank of its most extreme record."""
    keys = np.column_stack(ATTACKS[attack](attacked)).astype(np.float64)
    rank = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    first = np.full(int(attacked.tables.unit.max()) + 1, len(rank))
    np.minimum.at(first, attacked.tables.unit, rank)
    return -first.astype(np.float64)


def _membership(attacked: AttackedRecords) -> tuple[Any, ...]:
    isolation, _, nearby = attacked.to_records
    return attacked.ratio, nearby, -isolation


def _copies(attacked: AttackedRecords) -> tuple[Any, ...]:
    tables: Tables = attacked.tables
    records, rows = row_keys(tables.pooled.exact, tables.synthetic.exact)
    n = 1 + max(int(records.max()), int(rows.max()))
    n_rows, n_records = (np.bincount(keys, minlength=n)[records] for keys in (rows, records))
    return n_rows == 0, n_records, -n_rows


ATTACKS: dict[str, Callable[[AttackedRecords], tuple[Any, ...]]] = {
    MEMBERSHIP: _membership,
    "copies": _copies,
    "distance": lambda attacked: (attacked.to_table,),
    "density": lambda attacked: (-attacked.density,),
}
"""Name -> keys of each record, in lexicographic order: the smallest is called real first."""


# --- records of the coins ---------------------------------------------------------------------------------------------


def _pooled(real: Any, holdout: Any, coins: Coins, unit: str | None) -> pd.DataFrame:
    """Return the records of both tables in the order of the coins; raise `ParameterError` unless they are theirs."""
    import pandas as pd

    by_row = all(map(_ROW_ID.fullmatch, coins.ids))
    if by_row and unit is not None:
        raise ParameterError(
            f"unit must be left out, because these coins were tossed for single rows, but is {unit!r}. To test a claim "
            f"for {unit}, toss coins for its values before the table is made: `dpassay coins TABLE --unit {unit}`.",
            argument="unit",
        )
    if not by_row and unit is None:
        raise ParameterError(
            f"unit must name the column that the coins were tossed for, such as that of {coins.ids[0]!r}, but is not "
            "given. Coins of single rows are made by `dpassay coins TABLE --real FILE --holdout FILE`.",
            argument="unit",
        )
    frames = [checked_frame(name, table) for name, table in (("real", real), ("holdout", holdout))]
    places = [
        _places(name, frame, coins, bit, unit)
        for name, frame, bit in zip(("real", "holdout"), frames, (True, False), strict=True)
    ]
    order = np.argsort(np.concatenate(places), kind="stable")
    return pd.concat([frames[0], frames[1][[*frames[0].columns]]], ignore_index=True).iloc[order].reset_index(drop=True)


def _places(name: str, frame: pd.DataFrame, coins: Coins, bit: bool, unit: str | None) -> list[int]:
    """Return the number of the coin of each row of a table, all of whose coins show `bit`."""
    keys = list(_row_digests(frame)) if unit is None else unit_text(name, frame, unit).tolist()
    free: dict[str, list[int]] = {}
    for place in np.flatnonzero(coins.included == bit).tolist():
        id_ = coins.ids[place]
        free.setdefault(id_.rpartition(" ")[2] if unit is None else id_, []).append(place)
    places, used = [], set()
    for row, key in enumerate(keys, start=1):
        if not free.get(key):
            which = f"row {row}" if unit is None else f"that of {key!r} in row {row}"
            raise _other(name, f"{which} is none of them", bit)
        places.append(free[key].pop(0) if unit is None else free[key][0])
        used.add(places[-1])
    missing = [coins.ids[place] for place in np.flatnonzero(coins.included == bit) if place not in used]
    if missing:
        first = missing[0].rpartition(" ")[0] if unit is None else repr(missing[0])
        raise _other(name, f"{plural(len(missing), 'unit')} of them, such as {first}, is not there", bit)
    return places


def _other(name: str, reason: str, bit: bool) -> ParameterError:
    chosen = "included" if bit else "excluded"
    return ParameterError(
        f"{name} must have the records of all units that the coins {chosen}, and no others, but {reason}. Pass the "
        f"file that `dpassay coins --{name}` wrote with these coins, unchanged.",
        argument=name,
    )


def _row_digests(frame: pd.DataFrame) -> list[str]:
    """Return a digest of the entries of each row, the same for a table that was written to CSV and read again."""
    import pandas as pd

    columns = []
    for name in sorted(frame.columns):
        text = frame[name].map(lambda entry: str(entry).strip().removesuffix(" 00:00:00"))
        numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64)
        text = text.where(np.isnan(numbers), pd.Series(numbers, index=text.index).map(repr))
        columns.append(text.mask(frame[name].isna() | (text == ""), "").tolist())
    rows = zip(*columns, strict=True)
    return [hashlib.sha256("\x1f".join(row).encode()).hexdigest()[:16] for row in rows]


__all__ = ["ATTACKS", "MEMBERSHIP", "TossedTable", "audit_claim", "toss_table"]
