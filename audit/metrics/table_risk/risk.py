"""Risks of one synthetic table: the comparisons, and one family-wise error over all of them.

Null hypothesis: see split_test.py. Families, chosen before looking at the labels real and holdout: the records together
take half of the error (copies, near copies, singled out, linked, membership, identifiers), groups of records and single
columns the other half, all by the method of Holm (1979). A comparison is left out if its number of successes
would not be significant in any split, at its half divided by the number of attacks on the records together, and at a
fiftieth of its half otherwise: the successes of all pooled records are fixed under the null, so the choice does not
depend on the labels (Tarone 1990, Biometrics 46).

A single memorised record cannot be significant by this null: it is as likely real as the share of real records. It is
reported as a fact. It becomes a finding under an assumption that is named: in at least two continuous columns rows
agree with records by chance no more often than if each column of the table was shuffled by itself. The mean number of
such agreements then bounds their probability (Markov); a finding needs a mean of at most 0.01, and no such record in
the holdout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....mechanisms.core.arrays import Bools, Ints
from ....mechanisms.core.errors import ParameterError
from ....mechanisms.core.validation import open_unit, whole
from ...evidence.multiplicity import holm
from ..membership.roc import Pooled, RateAt
from . import split_test
from .result import ALL, Exposed, Memorised, RiskResult, SplitTest
from .successes import (
    Attacked,
    copied,
    expected_matches,
    groups_of,
    independent_numbers,
    names_copied,
)
from .tables import Tables, read_tables, row_keys

FEWEST_IN_GROUP = 10
MOST_SECRETS = 10
MOST_EXPOSED = 20
MOST_COPIES = 5_000
"""Largest number of copied records that are not under attack whose distances are computed: random ones."""
FPR = 0.01
_PARTS = 50


def risk(
    real: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    ignore: Sequence[str] = (),
    secrets: Sequence[str] = (),
    categories: Sequence[str] = (),
    n_attacked: int = 1_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> RiskResult:
    """Compare records that a synthetic table was made of with records that it was not made of.

    Args:
        real: DataFrame of the records that the table was made of, 100 or more.
        synthetic: DataFrame with the same columns, 20 rows or more.
        holdout: DataFrame of other records of the same population, 100 or more, split off at random before the
            table was made; None reports facts only.
        ignore: columns to leave out, such as row numbers.
        secrets: columns to infer; empty: the first ten.
        categories: columns to read as text although their entries are numbers or dates, such as codes of regions.
        n_attacked: largest number of records of each table under attack, chosen at random; copies use all.
        confidence: of each interval; 1 - confidence is the error of all findings together.
        seed: of the random descriptions and of the choice of records.

    Raises:
        ParameterError: other columns, empty tables, too few records, infinite numbers, the same table twice, or a
            holdout that overlaps the real table by more than chance.

    Guarantees:
        If the table does not depend on which of the pooled records are real, there is a finding by comparison with
        probability at most 1 - confidence, whatever the law of the records.

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
    tables = read_tables(real, synthetic, holdout, tuple(ignore), tuple(categories))
    for name in secrets:
        if name not in tables.domain:
            raise ParameterError(argument="secrets", value=name, allowed=f"be one of {', '.join(tables.domain)}")
    attacked = Attacked(tables, _chosen(tables, n_attacked, seed))
    overall, parts = _compared(attacked, tuple(secrets) or tuple(tables.domain)[:MOST_SECRETS], confidence, seed)
    if tables.has_holdout:
        overall, parts = _corrected(overall, parts, 1.0 - confidence)
    n_real = int(tables.real.sum())
    n_holdout = len(tables.real) - n_real
    exposed, n_exposed = _exposed(attacked)
    fewest = split_test.fewest_hits(n_real, n_holdout, _level(1.0 - confidence, overall)) if n_holdout else None
    return RiskResult(
        n_real=n_real,
        n_synthetic=len(tables.synthetic),
        n_holdout=n_holdout,
        n_attacked=len(attacked.rows),
        confidence=confidence,
        columns=tables.columns,
        overall=overall,
        parts=parts,
        membership=_membership(attacked, confidence),
        memorised=_memorised(tables),
        exposed=exposed,
        n_exposed=n_exposed,
        fewest=fewest,
    )


def _chosen(tables: Tables, n_attacked: int, seed: int) -> Ints:
    """Return the pooled records under attack: random ones of each table, so that their split is still uniform."""
    rng = np.random.default_rng(seed)
    sides = [np.flatnonzero(side) for side in (tables.real, ~tables.real)]
    return np.concatenate([np.sort(rng.permutation(side)[:n_attacked]) for side in sides])


def _compared(
    attacked: Attacked, secrets: Sequence[str], confidence: float, seed: int
) -> tuple[tuple[SplitTest, ...], tuple[SplitTest, ...]]:
    """Return the comparisons of all records, and those of groups and columns, uncorrected."""
    tables = attacked.tables
    (singled, by_chance), (linked, at_random) = attacked.singled_out(seed), attacked.linked()
    successes: dict[str, tuple[Bools, float | None]] = {
        "near copies": (attacked.near(), None),
        "singled out": (singled, by_chance),
        "linked": (linked, at_random),
    }
    if tables.has_holdout:
        successes["membership"] = attacked.closest(), None
    overall = [_compare("copies", ALL, copied(tables), tables.real, None, confidence)]
    overall += [_compare(name, ALL, *_with(hits, attacked, confidence)) for name, hits in successes.items()]
    if tables.pooled.names.shape[1]:
        overall.append(_compare("identifiers", ALL, names_copied(tables), tables.real, None, confidence))
    parts = [
        _compare(f"inferred: {name}", ALL, *_with(attacked.inferred(name), attacked, confidence)) for name in secrets
    ]
    for group, rows in groups_of(attacked, FEWEST_IN_GROUP).items():
        for name in ("near copies", "singled out", "linked"):
            hits = successes[name][0][rows]
            parts.append(_compare(name, group, hits, attacked.real[rows], None, confidence))
    return tuple(overall), tuple(parts)


def _with(success: tuple[Bools, float | None], attacked: Attacked, confidence: float) -> Any:
    return success[0], attacked.real, success[1], confidence


def _compare(attack: str, group: str, hits: Bools, real: Bools, baseline: float | None, confidence: float) -> SplitTest:
    n_real, k_real = int(real.sum()), int((hits & real).sum())
    n_holdout, k_holdout = len(real) - n_real, int((hits & ~real).sum())
    counts = (k_real, n_real, k_holdout, n_holdout)
    if not n_holdout:
        return SplitTest(attack, group, *counts, baseline)
    low, high = split_test.due_to_use(*counts, confidence) if n_real else (0.0, 0.0)
    p = split_test.p_value(*counts)
    return SplitTest(attack, group, *counts, baseline, low, high, p, 1.0)


def _corrected(
    overall: tuple[SplitTest, ...], parts: tuple[SplitTest, ...], significance: float
) -> tuple[tuple[SplitTest, ...], tuple[SplitTest, ...]]:
    """Return the comparisons with p-values adjusted for all of them."""
    levels = (overall, _level(significance, overall)), (parts, 0.5 * significance / _PARTS)
    kept = [[c for c in family if _attainable(c) <= level] for family, level in levels]
    weights = [1.0 / len(family) for family in kept for _ in family]
    flat = [c for family in kept for c in family]
    total = sum(weights) or 1.0
    values = [c.p_value for c in flat if c.p_value is not None]
    adjusted = dict(zip(map(id, flat), holm(values, weights=[w / total for w in weights]), strict=True)) if flat else {}
    renewed = [tuple(c.corrected(adjusted.get(id(c), 1.0)) for c in family) for family in (overall, parts)]
    return renewed[0], renewed[1]


def _level(significance: float, overall: tuple[SplitTest, ...]) -> float:
    """Return the p-value at which a comparison of all records is a finding, whatever the others are."""
    return 0.5 * significance / len(overall)


def _attainable(c: SplitTest) -> float:
    return split_test.smallest_p_value(c.hits_real + c.hits_holdout, c.n_real, c.n_holdout)


def _membership(attacked: Attacked, confidence: float) -> RateAt | None:
    """Return the share of the real records that are recognised at 1 % false alarms."""
    if attacked.real.all():
        return None
    return Pooled.of(-attacked.ratio[None], attacked.real[None]).rate_at(FPR, confidence)


def _memorised(tables: Tables) -> Memorised:
    """Return the real records that agree with a row in all continuous columns, and the expected number by chance."""
    columns = independent_numbers(tables)
    if columns.sum() < 2:
        return Memorised((), 0, 0, 0.0)
    hits = copied(tables, columns)
    (keys,) = row_keys(tables.pooled.exact[:, columns])
    alone = np.bincount(keys)[keys] == 1
    rows = tables.row[hits & tables.real & alone]
    names = tuple(name for name, is_one in zip(tables.domain, columns, strict=True) if is_one)
    return Memorised(names, len(rows), int((hits & ~tables.real).sum()), expected_matches(tables, columns))


def _exposed(attacked: Attacked) -> tuple[tuple[Exposed, ...], int]:
    """Return the most remote real records with a copy or near copy, and the number of these records.

    Copies are found among all real records, near copies among those under attack.
    """
    tables = attacked.tables
    copies = copied(tables) & tables.real
    others = np.setdiff1d(np.flatnonzero(copies), attacked.rows)
    examined = np.random.default_rng(len(others)).permutation(others)[:MOST_COPIES]
    if len(examined):
        attacked = Attacked(tables, np.concatenate([attacked.rows, np.sort(examined)]))
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
        for i in order[:MOST_EXPOSED]
    ]
    return tuple(listed), len(found) + len(others) - len(examined)
