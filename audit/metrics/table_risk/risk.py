"""Risks of one synthetic table: the comparisons, and one family-wise error over all of them.

Null hypothesis of the comparisons: see splits.py; that of agreements in continuous columns: see agreements.py.
Fixed before looking: agreements take a tenth of the error. Of the rest the records together take half (copies, near
copies, singled out, linked, membership, identifiers, relations), density, groups of records and single columns the
other half, all by the method of Holm (1979). A comparison is left out if its number of successes would not be
significant in any split, at its half divided by the number of attacks on the records together, and at a fiftieth of its
half otherwise: the successes of all pooled records are fixed under the null, so the choice does not depend on the
labels (Tarone 1990, Biometrics 46).

If the holdout was split off by a unit of several records, such as an account, all splits of the units are equally
likely. A unit succeeds if one of its records does; units are counted, and agreements are those of one random record of
each unit. A single memorised record is never a finding: it is as likely real as the share of real records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....mechanisms.core import Guarantee, Ints, ParameterError, holm, open_unit, whole
from ...games.coins import Coins
from ..membership.roc import Pooled, RateAt
from . import splits
from .agreements import MIN_AGREEMENTS, agreement_p_value, agreements
from .causes import Hits, cause_of, causes_of, found_records
from .claim import MEMBERSHIP, audit_claim
from .holdout import check_holdout
from .result import (
    ALL_RECORDS,
    CONTINUOUS_SHARE,
    DENSITY,
    MAX_FOUND,
    MEMORISED,
    Exposed,
    MemorisedRecords,
    RiskResult,
    SplitTest,
)
from .successes import AttackedRecords, agreement_mask, groups_of, identifier_mask
from .tables import Tables, check_categories, read_tables, row_keys

MIN_GROUP_SIZE = 10
MAX_SECRETS = 10
MAX_EXPOSED_SHOWN = 20
MAX_COPIES = 5_000
"""Largest number of copied records that are not under attack whose distances are computed: random ones."""
FALSE_POSITIVE_RATE = 0.01
_N_PARTS = 50


def risk(
    real: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    ignore: Sequence[str] = (),
    secrets: Sequence[str] = (),
    categories: Sequence[str] = (),
    unit: str | None = None,
    n_attacked: int = 1_000,
    confidence: float = 0.95,
    seed: int = 0,
    coins: Coins | None = None,
    claim: Guarantee | None = None,
    attacks: Sequence[str] = (MEMBERSHIP,),
    looks: int = 1,
    relations: Mapping[str, Sequence[str]] | None = None,
) -> RiskResult:
    """Compare records that a synthetic table was made of with records that it was not made of.

    With coins of `toss_table`, which decided the records of both tables, the claim of the generator is tested as well:
    the verdict is then that of the claim.

    Args:
        real: DataFrame of the records that the table was made of.
        synthetic: DataFrame with the same columns.
        holdout: DataFrame of other records of the same population, split off at random before the table was made;
            None reports facts only.
        ignore: columns to leave out, such as row numbers.
        secrets: columns to infer; empty: the first ten.
        categories: columns to read as text although their entries are numbers or dates, such as codes of regions.
        unit: column of real and holdout by which the holdout was split off, such as an account with several rows: its
            values are compared. None: single rows were split off.
        n_attacked: largest number of records of each table under attack, chosen at random; copies use all. With a
            unit, as many units as have so many records on average.
        confidence: of each interval; 1 - confidence is the error of all findings together.
        seed: of the random descriptions and of the choice of records.
        coins: of the units, tossed before the table was made; None: no claim is tested.
        claim: the guarantee under test, for a unit that is added or removed; required with coins.
        attacks: the attacks on the coins, chosen before looking: "membership", "copies", "distance", "density"; several
            divide the level.
        looks: number of planned audits with these coins, by all attacks and of all tables; see `Coins.audit`.
        relations: name -> columns by which alone records are compared as well; `TableKeys.people` gives those of
            several tables. Identifiers and constants are left out.

    Raises:
        ParameterError: other columns, empty tables, too few records, infinite numbers, a holdout that is another table
            again, shares more records with the real table or differs more from it than random splits do, or was split
            off by a unit that is not named; coins without a claim or a holdout, or the reverse; tables that are not
            those of the coins.

    Guarantees:
        If the table does not depend on which of the pooled records (or units) are real, there is a finding by
        comparison with probability at most 0.9 (1 - confidence), whatever the law of the records. If records and rows
        are independent draws of any two laws, there is a finding by agreements in continuous columns with probability
        at most 0.1 (1 - confidence). With coins, the bound on epsilon exceeds that of the generator with probability
        at most 1 - confidence, for any records: this error is beside that of the findings.

    Example:
        >>> import pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> draw = lambda n: pd.DataFrame(rng.normal(size=(n, 3)).round(4), columns=["age", "pay", "height"])
        >>> real, holdout = draw(300), draw(300)
        >>> risk(real, draw(300), holdout).safe_so_far
        True
        >>> risk(real, pd.concat([draw(270), real[:30]]), holdout).findings[0].attack
        'copies'
    """
    open_unit(confidence=confidence)
    whole(0, seed=seed)
    whole(100, n_attacked=n_attacked)
    audit = None
    if coins is not None or claim is not None:
        audit = audit_claim(
            real,
            synthetic,
            holdout,
            coins=coins,
            claim=claim,
            attacks=attacks,
            unit=unit,
            ignore=ignore,
            categories=categories,
            confidence=confidence,
            looks=looks,
        )
    tables = read_tables(real, synthetic, holdout, tuple(ignore), tuple(categories), unit or "")
    if audit is None:  # coins split at random
        check_holdout(tables, by_row=unit is None)
    check_categories(tables)
    for name in secrets:
        if name not in tables.domain:
            raise ParameterError(argument="secrets", value=name, allowed=f"be one of {', '.join(tables.domain)}")
    attacked = AttackedRecords(tables, _chosen(tables, n_attacked, seed))
    of_all, of_parts = _successes(attacked, tuple(secrets) or tuple(tables.domain)[:MAX_SECRETS], relations or {}, seed)
    overall, parts = (tuple(_compare(hits, tables, confidence) for hits in part) for part in (of_all, of_parts))
    level = (1.0 - CONTINUOUS_SHARE) * (1.0 - confidence)
    if tables.has_holdout:
        overall, parts = _corrected(overall, parts, level)
    n_real = int(tables.real.sum())
    n_holdout = len(tables.real) - n_real
    exposed, n_exposed = _exposed(attacked)
    copies = overall[0]
    fewest = splits.fewest_hits(copies.n_real, copies.n_holdout, _level(level, overall)) if n_holdout else None
    result = RiskResult(
        n_real=n_real,
        n_synthetic=len(tables.synthetic),
        n_holdout=n_holdout,
        n_attacked=len(attacked.rows),
        confidence=confidence,
        columns=tables.columns,
        overall=overall,
        parts=parts,
        membership=_membership(attacked, confidence),
        memorised=_memorised(tables, seed),
        exposed=exposed,
        n_exposed=n_exposed,
        fewest=fewest,
        unit=unit or "",
        audit=audit,
    )
    return _explained(result, tables, (*of_all, *of_parts))


def _explained(result: RiskResult, tables: Tables, successes: Sequence[Hits]) -> RiskResult:
    """Return the result with the causes of its findings, and the records that were found."""
    significant = {(c.attack, c.group) for c in result.findings}
    found = [hits for hits in successes if (hits.attack, hits.group) in significant]
    if result.memorised_by_assumption:
        columns = tables.continuous
        agree = Hits(
            tables,
            MEMORISED,
            ALL_RECORDS,
            np.arange(len(tables.real)),
            agreement_mask(tables, columns),
            columns=result.memorised.columns,
        )
        place = sum(hits.group == ALL_RECORDS and hits.attack in ("copies", "near copies") for hits in found)
        found.insert(place, agree)
    shown = [hits for hits in successes if hits in found or hits.attack in ("copies", "near copies")]
    unlisted = "inferred: ", DENSITY  # right about many records by chance
    listed = [hits for hits in shown if hits.group == ALL_RECORDS and not hits.attack.startswith(unlisted)]
    return replace(
        result,
        causes=causes_of(found),
        each=tuple(cause_of(hits) for hits in found if hits.group == ALL_RECORDS),
        found=found_records(listed, tables, MAX_FOUND),
    )


def _chosen(tables: Tables, n_attacked: int, seed: int) -> Ints:
    """Return the pooled records under attack: random units of each table, so that their split is still uniform."""
    rng = np.random.default_rng(seed)
    units = np.unique(tables.unit)
    n_units = max(1, round(n_attacked * len(units) / len(tables.real)))
    sides = [np.unique(tables.unit[side]) for side in (tables.real, ~tables.real)]
    chosen = np.concatenate([rng.permutation(side)[:n_units] for side in sides])
    return np.flatnonzero(np.isin(tables.unit, chosen))


def _successes(
    attacked: AttackedRecords, secrets: Sequence[str], relations: Mapping[str, Sequence[str]], seed: int
) -> tuple[list[Hits], list[Hits]]:
    """Return the hits on all records, and those of groups and columns."""
    tables, rows, all_rows = attacked.tables, attacked.rows, np.arange(len(attacked.tables.real))
    (columns, by_chance), (linked, at_random) = attacked.singled_out(seed), attacked.linked()
    of_parts = [
        Hits(tables, "near copies", ALL_RECORDS, rows, attacked.near()),
        Hits(tables, "singled out", ALL_RECORDS, rows, np.asarray(columns.any(axis=1)), by_chance, described=columns),
        Hits(tables, "linked", ALL_RECORDS, rows, linked, at_random, matched=attacked.linking_row),
    ]
    overall = [Hits(tables, "copies", ALL_RECORDS, all_rows, agreement_mask(tables)), *of_parts]
    if tables.has_holdout:
        overall.append(Hits(tables, "membership", ALL_RECORDS, rows, attacked.closest()))
    if tables.pooled.names.shape[1]:
        overall.append(
            Hits(tables, "identifiers", ALL_RECORDS, all_rows, identifier_mask(tables), columns=tables.identifiers)
        )
    for name, columns_of in relations.items():
        if compared := tuple(column for column in columns_of if column in tables.domain):
            related = attacked.related(compared)
            overall.append(Hits(tables, f"relation: {name}", ALL_RECORDS, rows, related, columns=compared))
    parts = [Hits(tables, DENSITY, ALL_RECORDS, rows, attacked.dense())] if tables.has_holdout else []
    parts += [
        Hits(tables, f"inferred: {name}", ALL_RECORDS, rows, *attacked.inferred(name), columns=(name,))
        for name in secrets
    ]
    for group, within in groups_of(attacked, MIN_GROUP_SIZE).items():
        parts += [hits.within(group, within) for hits in of_parts]
    return overall, parts


def _compare(found: Hits, tables: Tables, confidence: float) -> SplitTest:
    attack, group, hits, baseline = found.attack, found.group, found.right, found.baseline
    real, unit = tables.real[found.rows], tables.unit[found.rows]
    _, first, number = np.unique(unit, return_index=True, return_inverse=True)
    if len(first) < len(unit):  # a unit succeeds if one of its records does; the baseline is of records
        hits, real, baseline = np.bincount(number.ravel(), weights=hits) > 0, real[first], None
    n_real, k_real = int(real.sum()), int((hits & real).sum())
    n_holdout, k_holdout = len(real) - n_real, int((hits & ~real).sum())
    counts = (k_real, n_real, k_holdout, n_holdout)
    if not n_holdout:
        return SplitTest(attack, group, *counts, baseline)
    low, high = splits.due_to_use(*counts, confidence) if n_real else (0.0, 0.0)
    p = splits.p_value(*counts)
    return SplitTest(attack, group, *counts, baseline, low, high, p, 1.0)


def _corrected(
    overall: tuple[SplitTest, ...], parts: tuple[SplitTest, ...], significance: float
) -> tuple[tuple[SplitTest, ...], tuple[SplitTest, ...]]:
    """Return the comparisons with p-values adjusted for all of them, and for the share of the agreements."""
    levels = (overall, _level(significance, overall)), (parts, 0.5 * significance / _N_PARTS)
    kept = [[c for c in family if _attainable(c) <= level] for family, level in levels]
    weights = [1.0 / len(family) for family in kept for _ in family]
    flat = [c for family in kept for c in family]
    total = sum(weights) or 1.0
    values = [c.p_value for c in flat if c.p_value is not None]
    adjusted = dict(zip(map(id, flat), holm(values, weights=[w / total for w in weights]), strict=True)) if flat else {}
    renewed = [
        tuple(c.corrected(min(1.0, adjusted.get(id(c), 1.0) / (1.0 - CONTINUOUS_SHARE))) for c in family)
        for family in (overall, parts)
    ]
    return renewed[0], renewed[1]


def _level(significance: float, overall: tuple[SplitTest, ...]) -> float:
    """Return the p-value at which a comparison of all records is a finding, whatever the others are."""
    return 0.5 * significance / len(overall)


def _attainable(c: SplitTest) -> float:
    return splits.smallest_p_value(c.hits_real + c.hits_holdout, c.n_real, c.n_holdout)


def _membership(attacked: AttackedRecords, confidence: float) -> RateAt | None:
    """Return the share of the real units that are recognised at 1 % false alarms; None with fewer than 100 others."""
    order = np.lexsort((attacked.ratio, attacked.tables.unit[attacked.rows]))
    units = attacked.tables.unit[attacked.rows][order]
    nearest = order[np.append(True, units[1:] != units[:-1])]  # of each unit the record with the smallest ratio
    ratio, real = attacked.ratio[nearest], attacked.real[nearest]
    return (
        Pooled.of(-ratio[None], real[None]).rate_at(FALSE_POSITIVE_RATE, confidence)
        if (~real).sum() * FALSE_POSITIVE_RATE >= 1
        else None
    )


def _memorised(tables: Tables, seed: int) -> MemorisedRecords:
    """Return the agreements of records with rows in all continuous columns, of one record of each unit."""
    if tables.continuous.sum() < 2:
        return MemorisedRecords((), 0, 0)
    keys, rows = row_keys(*(table.exact[:, tables.continuous] for table in (tables.pooled, tables.synthetic)))
    order = np.random.default_rng(seed).permutation(len(keys))
    one = order[np.unique(tables.unit[order], return_index=True)[1]]
    real = tables.real[one]
    counts = agreements(keys[one], real, rows)
    p_value = 1.0
    if counts[0] >= MIN_AGREEMENTS and not any(counts[1:]) and not real.all():
        p_value = agreement_p_value(counts[0], int(real.sum()), int((~real).sum()), len(rows))
    return MemorisedRecords(tuple(np.array(list(tables.domain))[tables.continuous].tolist()), *counts, p_value)


def _exposed(attacked: AttackedRecords) -> tuple[tuple[Exposed, ...], int]:
    """Return the most remote real records with a copy or near copy, and the number of these records.

    Copies are found among all real records, near copies among those under attack.
    """
    tables = attacked.tables
    copies = agreement_mask(tables) & tables.real
    others = np.setdiff1d(np.flatnonzero(copies), attacked.rows)
    examined = np.random.default_rng(len(others)).permutation(others)[:MAX_COPIES]
    if len(examined):
        attacked = AttackedRecords(tables, np.concatenate([attacked.rows, np.sort(examined)]))
    exact = copies[attacked.rows]
    _, far, nearby = attacked.to_records
    found = np.flatnonzero((attacked.near() | exact) & attacked.real)
    order = found[np.lexsort((-far[found], nearby[found]))]
    listed = [
        Exposed(
            row=int(tables.row[attacked.rows[i]]),
            exact=bool(exact[i]),
            nearby=int(nearby[i]),
            ratio=float(attacked.ratio[i]),
            remoteness=float((far < far[i]).mean()),
        )
        for i in order[:MAX_EXPOSED_SHOWN]
    ]
    return tuple(listed), len(found) + len(others) - len(examined)
