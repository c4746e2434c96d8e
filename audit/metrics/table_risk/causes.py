"""Findings about mostly the same real records are one leak: they are grouped, and its records and columns named.

A finding has an excess: the real records about which it is right, less as many as there would be at the rate of the
holdout. It belongs to the first cause whose records hold at least half of this excess. Everything here follows from
comparisons that were made; nothing is tested again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....mechanisms.core import Bools, Ints
from .result import Cause, FoundRecord

_HALF = 0.5


@dataclass(frozen=True, eq=False)
class Hits:
    """Records about which an attack is right.

    Args:
        attack, group: as in the comparison.
        rows: `(n,)` indices of the pooled records that are compared.
        right: `(n,)` whether the attack is right.
        baseline: share about which a guess without the table is right; None if there is no such guess.
        columns: columns that the attack looks at; empty if it looks at all.
    """

    attack: str
    group: str
    rows: Ints
    right: Bools
    baseline: float | None = None
    columns: tuple[str, ...] = ()


def causes_of(found: Sequence[Hits], real: Bools, described: Bools, names: Sequence[str]) -> tuple[Cause, ...]:
    """Return the causes of findings.

    Args:
        found: hits of each finding, those that name a leak best first.
        real: `(n,)` whether each pooled record is real.
        described: `(n, d)` columns of the description that singles out each record; none without one.
        names: `(d,)` names of the columns.
    """
    causes: list[tuple[list[Hits], Bools]] = []
    for hits in found:
        side = real[hits.rows]
        chance = float(hits.right[~side].mean()) if (~side).any() else 0.0
        excess = (hits.right & side).sum() - chance * side.sum()
        for members, records in causes:
            inside = records[hits.rows] & side
            if (hits.right & inside).sum() - chance * inside.sum() >= _HALF * excess:
                members.append(hits)
                break
        else:
            records = np.zeros(len(real), dtype=np.bool_)
            records[hits.rows[hits.right & side]] = True
            causes.append(([hits], records))
    return tuple(_cause(members, records, described, names) for members, records in causes)


def _cause(members: Sequence[Hits], records: Bools, described: Bools, names: Sequence[str]) -> Cause:
    """Return a cause, with the columns of most descriptions of its records, or those that its attack looks at."""
    findings, size = tuple((hits.attack, hits.group) for hits in members), int(records.sum())
    used = described[records & described.any(axis=1)]
    if members[0].columns or not len(used):
        return Cause(findings, size, members[0].columns)
    (most, n_most), *_ = Counter(map(tuple, used.tolist())).most_common(1)
    if alone := n_most >= _HALF * len(used):
        columns, n_by = np.array(most), n_most
    else:
        columns = used.mean(axis=0) >= _HALF
        n_by = int(used[:, columns].all(axis=1).sum()) if columns.any() else 0
    if not columns.any() or n_by < _HALF * len(used):
        columns, n_by = np.arange(len(names)) == used.sum(axis=0).argmax(), int(used.sum(axis=0).max())
    return Cause(findings, size, tuple(np.array(names)[columns].tolist()), n_by, bool(alone))


def found_records(
    shown: Sequence[Hits], real: Bools, row: Ints, described: Bools, names: Sequence[str], most: int
) -> tuple[FoundRecord, ...]:
    """Return the real records about which attacks are right, those of the most attacks first; at most `most`.

    Args:
        shown: hits of attacks on all records.
        real, described, names: see `causes_of`.
        row: `(n,)` row of each record in its table, from 1.
        most: largest number of records.
    """
    attacks: dict[int, dict[str, None]] = {}
    for hits in shown:
        for place in hits.rows[hits.right & real[hits.rows]].tolist():
            attacks.setdefault(place, {})[hits.attack] = None
    order = sorted(attacks, key=lambda place: (-len(attacks[place]), row[place]))[:most]
    named: Mapping[int, tuple[str, ...]] = {place: tuple(np.array(names)[described[place]].tolist()) for place in order}
    return tuple(FoundRecord(int(row[place]), tuple(attacks[place]), named[place]) for place in order)


__all__ = ["Hits", "causes_of", "found_records"]
