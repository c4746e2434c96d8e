"""Real, synthetic and holdout tables in one encoding, which does not depend on which pooled records are the real ones.

A type is inferred from all three tables together, bins from the pooled records (real and holdout):

    number     all entries are numbers, infinite ones are refused; with more than 20 values in up to 20 bins of equal
               counts. Text has commas for thousands, or for decimals, if all tables write it so; text with leading
               zeros, such as zip codes, is no number
    date       all entries are dates, read as days
    category   all other columns, those of the type category of pandas, and those that the user names, which are read as
               text
    identifier text of which more than half of the pooled entries are distinct: compared by itself only
    constant   one value only: left out

Tables that write a column in other ways are refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....mechanisms.core import Bools, Floats, Ints, ParameterError, listed, plural, unknown_name_message

if TYPE_CHECKING:
    import pandas as pd

MIN_RECORDS = 2
"""Smallest number of real and of holdout records: one record has no other one to be compared with."""
N_BINS = 20


@dataclass(frozen=True)
class ColumnType:
    """Inferred type of a column.

    Args:
        name: name of the column.
        kind: "number", "date", "category", "identifier" or "constant".
        n_values: number of distinct values in the pooled records.
        missing: share of missing entries in the pooled records.
    """

    name: str
    kind: str
    n_values: int
    missing: float


@dataclass(frozen=True, eq=False)
class Table:
    """Records of one or more tables in the common encoding.

    Args:
        exact: `(n, d)` numbers that agree exactly where the entries do.
        codes: `(n, d)` bins and codes.
        points: `(n, d')` coordinates of numbers and dates: their distance is the sum of the absolute differences.
        categories: `(n, c)` codes of categories: two different ones are at distance 1.
        names: `(n, i)` numbers of the identifiers.
    """

    exact: Ints
    codes: Ints
    points: Floats
    categories: Ints
    names: Ints

    def __len__(self) -> int:
        return len(self.exact)

    def __getitem__(self, rows: Any) -> Table:
        return Table(self.exact[rows], self.codes[rows], self.points[rows], self.categories[rows], self.names[rows])


@dataclass(frozen=True, eq=False)
class Tables:
    """The pooled records and the synthetic table.

    Args:
        columns: inferred types of all columns.
        domain: compared columns and the number of codes of each.
        ordered: compared columns whose codes have an order.
        continuous: `(d,)` whether more than half of the pooled entries of a compared column are distinct numbers.
        pooled, synthetic: the records.
        real: `(n,)` whether a pooled record is real; the others are holdout.
        row: `(n,)` row in the file of the record, from 1.
        unit: `(n,)` number of the unit of a pooled record by which the holdout was split off: the record itself, or the
            account, person or place that a column names.
        labels: names of the values of each category, by column.
        point_columns, category_columns: `(d',)` and `(c,)` compared column of each coordinate and of each category.
    """

    columns: tuple[ColumnType, ...]
    domain: dict[str, int]
    ordered: tuple[str, ...]
    continuous: Bools
    pooled: Table
    synthetic: Table
    real: Bools
    row: Ints
    unit: Ints
    labels: dict[str, list[str]]
    point_columns: Ints
    category_columns: Ints

    def part(self, table: Table, columns: Bools) -> Table:
        """Return some of the compared columns `(d,)` of a table."""
        return Table(
            table.exact[:, columns],
            table.codes[:, columns],
            table.points[:, columns[self.point_columns]],
            table.categories[:, columns[self.category_columns]],
            table.names,
        )

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Names of the columns of identifiers."""
        return tuple(column.name for column in self.columns if column.kind == "identifier")

    @property
    def has_holdout(self) -> bool:
        """Whether there are holdout records."""
        return not self.real.all()


def read_tables(
    real: Any, synthetic: Any, holdout: Any, ignore: Sequence[str], categories: Sequence[str] = (), unit: str = ""
) -> Tables:
    """Return the tables in the common encoding.

    Raises:
        ParameterError: not tables, no rows, other columns, too few records, infinite numbers, a column that the tables
            write in different ways, or a unit without a column, without a value, or in both tables.
    """
    import pandas as pd

    given = {"real": real, "synthetic": synthetic} | ({} if holdout is None else {"holdout": holdout})
    frames = {name: checked_frame(name, table) for name, table in given.items()}
    units = _units(frames, unit) if unit else None
    if unit:  # compared as no column: a table need not name units
        frames = {name: frame.drop(columns=unit, errors="ignore") for name, frame in frames.items()}
    names = _common_columns(frames, [name for name in ignore if name != unit])
    unknown = [name for name in categories if name not in names]
    if unknown:
        raise ParameterError(argument="categories", value=tuple(unknown), allowed="name compared columns of the tables")
    _check_sizes(frames)
    sizes = [len(frames["real"]), 0 if holdout is None else len(frames["holdout"])]
    order = ["real", *(["holdout"] if holdout is not None else []), "synthetic"]
    whole = pd.concat([frames[name][names].reset_index(drop=True) for name in order], keys=order)
    return _encode(whole, sum(sizes), sizes[0], frozenset(categories), units)


def _units(frames: dict[str, pd.DataFrame], unit: str) -> Ints:
    """Return the number of the unit of each pooled record; raise `ParameterError` unless each is in one table."""
    import pandas as pd

    texts = {
        name: unit_text(name, frames[name], unit) for name in ("real", *(["holdout"] if "holdout" in frames else []))
    }
    shared = sorted(set(texts["real"]) & set(texts.get("holdout", ())))
    if shared:
        raise ParameterError(
            f"unit must name a column by which the holdout was split off, but real and holdout share "
            f"{plural(len(shared), 'value')} of {unit}, such as {shared[0]!r}. Remove the rows of these from the "
            "holdout, or leave unit out if the rows were split one by one.",
            argument="unit",
            value=unit,
        )
    return np.asarray(pd.factorize(pd.concat(list(texts.values())).astype(object))[0], dtype=np.int64)


def unit_text(name: str, frame: pd.DataFrame, unit: str) -> pd.Series:
    """Return the unit of each record of a table as text; raise `ParameterError` without the column or an entry."""
    if unit not in frame:
        known = unknown_name_message("column", unit, frame.columns)
        raise ParameterError(f"unit, in {name}: {known}", argument="unit", value=unit)
    text = code_text(frame[unit])
    lacking = np.flatnonzero((text.isna() | (text == "")).to_numpy(dtype=np.bool_))
    if len(lacking):
        raise ParameterError(
            f"unit: {name} must have an entry of {unit} in each row, but row {lacking[0] + 1} has none.",
            argument="unit",
            value=unit,
        )
    return text


def checked_frame(name: str, table: Any) -> pd.DataFrame:
    """Return a table whose columns differ and have text for bytes; raise `ParameterError` for another object."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise ParameterError(argument=name, value=type(table).__name__, allowed="be a DataFrame")
    if table.empty:
        raise ParameterError(f"{name} must have rows and columns, but is empty.", argument=name)
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise ParameterError(f"{name} must have each column once, but has {twice!r} twice.", argument=name)
    return table.rename(columns=str).apply(_decoded, table=name)


def _decoded(column: pd.Series, table: str) -> pd.Series:
    """Return a column of text in which no entry is bytes, as Parquet may have them."""
    if column.dtype != object or not (is_bytes := np.array([isinstance(entry, bytes) for entry in column])).any():
        return column
    entries = column.to_numpy(dtype=object, copy=True)
    try:
        entries[is_bytes] = [entry.decode() for entry in entries[is_bytes]]
    except UnicodeDecodeError:
        raise ParameterError(
            f"{table} must have text, numbers or dates in {column.name}, but has bytes that are no UTF-8 text. Leave "
            "the column out with ignore.",
            argument=table,
        ) from None
    return column.mask(is_bytes, entries)


def _common_columns(frames: dict[str, pd.DataFrame], ignore: Sequence[str]) -> list[str]:
    columns = [name for name in frames["real"].columns if name not in ignore]
    unknown = [name for name in ignore if name not in frames["real"]]
    if unknown:
        raise ParameterError(
            f"ignore: {unknown_name_message('column', unknown[0], frames['real'].columns)}",
            argument="ignore",
            value=tuple(unknown),
        )
    for name, frame in frames.items():
        lacking, added = set(columns) - set(frame.columns), set(frame.columns) - set(columns) - set(ignore)
        if lacking or added:
            parts = [
                f"{verb} {listed(sorted(which))}" for verb, which in (("lacks", lacking), ("adds", added)) if which
            ]
            raise ParameterError(
                f"{name} must have the columns of real, but {' and '.join(parts)}. Rename them, or leave them out "
                "of all tables.",
                argument=name,
            )
    if len(columns) < 2:
        raise ParameterError(argument="real", value=tuple(columns), allowed="have two columns or more to compare")
    return columns


def _check_sizes(frames: dict[str, pd.DataFrame]) -> None:
    for name, frame in frames.items():
        if name != "synthetic" and len(frame) < MIN_RECORDS:
            raise ParameterError(f"{name} must have at least {MIN_RECORDS} rows, but has {len(frame)}.", argument=name)


def _encode(
    whole: pd.DataFrame, n_pooled: int, n_real: int, as_categories: frozenset[str], unit: Ints | None
) -> Tables:
    exact: list[Ints] = []
    codes: list[Ints] = []
    points: list[Floats] = []
    categories: list[Ints] = []
    names: list[Ints] = []
    kinds, domain, ordered, continuous, labels = [], {}, [], [], {}
    point_columns: list[int] = []
    category_columns: list[int] = []
    for name in whole.columns:
        kind, values, missing, texts = typed_column(whole[name], n_pooled, as_category=name in as_categories)
        n_values = len(np.unique(values[:n_pooled][~missing[:n_pooled]]))
        kinds.append(ColumnType(name, kind, n_values, float(missing[:n_pooled].mean())))
        if kind == "constant":
            continue
        identity = np.unique(np.where(missing, np.inf, values), return_inverse=True)[1].astype(np.int64)
        if kind == "identifier":
            names.append(np.where(missing, -1, identity))
            continue
        exact.append(identity)
        number = kind in ("number", "date")
        code = _bins(values, missing, n_pooled) if number else identity
        codes.append(code)
        domain[name] = int(code.max()) + 1
        if number:
            ordered.append(name)
            coordinates = _coordinates(values, missing, n_pooled)
            points += coordinates
            point_columns += [len(exact) - 1] * len(coordinates)
        else:
            labels[name] = texts
            category_columns.append(len(exact) - 1)
            categories.append(identity)
        continuous.append(number and n_values > 0.5 * n_pooled)
    if len(exact) < 2:
        raise ParameterError("real must have two columns or more with different values to compare.", argument="real")
    n = len(whole)
    table = Table(*(_columns(part, n) for part in (exact, codes, points, categories, names)))
    place = np.arange(n_pooled)
    return Tables(
        tuple(kinds), domain, tuple(ordered), np.array(continuous), table[:n_pooled], table[n_pooled:],
        place < n_real, np.where(place < n_real, place, place - n_real) + 1, place if unit is None else unit, labels,
        np.array(point_columns, dtype=np.int64), np.array(category_columns, dtype=np.int64),
    )  # fmt: skip


def check_categories(tables: Tables) -> None:
    """Raise `ParameterError` if the synthetic table has none of the categories of the pooled records in a column."""
    for name, texts in tables.labels.items():
        column = list(tables.domain).index(name)
        pooled, synthetic = (np.unique(table.exact[:, column]) for table in (tables.pooled, tables.synthetic))
        if not np.isin(synthetic, pooled).any():
            known, others = (listed([repr(texts[code])[:20] for code in codes[:3]]) for codes in (pooled, synthetic))
            raise ParameterError(
                f"synthetic must have categories of real in {name}, such as {known}, but has only, such as {others}. "
                "Write all tables in one way, or leave the column out.",
                argument="synthetic",
            )


def _columns(columns: list[Any], n: int) -> Any:
    return np.column_stack(columns) if columns else np.zeros((n, 0), dtype=np.int64)


def typed_column(column: pd.Series, n_pooled: int, *, as_category: bool) -> tuple[str, Floats, Bools, list[str]]:
    """Return kind, numbers, missing entries, and the names of the values of a category.

    The index of the column has the table of each entry first; the pooled entries stand before the others.
    """
    import pandas as pd

    text = code_text(column) if as_category else column.astype("string").str.strip()
    missing = (text.isna() | (text == "")).to_numpy(dtype=np.bool_)
    kind: str
    numbers: Any
    kind, numbers = ("category", None) if as_category else _as_numbers(column, text, missing)
    if kind == "category":
        numbers, values = pd.factorize(text.where(~missing, "(missing)").astype(object), sort=True)
        texts, missing = [str(value) for value in values], np.zeros(len(column), dtype=np.bool_)
        n_values = len(np.unique(numbers[:n_pooled]))
        if n_values > 0.5 * n_pooled:
            kind, missing = "identifier", (text.isna() | (text == "")).to_numpy(dtype=np.bool_)
    else:
        texts, n_values = [], len(np.unique(numbers[:n_pooled][~missing[:n_pooled]])) + bool(missing.any())
    return "constant" if n_values < 2 else kind, np.asarray(numbers, dtype=np.float64), missing, texts


def code_text(column: pd.Series) -> pd.Series:
    """Return codes as text; a column of integers with missing entries is float: 3.0 is 3."""
    return column.astype("string").str.strip().str.replace(r"^(-?\d+)\.0$", r"\1", regex=True)


def _as_numbers(column: pd.Series, text: pd.Series, missing: Bools) -> tuple[str, Any]:
    import pandas as pd

    if column.dtype == np.bool_ or isinstance(column.dtype, pd.CategoricalDtype):
        return "category", None
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        dates = pd.to_datetime(column, utc=True)
    elif bool(text[~missing].str.fullmatch(r"0\d+").any()):
        return "category", None
    else:
        text = _without_commas(column, text, missing)
        numbers = np.asarray(
            pd.to_numeric(text.astype(object).where(~missing, None), errors="coerce"), dtype=np.float64
        )
        if not np.isnan(numbers[~missing]).any():
            _check_finite(column, ~missing & np.isinf(numbers))
            return "number", np.where(missing, 0.0, numbers)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            looks_like = text[~missing].head(200).str.contains(r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").all()
            dates = _dates(text) if looks_like else text
        if not looks_like or bool(dates.isna().to_numpy()[~missing].any()):
            _check_numbers(column, ~np.isnan(numbers), missing)
            return "category", None
    days = (dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)
    return "date", np.where(missing, 0.0, days.fillna(0.0).to_numpy(dtype=np.float64))


_THOUSANDS, _DECIMALS = r"[+-]?\d{1,3}(?:,\d{3})*(?:\.\d+)?", r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?"


def _without_commas(column: pd.Series, text: pd.Series, missing: Bools) -> pd.Series:
    """Return numbers without commas for thousands, or with points for decimal commas, if each table has commas."""
    commas = text.str.contains(",", regex=False).fillna(False).astype(bool)
    if commas.groupby(column.index.get_level_values(0)).any().all():
        if text[~missing].str.fullmatch(_THOUSANDS).all():
            return text.str.replace(",", "", regex=False)
        if text[~missing].str.fullmatch(_DECIMALS).all():
            return text.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    return text


def _dates(text: pd.Series) -> Any:
    """Return texts as dates, NaT where they are none: the day is first if a first number above 12 shows it."""
    import pandas as pd

    year_first = text.str.contains(r"^\d{4}").fillna(False).astype(bool)
    day_first = bool(text[~year_first].str.contains(r"^(?:1[3-9]|2\d|3[01])[-/.]").any())
    read: Any = {"errors": "coerce", "utc": True, "format": "mixed"}
    others = pd.to_datetime(text.where(~year_first), dayfirst=day_first, **read)
    return pd.to_datetime(text.where(year_first), **read).where(year_first, others)


def _check_numbers(column: pd.Series, is_number: Bools, missing: Bools) -> None:
    """Raise `ParameterError` if one table has numbers only, and most entries of another are none."""
    table_of = column.index.get_level_values(0)
    rows = {table: np.flatnonzero((table_of == table) & ~missing) for table in table_of.unique()}
    shares = {table: is_number[of].mean() for table, of in rows.items() if len(of)}
    most, least = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
    if shares[most] == 1.0 and shares[least] < 0.5:
        entry = column.iloc[rows[least][~is_number[rows[least]]][0]]
        raise ParameterError(
            f"{least} must have numbers in {column.name}, as {most} does, but has {str(entry)[:20]!r}. Write all "
            "tables in one way, or name the column in categories, which are read as text.",
            argument=str(least),
        )


def _check_finite(column: pd.Series, infinite: Bools) -> None:
    """Raise `ParameterError` if a column of numbers has infinite entries."""
    if infinite.any():
        first = int(np.argmax(infinite))
        table, row = column.index[first]
        raise ParameterError(
            f"{table} must have finite numbers in {column.name}, but row {row + 1} has {str(column.iloc[first])[:20]}. "
            "Leave the entry empty, or name the column in categories, which are read as text.",
            argument=table,
        )


def _bins(values: Floats, missing: Bools, n_pooled: int) -> Ints:
    """Return bins between quantiles of the pooled values, or the values themselves if few; missing has a code."""
    known = values[:n_pooled][~missing[:n_pooled]]
    distinct = np.unique(known)
    if len(distinct) <= N_BINS:
        edges = 0.5 * (distinct[1:] + distinct[:-1])
    else:
        edges = np.unique(np.quantile(known, np.arange(1, N_BINS) / N_BINS))
    code = np.searchsorted(edges, values, side="left")
    return np.where(missing, len(edges) + 1, code).astype(np.int64)


def _coordinates(values: Floats, missing: Bools, n_pooled: int) -> list[Floats]:
    """Return values in units of the range of the middle nine tenths of the pooled ones, and whether one is missing."""
    values = 0.5 * values  # the difference of two large values may overflow
    known = values[:n_pooled][~missing[:n_pooled]]
    low, middle, high = np.quantile(known, [0.05, 0.5, 0.95])
    spread = high - low if high > low else max(float(np.ptp(known)), 0.5)
    scaled = np.where(missing, 0.0, (values - middle) / spread)
    return [scaled, missing.astype(np.float64)] if missing.any() else [scaled]


def row_keys(*tables: Ints) -> list[Ints]:
    """Return a number for each row of each table: equal rows have equal numbers."""
    _, keys = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
    return np.split(keys.ravel(), np.cumsum([len(table) for table in tables])[:-1])
