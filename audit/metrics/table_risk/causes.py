"""Findings about mostly the same real records are one leak: they are grouped, and its records and columns named.

A finding has an excess: the real records about which it is right, less as many as there would be at the rate of the
holdout. It belongs to the first cause whose records hold at least half of this excess. Everything here follows from
comparisons that were made; nothing is tested again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ....mechanisms.core import Bools, Ints
from .identifying import identifying_columns, nearest_rows
from .result import Cause, FoundRecord
from .tables import Tables

_HALF = 0.5
MAX_EXAMINED = 1_000
"""Largest number of records of a finding whose columns are looked for: random ones."""
MAX_DISTANCES = 20_000_000
"""Largest number of distances for them, of a record in one column; at least `MIN_EXAMINED` records are examined."""
MIN_EXAMINED = 100


@dataclass(frozen=True, eq=False)
class Hits:
    """Records about which an attack is right.

    Args:
        tables: the tables.
        attack, group: as in the comparison.
        rows: `(n,)` indices of the pooled records that are compared.
        right: `(n,)` whether the attack is right.
        baseline: share about which a guess without the table is right; None if there is no such guess.
        columns: columns that the attack looks at; empty if it looks at all.
        described: `(n, d)` columns of the description that singles out each record; None for other attacks.
        matched: `(n,)` row of the table by which the attack is right about each record; None: the nearest one.
    """

    tables: Tables
    attack: str
    group: str
    rows: Ints
    right: Bools
    baseline: float | None = None
    columns: tuple[str, ...] = ()
    described: Bools | None = None
    matched: Ints | None = None

    def within(self, group: str, inside: Bools) -> Hits:
        """Return the hits on the records of a group."""
        return replace(
            self,
            group=group,
            rows=self.rows[inside],
            right=self.right[inside],
            baseline=None,
            described=None if self.described is None else self.described[inside],
            matched=None if self.matched is None else self.matched[inside],
        )

    @cached_property
    def real(self) -> Bools:
        """Whether each record is real, `(n,)`."""
        return self.tables.real[self.rows]

    @cached_property
    def identified(self) -> tuple[Ints, Bools]:
        """Real records about which the attack is right, all or random ones, and columns that identify each `(n, d)`."""
        tables, place = self.tables, np.flatnonzero(self.right & self.real)
        if self.described is not None:
            return self.rows[place], self.described[place]
        if not len(place):
            return place, np.empty((0, len(tables.domain)), dtype=np.bool_)
        most = MAX_DISTANCES // (len(tables.real) * len(tables.domain))
        n_examined = min(MAX_EXAMINED, max(MIN_EXAMINED, most))
        if len(place) > n_examined:
            place = np.sort(np.random.default_rng(len(place)).choice(place, n_examined, replace=False))
        records = self.rows[place]
        matched = nearest_rows(tables, records) if self.matched is None else self.matched[place]
        return records, identifying_columns(tables, records, matched)


def causes_of(found: Sequence[Hits]) -> tuple[Cause, ...]:
    """Return the causes of findings.

    Args:
        found: hits of each finding, those that name a leak best first.
    """
    causes: list[tuple[list[Hits], Bools]] = []
    for hits in found:
        side = hits.real
        chance = float(hits.right[~side].mean()) if (~side).any() else 0.0
        excess = (hits.right & side).sum() - chance * side.sum()
        for members, records in causes:
            inside = records[hits.rows] & side
            if (hits.right & inside).sum() - chance * inside.sum() >= _HALF * excess:
                members.append(hits)
                break
        else:
            records = np.zeros(len(hits.tables.real), dtype=np.bool_)
            records[hits.rows[hits.right & side]] = True
            causes.append(([hits], records))
    return tuple(
        replace(cause_of(members[0]), findings=tuple((hits.attack, hits.group) for hits in members))
        for members, _ in causes
    )


def cause_of(hits: Hits) -> Cause:
    """Return one finding, with the columns that identify most of its records, or that its attack looks at."""
    findings, size = ((hits.attack, hits.group),), int((hits.right & hits.real).sum())
    if hits.columns:
        return Cause(findings, size, hits.columns)
    records, by = hits.identified
    names, used = np.array(list(hits.tables.domain)), by[by.any(axis=1)]
    if not len(used):
        return Cause(findings, size, n_examined=len(records))
    (most, n_most), *_ = Counter(map(tuple, used.tolist())).most_common(1)
    if alone := n_most >= _HALF * len(used):
        columns, n_by = np.array(most), n_most
    else:
        columns = used.mean(axis=0) >= _HALF
        n_by = int(used[:, columns].all(axis=1).sum()) if columns.any() else 0
    if not columns.any() or n_by < _HALF * len(used):
        columns, n_by = np.arange(len(names)) == used.sum(axis=0).argmax(), int(used.sum(axis=0).max())
    return Cause(findings, size, tuple(names[columns].tolist()), n_by, bool(alone), len(records))


def found_records(shown: Sequence[Hits], tables: Tables, most: int) -> tuple[FoundRecord, ...]:
    """Return the real records about which attacks are right, those of the most attacks first; at most `most`.

    Args:
        shown: hits of attacks on all records.
        tables: the tables.
        most: largest number of records.
    """
    names = np.array(list(tables.domain))
    attacks: dict[int, dict[str, None]] = {}
    for hits in shown:
        for place in hits.rows[hits.right & hits.real].tolist():
            attacks.setdefault(place, {})[hits.attack] = None
    columns: dict[int, tuple[str, ...]] = {}
    for hits in sorted(shown, key=lambda hits: hits.described is None):  # a description names columns best
        for place, used in zip(*hits.identified, strict=True) if not hits.columns else ():
            columns[place] = columns.get(place) or tuple(names[used].tolist())
    order = sorted(attacks, key=lambda place: (-len(attacks[place]), tables.row[place]))[:most]
    return tuple(FoundRecord(int(tables.row[place]), tuple(attacks[place]), columns.get(place, ())) for place in order)


__all__ = ["Hits", "cause_of", "causes_of", "found_records"]
