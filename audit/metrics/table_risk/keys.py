"""Several tables joined by keys: one row for each person, which describes the rows of the person in all tables.

    TableKeys -> checks -> rows of each person -> columns -> `risk`, by the person

A table leads to the person by foreign keys, from parent to parent. Its columns, but for the keys, are described by:

    rows       number of rows; of a table below another one also that of each row of this table
    number     mean, smallest, largest value and sum
    date       first and last
    category   most frequent value, and number of values
    order      with a column of order: each column of the first and of the last row; gaps between successive rows (mean,
               smallest, largest, standard deviation); the sequence of the values of a category

Types are inferred from the tables of all sides together (tables.py), and all columns of a person are functions of the
set of its rows: rows are sorted by the order, then by all entries, so that the order of a file tells nothing. If the
synthetic tables do not depend on which persons are real, each split of the persons is thus equally likely, as `risk`
assumes, whatever the relations.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....mechanisms.core import Floats, Ints, ParameterError, listed, plural, unknown_name_message
from .tables import checked_frame, code_text, typed_column

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class KeyedTable:
    """What the keys of one table are.

    Args:
        key: column with the primary key; required of the table of persons, and of parents.
        parent: table whose rows its rows belong to; None for the table of persons.
        foreign_key: column with the key of the parent; None: it has the name that it has in the parent.
        order: column of numbers or dates by which the rows of a person are ordered; None: they have no order.
        ignore: columns to leave out.
        categories: columns to read as text although their entries are numbers or dates.
    """

    key: str | None = None
    parent: str | None = None
    foreign_key: str | None = None
    order: str | None = None
    ignore: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableKeys:
    """How several tables are joined.

    Args:
        person: table with one row for each person, or other unit.
        tables: name -> keys of the table.

    Raises:
        ParameterError: no such table, a parent without a key, or a table that does not lead to the person.

    Example:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"id": [1, 2], "age": [30, 40]})
        >>> orders = pd.DataFrame({"id": [1, 1, 2], "paid": [5, 7, 9]})
        >>> keys = TableKeys("people", {"people": KeyedTable(key="id"), "orders": KeyedTable(parent="people")})
        >>> tables = {"people": people, "orders": orders}
        >>> keys.people(tables, tables)["real"]["orders paid: mean"].tolist()
        [6.0, 9.0]
    """

    person: str
    tables: Mapping[str, KeyedTable]

    def __post_init__(self) -> None:
        parents = {name: table.parent for name, table in self.tables.items() if table.parent is not None}
        for name, above in {"person": self.person, **parents}.items():
            if above not in self.tables:
                raise _bad(f"{name}: {unknown_name_message('table', above, self.tables)}")
            if self.tables[above].key is None:
                raise _bad(f"{above} must have a key: name the column that tells its rows apart.")
        for name in self.tables:
            self._path(name)
            if name not in parents and name != self.person:
                raise _bad(f"{name} must lead to {self.person}, but has no parent. Name one, or leave the table out.")
        if self.person in parents or self.tables[self.person].order is not None:
            raise _bad(f"{self.person} is the table of persons, and must have no parent and no order.")

    @classmethod
    def load(cls, file: Path | str) -> TableKeys:
        """Return the keys in a TOML file: `person`, and a table [tables.NAME] with the fields of `KeyedTable`.

        Raises:
            ParameterError: it cannot be read, an unknown name, a value of another type; as for the class.
        """
        try:
            schema = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _bad(f"{file} cannot be read as TOML: {error}.") from error
        tables = schema.get("tables")
        if not isinstance(schema.get("person"), str) or not isinstance(tables, dict) or len(schema) != 2:
            raise _bad(f'{file} must have person = "NAME" and a table [tables.NAME] for each table, and nothing else.')
        known = {field.name: str if field.default is None else list for field in fields(KeyedTable)}
        read = {}
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise _bad(f"tables.{name} must be a table of TOML.")
            for key, value in table.items():
                if key not in known:
                    raise _bad(f"tables.{name}: {unknown_name_message('name', key, known)}")
                texts = value if isinstance(value, list) else [value]
                if not isinstance(value, known[key]) or not all(isinstance(text, str) for text in texts):
                    allowed = "a name" if known[key] is str else "a list of names"
                    raise _bad(f"tables.{name}.{key} must be {allowed}, in quotes, but is {value!r}.")
            options: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
            read[name] = KeyedTable(**options)
        return cls(schema["person"], read)

    @property
    def unit(self) -> str:
        """Column with the key of the person."""
        return str(self.tables[self.person].key)

    def people(self, real: Any, synthetic: Any, holdout: Any = None) -> dict[str, Any]:
        """Return the arguments of `risk` for one row of each person of each side, with the person as unit.

        Args:
            real, synthetic, holdout: name -> DataFrame of each table; no holdout: None.

        Raises:
            ParameterError: a table or column that is missing, other columns, a missing, repeated or dangling key, or
                persons that are both real and holdout.
        """
        import pandas as pd

        given = {"real": real, "holdout": holdout, "synthetic": synthetic}
        sides = {side: self._linked(side, tables) for side, tables in given.items() if tables is not None}
        for name in self.tables:
            _check_columns(name, {side: frames[name] for side, (frames, _) in sides.items()})
        whole = {name: pd.concat({side: frames[name] for side, (frames, _) in sides.items()}) for name in self.tables}
        persons = whole[self.person]
        if holdout is not None:
            ids = code_text(persons[self.unit])
            both = set(ids.loc["real"]) & set(ids.loc["holdout"])
            if both:
                raise _bad(
                    f"real and holdout must have other persons, but share {plural(len(both), 'value')} of {self.unit}, "
                    f"such as {min(both)!r}. Remove these from the holdout, or number the persons of both in one way."
                )
        starts = np.cumsum([0, *(len(frames[self.person]) for frames, _ in sides.values())])
        own = self.tables[self.person]
        categories = {column: code_text(persons[column]).astype("category") for column in own.categories}
        columns: list[Any] = [persons.assign(**categories).drop(columns=list(own.ignore))]
        for name in (name for name in self.tables if name != self.person):
            n_pooled = sum(len(frames[name]) for side, (frames, _) in sides.items() if side != "synthetic")
            person = np.concatenate([start + of[name] for start, (_, of) in zip(starts, sides.values(), strict=False)])
            rows = whole[name].drop(columns=self._keys(name))
            for column, values in _described(name, self.tables[name], rows, person, n_pooled):
                columns.append(values.reindex(range(len(persons))).set_axis(persons.index).rename(f"{name} {column}"))
        joined = pd.concat(columns, axis=1)
        joined_sides = {side: joined.loc[side].reset_index(drop=True) for side in sides}
        return joined_sides | {"unit": self.unit, "relations": self._relations(joined.columns)}

    def split(self, tables: Mapping[str, pd.DataFrame], ids: Any) -> tuple[dict[str, pd.DataFrame], ...]:
        """Return the rows of the persons with these ids, and those of the others, of each table."""
        _, persons = self._linked("table", tables)
        chosen = np.isin(code_text(tables[self.person][self.unit]).tolist(), ids)
        inside = {name: chosen[person] for name, person in persons.items()}
        return tuple(
            {name: tables[name][mask if kept else ~mask] for name, mask in inside.items()} for kept in (True, False)
        )

    def _relations(self, columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns of the relations of each table: all, gaps between rows, and sequences."""
        found: dict[str, tuple[str, ...]] = {}
        for name in (name for name in self.tables if name != self.person):
            order = self.tables[name].order
            counted = [f"{name} {below} rows:" for below in self.tables]
            of = [column for column in columns if column.startswith(f"{name} ")]
            gaps = [column for column in of if column.startswith((f"{name} rows", f"{name} {order} gap:"))]
            others = tuple(column for column in of if column.startswith((f"{name} {order}:", *counted)))
            found[name] = (*(column for column in gaps if not column.endswith(": std")), *others)
            if order:
                found[f"{name} gaps"] = tuple(gaps)  # missing with fewer than two gaps: one number agrees by chance
                found[f"{name} sequences"] = tuple(column for column in of if column.endswith(": sequence"))
        numbers = {(f"{name} rows",) for name in self.tables}  # alone they tell nobody apart
        return {name: of for name, of in found.items() if of and of not in numbers}

    def _path(self, name: str) -> list[str]:
        """Return the tables from the person to a table."""
        path, above = [name], self.tables[name].parent
        while above is not None and above in self.tables:
            if above in path:
                raise _bad(f"{listed([*path, above], 'and')} refer to each other: no table may be its own parent.")
            path, above = [*path, above], self.tables[above].parent
        return path[::-1]

    def _foreign(self, name: str) -> str:
        table = self.tables[name]
        return table.foreign_key or str(self.tables[str(table.parent)].key)

    def _keys(self, name: str) -> list[str]:
        return list(dict.fromkeys(key for key in (self.tables[name].key, self._foreign(name)) if key is not None))

    def _linked(self, side: str, given: Any) -> tuple[dict[str, pd.DataFrame], dict[str, Ints]]:
        """Return the tables of a side, with the number of rows below each row; and the person of each of their rows."""
        if not isinstance(given, Mapping):
            raise ParameterError(argument=side, value=type(given).__name__, allowed="be a mapping of names to tables")
        frames, persons, texts = {}, {}, {}
        for name in sorted(self.tables, key=lambda name: len(self._path(name))):
            table = self.tables[name]
            if name not in given:
                raise _bad(f"{side}: {unknown_name_message('table', name, given)}")
            frame = frames[name] = checked_frame(f"{name} of {side}", given[name]).reset_index(drop=True)
            needed = [table.key, table.order, *table.ignore, *table.categories]
            needed += [self._foreign(name)] if table.parent else []
            for column in needed:
                if column is not None and column not in frame:
                    raise _bad(f"{name} of {side}: {unknown_name_message('column', column, frame.columns)}")
            if table.key is not None:
                texts[name] = _entries(f"{name} of {side}", frame, table.key)
                if (again := texts[name].duplicated()).any():
                    twice = texts[name][again].iloc[0]
                    raise _bad(f"{name} of {side} must have each {table.key} once, but has {twice!r} again.")
            if table.parent is None:
                persons[name] = np.arange(len(frame))
                continue
            column, above = self._foreign(name), texts[table.parent]
            keys = _entries(f"{name} of {side}", frame, column)
            place = above.reset_index().set_index(above.name)["index"].reindex(keys).to_numpy(dtype=np.float64)
            if (dangling := np.isnan(place)).any():
                raise _bad(
                    f"{name} of {side} must refer to rows of {table.parent}, but {plural(int(dangling.sum()), 'row')} "
                    f"have another {column}, such as {keys[dangling].iloc[0]!r}, where {table.parent} has "
                    f"{', '.join(map(repr, above[:3]))}. Write them alike in both, remove these, or add their rows."
                )
            at = place.astype(np.int64)
            persons[name] = persons[table.parent][at]
            frames[table.parent][f"{name} rows"] = np.bincount(at, minlength=len(above))
        return frames, persons


def _bad(reason: str) -> ParameterError:
    return ParameterError(f"keys: {reason}", argument="keys")


def _entries(table: str, frame: pd.DataFrame, column: str) -> pd.Series:
    """Return the keys of a table as text; raise `ParameterError` if one is missing."""
    text = code_text(frame[column])
    lacking = np.flatnonzero((text.isna() | (text == "")).to_numpy(dtype=np.bool_))
    if len(lacking):
        raise _bad(f"{table} must have an entry of {column} in each row, but row {lacking[0] + 1} has none.")
    return text


def _check_columns(name: str, frames: Mapping[str, pd.DataFrame]) -> None:
    """Raise `ParameterError` unless a table has the same columns on all sides."""
    for side, frame in frames.items():
        if other := sorted(set(frame.columns) ^ set(frames["real"].columns)):
            raise _bad(f"{name} of {side} must have the columns of real, but only one of them has {listed(other)}.")


def _described(
    name: str, table: KeyedTable, rows: pd.DataFrame, person: Ints, n_pooled: int
) -> Iterator[tuple[str, pd.Series]]:
    """Yield columns of the persons that have rows, with the number of the person as index.

    Args:
        name, table: the table.
        rows: `(n, d)` its rows, without keys, those of the pooled persons first.
        person: `(n,)` number of the person of each row.
        n_pooled: number of rows of the pooled persons.
    """
    import pandas as pd

    entries: dict[str, Floats] = {}
    texts: dict[str, Any] = {}
    dates = set()
    for column in rows.columns.drop(list(table.ignore)):
        kind, numbers, missing, names = typed_column(
            rows[column].rename(f"{name} {column}"), n_pooled, as_category=column in table.categories
        )
        if kind != "constant":
            entries[column] = np.where(missing, np.nan, numbers)
        if kind in ("category", "identifier"):
            texts[column] = np.array([*names, ""], dtype=object)
        if kind == "date":
            dates.add(column)
    order = table.order if table.order in entries else None
    if order in texts:
        raise _bad(f"{name} must have numbers or dates in {order}, by which its rows are ordered, but has text.")
    place = np.lexsort((*entries.values(), *([entries[order]] if order else []), person))
    person, frame = person[place], pd.DataFrame({column: values[place] for column, values in entries.items()})

    def named(codes: pd.Series, of: Any) -> pd.Series:
        return pd.Series(of[codes.fillna(-1).astype(np.int64)], index=codes.index).astype("category")

    def numbers_of(values: pd.Series, *what: str) -> Iterator[tuple[str, pd.Series]]:
        return ((f"{values.name}: {how}", found) for how, found in values.groupby(person).agg(list(what)).items())

    for column in entries:
        values = frame[column]
        if column not in texts:
            yield from numbers_of(values, *(("min", "max") if column in dates else ("mean", "min", "max", "sum")))
        else:
            counts = values.groupby([person, values]).size().sort_values(ascending=False, kind="stable")
            most = counts.rename_axis(["person", "code"]).reset_index().drop_duplicates("person").set_index("person")
            yield f"{column}: most frequent", named(most["code"], texts[column])
            yield f"{column}: values", values.groupby(person).nunique()
            if order:
                sequence = named(values, texts[column]).astype(object).groupby(person).agg(" > ".join)
                yield f"{column}: sequence", sequence.astype("category")
        if order and column != order:
            for which, row in (("first", 0), ("last", -1)):
                at: Any = values.groupby(person).nth(row)
                at.index = person[at.index]
                yield f"{column}: {which}", named(at, texts[column]) if column in texts else at
    if order:
        yield from numbers_of(frame[order].groupby(person).diff().rename(f"{order} gap"), "mean", "min", "max", "std")


__all__ = ["KeyedTable", "TableKeys"]
