"""Successes of the attacks about each pooled record: symmetric functions of the pooled records, given the table.

copies         a row of the table agrees with the record in every compared column
near copies    the nearest row is at most a fifth as far from the record as the nearest other pooled record
singled out    a narrow description of a row fits this pooled record and no other
linked         of all pooled records, this one alone is nearest to a row by each of two halves of the columns
membership     the record is among the 2 % of the pooled records with the smallest such ratio of distances (or tied)
inferred       the nearest row, by all other columns, has the value of the record
density        the record is in the quarter of the pooled records where the table is densest for the records there
relation       in some columns only, the nearest row is at most a tenth as far as the nearest other pooled record; no
               other pooled record equals the record in these, and no number is missing

The distance of two records is the sum over columns of the difference in units of the range of the middle nine tenths,
or 1 if two categories differ. A distance to the nearest row has no meaning of its own: in a dense region it is small
for everyone. It is divided by the distance to the nearest different pooled record.

Density: an auxiliary density is fitted on the rows of the table, the mean of Laplace kernels exp(-distance / h), which
are a product over the columns; it is divided by the same of all pooled records of other units. DOMIAS (van Breugel et
al. 2023, "Membership inference attacks against synthetic data through overfitting detection", AISTATS) takes other
densities, and a reference that is not under attack. The bandwidth h is fixed at 0.4 times the median distance to the
nearest different pooled record. The reference is a symmetric function of the pooled records, so that no record of the
holdout is spent on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ....attacks.people.disclosure import AttributeDisclosure
from ....attacks.people.disclosure.nearest_rows import MAX_BLOCK_DISTANCES
from ....mechanisms.core import Bools, Floats, Ints
from ....mechanisms.noise.queries.domain import Domain
from .descriptions import between_records, singled_out, singling_columns
from .tables import Table, Tables, row_keys

NEAR_COPY_RATIO = 0.2
"""Largest ratio of distances of a near copy."""
RELATED_RATIO = 0.1
"""Largest ratio of distances of a record that some columns relate to a row."""
CALLED_REAL = 0.02
"""Share of the pooled records that the membership attack calls real."""
DENSE, BANDWIDTH = 0.25, 0.4
"""Share of the pooled records that the density attack calls real, and bandwidth in median distances."""
OUTLIERS, NEIGHBOURS = 0.05, 5
"""Outliers are this share of the pooled records, the farthest ones from their fifth nearest other record."""
_EQUAL_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class AttackedRecords:
    """Pooled records under attack.

    Args:
        tables: all tables.
        rows: `(n,)` indices of the pooled records under attack.
    """

    tables: Tables
    rows: Ints

    @cached_property
    def codes(self) -> Ints:
        """Codes of the records under attack."""
        return self.tables.pooled.codes[self.rows]

    @cached_property
    def real(self) -> Bools:
        """Whether each record is real."""
        return self.tables.real[self.rows]

    @cached_property
    def to_table(self) -> Floats:
        """Distance of each record to the nearest row of the table."""
        return _smallest(self.tables.pooled[self.rows], self.tables.synthetic)

    @cached_property
    def to_records(self) -> tuple[Floats, Floats, Ints]:
        """Distance to the nearest different pooled record, to the fifth nearest, and number of others nearby.

        Nearby is within the median of the first distances. The nearest record is one of another unit.
        """
        records, unit = self.tables.pooled[self.rows], self.tables.unit[self.rows]
        nearest, fifth, place = np.empty(len(records)), np.empty(len(records)), min(NEIGHBOURS, len(records) - 1)
        for block, distance in distances(records, records):
            other = (distance > _EQUAL_TOLERANCE) & (unit[block, None] != unit)
            nearest[block] = np.where(other, distance, np.inf).min(axis=1)
            fifth[block] = np.partition(distance, place, axis=1)[:, place]
        reach, nearby = float(np.median(nearest)), np.empty(len(records), dtype=np.int64)
        for block, distance in distances(records, records):
            nearby[block] = (distance <= reach).sum(axis=1) - 1
        return nearest, fifth, nearby

    @cached_property
    def ratio(self) -> Floats:
        """Distance to the table over that to the nearest different record; small for copies."""
        return np.asarray(self.to_table / self.to_records[0])

    def near(self) -> Bools:
        """Return the mask of copies and near copies."""
        return np.asarray(self.ratio <= NEAR_COPY_RATIO)

    def closest(self) -> Bools:
        """Return the mask of the records that the membership attack calls real.

        Ties at the limit are left out, unless all records below it are tied: then they are all called real.
        """
        return _smallest_share(self.ratio, CALLED_REAL)

    @cached_property
    def density(self) -> Floats:
        """Log density of the table at each record, less that of the pooled records of other units; large for copies."""
        from scipy.special import logsumexp

        tables, nearest = self.tables, self.to_records[0]
        known, records, unit = nearest[np.isfinite(nearest)], tables.pooled[self.rows], tables.unit[self.rows]
        h, difference = BANDWIDTH * float(np.median(known)) if len(known) else 1.0, np.zeros(len(self.rows))
        for sign, rows in ((1.0, tables.synthetic), (-1.0, records)):
            for block, distance in distances(records, rows):
                if rows is records:
                    distance[unit[block, None] == unit] = np.inf
                difference[block] += sign * logsumexp(-distance / h, axis=1)
        return np.round(difference, 9)  # the sum of the kernels is the same in each order of the records

    def dense(self) -> Bools:
        """Return the mask of the records that the density attack calls real; of ties as for `closest`."""
        return _smallest_share(-self.density, DENSE)

    def related(self, columns: Sequence[str]) -> Bools:
        """Return the mask of the records that some columns relate to a row: see the head of this file."""
        tables, chosen = self.tables, np.isin(list(self.tables.domain), columns)
        pooled, synthetic = (tables.part(table, chosen) for table in (tables.pooled, tables.synthetic))
        (keys,) = row_keys(pooled.exact)
        of = tables.point_columns[chosen[tables.point_columns]]
        is_missing = np.append(False, of[1:] == of[:-1])[: len(of)]  # the second coordinate of a column
        clear = (np.bincount(keys) == 1)[keys] & ~(pooled.points[:, is_missing] > 0.0).any(axis=1)
        parts = AttackedRecords(replace(tables, pooled=pooled, synthetic=synthetic), self.rows)
        return np.asarray(clear[self.rows] & (parts.ratio <= RELATED_RATIO))

    def outliers(self) -> Bools:
        """Return the mask of the records that are far from the others."""
        far = self.to_records[1]
        return np.asarray(far > np.quantile(far, 1.0 - OUTLIERS))

    def singled_out(self, seed: int) -> tuple[Bools, float]:
        """Return the columns `(n, d)` that single out each record, and the share that random rows single out."""
        tables, rng = self.tables, np.random.default_rng(seed)
        records, rows = tables.pooled.exact[self.rows], tables.synthetic.exact
        ordered = np.isin(list(tables.domain), tables.ordered)
        found = singling_columns(records.astype(np.float64), rows.astype(np.float64), ordered, rng)
        at_random = between_records(records, ordered, len(rows), rng)
        return found, float(singled_out(records.astype(np.float64), at_random, ordered, rng).mean())

    @cached_property
    def linking_row(self) -> Ints:
        """Row of the table that links each record, with the columns dealt to two parties in turn; -1 without one.

        The parties know one half of the columns each, of all pooled records. For each row they claim that the nearest
        record by one half is the nearest by the other: if exactly one record is both, it is linked. Giomi et al.
        (2023, section 5.3) start from a record, whose halves are linked if they have one nearest row: where records
        are dense this row is often not the copy of the record but another one.
        """
        records, rows, linking = self.tables.pooled[self.rows], self.tables.synthetic, np.full(len(self.rows), -1)
        first = np.arange(len(self.tables.domain)) % 2 == 0
        halves = [distances(self.tables.part(rows, half), self.tables.part(records, half)) for half in (first, ~first)]
        for (block, one), (_, other) in zip(*halves, strict=True):
            both = _nearest(one) & _nearest(other)
            row = np.flatnonzero(both.sum(axis=1) == 1)
            linking[both[row].argmax(axis=1)] = block.start + row
        return linking

    def linked(self) -> tuple[Bools, float]:
        """Return the mask of the linked records, and the share that is linked by chance."""
        return self.linking_row >= 0, 1.0 / len(self.rows)

    def inferred(self, secret: str) -> tuple[Bools, float]:
        """Return the mask of the records whose value is inferred, and the share with records in place of the table.

        For the baseline, each half of the records is attacked with the other half as the table.
        """
        attack, rng = (
            AttributeDisclosure(Domain.of(self.tables.domain), self.tables.ordered, secret=secret),
            np.random.default_rng(0),
        )
        half = rng.permutation(len(self.rows)) % 2 == 0
        baseline = [attack.correct_among(self.codes[~side], self.codes[side], rng) for side in (half, ~half)]
        return attack.correct_among(self.tables.synthetic.codes, self.codes, rng), float(
            np.concatenate(baseline).mean()
        )


def agreement_mask(tables: Tables, columns: Bools | None = None) -> Bools:
    """Return the mask of the pooled records that agree with a row of the table in all, or in some columns."""
    selected = slice(None) if columns is None else columns
    pooled, synthetic = row_keys(tables.pooled.exact[:, selected], tables.synthetic.exact[:, selected])
    return np.isin(pooled, synthetic)


def identifier_mask(tables: Tables) -> Bools:
    """Return the mask of the pooled records one of whose identifiers is in the table."""
    pairs = zip(tables.pooled.names.T, tables.synthetic.names.T, strict=True)
    found = [np.isin(pooled, synthetic[synthetic >= 0]) for pooled, synthetic in pairs]
    return np.asarray(np.any(found, axis=0))


def groups_of(attacked: AttackedRecords, fewest: int, most_values: int = 30) -> dict[str, Bools]:
    """Return the masks of the outliers and of the values of categories with enough records under attack."""
    groups = {"outliers": attacked.outliers()}
    for name, labels in attacked.tables.labels.items():
        codes = attacked.codes[:, list(attacked.tables.domain).index(name)]
        counts = np.bincount(codes, minlength=len(labels))
        large: Sequence[int] = np.flatnonzero(counts >= fewest).tolist() if len(labels) <= most_values else []
        groups |= {f"{name} = {labels[code]}": np.asarray(codes == code) for code in large}
    return groups


def _nearest(distance: Floats) -> Bools:
    return np.asarray(distance <= distance.min(axis=1, keepdims=True) + _EQUAL_TOLERANCE)


def _smallest_share(values: Floats, share: float) -> Bools:
    limit = np.sort(values)[min(len(values) - 1, max(1, round(share * len(values))))]
    below = values < limit
    return np.asarray(below if below.any() else values <= limit)


def _smallest(records: Table, rows: Table) -> Floats:
    return np.concatenate([distance.min(axis=1) for _, distance in distances(records, rows)])


def distances(records: Table, rows: Table) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of records with their distances `(block, n_rows)`."""
    from scipy.spatial.distance import cdist

    step, n_categories = max(1, MAX_BLOCK_DISTANCES // len(rows)), rows.categories.shape[1]
    for start in range(0, len(records), step):
        block = slice(start, start + step)
        distance = np.zeros((len(records.exact[block]), len(rows)))
        if rows.points.shape[1]:
            distance += cdist(records.points[block], rows.points, "cityblock")
        if n_categories:
            distance += np.rint(n_categories * cdist(records.categories[block], rows.categories, "hamming"))
        yield block, distance
