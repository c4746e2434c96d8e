"""Tables of records in a file: CSV and its kin, whose cells stay text, JSON lines, Parquet, or an array.

.csv .csv.gz .tsv   Comma, semicolon, tab or bar between cells, whichever the head has most of (.tsv: tab); UTF-8 with
                    or without a byte order mark, UTF-16 with one, or else Latin-1 (Windows-1252). A first column
                    without a name that numbers the rows, as pandas writes it, is left out.
.jsonl .ndjson      One object a line; an entry that a line lacks is missing.
.parquet            Entries that are bytes are read as UTF-8 text.
.npy                Two axes, or one with named fields; columns without names are column 1, 2, and so on.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...audit.trials.array_files import open_regular
from ...mechanisms.core import ParameterError, available_memory, csv_cell, listed

if TYPE_CHECKING:
    import pandas as pd

LONGEST_REASON = 300
"""Largest number of characters of the message of a file reader."""
Content = TypeVar("Content")
_SEPARATORS = (",", ";", "\t", "|")


def read_table(file: Path | str, *, argument: str = "file") -> pd.DataFrame:
    """Return the table in a file.

    Args:
        file: of a kind in the list above; text files have a head of names.
        argument: name of the argument, for messages.

    Raises:
        ParameterError: no such file, another kind of file, a damaged file, or a column without a name or with a name
            that occurs twice.
    """
    return read_by_ending(Path(file), _KINDS, argument=argument)


def read_folder(folder: Path, names: Iterable[str], *, argument: str = "folder") -> dict[str, pd.DataFrame]:
    """Return the tables in the files of a folder that have these names, with any ending of `read_table`.

    Raises:
        ParameterError: no file of a name, or several; as for `read_table`.
    """
    tables = {}
    for name in names:
        files = [path for path in (folder / f"{name}{ending}" for ending in _KINDS) if path.is_file()]
        if len(files) != 1:
            found = listed([path.name for path in files]) or "none"
            raise ParameterError(
                f"{argument} must be a folder with one file of the table {name}, such as {name}.csv, but {folder} has "
                f"{found}.",
                argument=argument,
            )
        tables[name] = read_table(files[0], argument=argument)
    return tables


def read_by_ending(path: Path, readers: Mapping[str, Callable[[Path], Content]], *, argument: str = "file") -> Content:
    """Return what the reader of the ending of a file makes of it.

    Args:
        path: the file.
        readers: end of a name -> reader.
        argument: name of the argument, for messages.

    Raises:
        ParameterError: no such file, another kind of file, or a damaged file.
    """
    ending = next((ending for ending in readers if path.name.lower().endswith(ending)), None)
    if ending is None:
        found = f"{path} is a folder" if path.is_dir() else f"{path} ends in {path.suffix!r}"
        raise ParameterError(
            f"{argument} must be a file that ends in {', '.join(readers)}, but {found}.", argument=argument
        )
    try:
        return readers[ending](path)
    except ParameterError:
        raise
    except ImportError as error:
        advice = "pip install pyarrow, or write a CSV"
        raise ParameterError(f"{path} is Parquet, which needs pyarrow: {advice}.", argument=argument) from error
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror or error}.", argument=argument) from error
    except Exception as error:  # readers raise any exception on a damaged file
        reason = (str(error) or type(error).__name__)[:LONGEST_REASON]
        raise ParameterError(f"{path} cannot be read as {ending[1:]}: {reason}.", argument=argument) from error


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Return a CSV with the types that its cells show, or that `options` of pandas name.

    Raises:
        ValueError: a name that occurs twice, which pandas renames, or rows that are longer than the head, whose first
            cells pandas takes for names of rows, so that all columns shift.
    """
    import pandas as pd

    with open_regular(path) as stream:  # raises for a second row that is longer
        _check_unique(pd.read_csv(stream, dtype=str, header=None, nrows=2).iloc[0].dropna().tolist())
    with open_regular(path) as stream:
        table: pd.DataFrame = pd.read_csv(stream, low_memory=False, **options)  # one type for a whole column
    return table


def read_parquet(path: Path) -> pd.DataFrame:
    """Return the table in a Parquet file."""
    import pandas as pd

    with open_regular(path) as stream:
        return pd.read_parquet(stream)


def short(value: object) -> str:
    """Return the `repr` of a value, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def _check_unique(names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the column {twice!r} stands twice in its first row")


def _text(path: Path) -> str:
    """Return the text of a file, unpacked if it is gzip."""
    with open_regular(path) as stream:
        content = stream.read()
    if content.startswith(b"\x1f\x8b"):
        limit = available_memory()
        with open_regular(path) as stream, gzip.open(stream) as unpacked:
            content = unpacked.read(limit)
            if unpacked.read(1):
                raise ValueError("it takes more than the available memory when it is unpacked")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    if b"\0" in content:
        raise ValueError("it has zero bytes, as no text has")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _separated(path: Path, separator: str | None = None) -> pd.DataFrame:
    import io

    import pandas as pd

    text = _text(path)
    head = next((line for line in text.splitlines() if line.strip()), "")
    separator = separator or max(_SEPARATORS, key=head.count)
    rows = pd.read_csv(io.StringIO(text), dtype=str, header=None, skip_blank_lines=True, sep=separator)
    names = ["" if pd.isna(name) else str(name).strip() for name in rows.iloc[0]]
    table = rows.iloc[1:].set_axis(names, axis=1).reset_index(drop=True)
    if names[0] == "" and len(names) > 1 and _numbers_rows(table.iloc[:, 0]):
        names, table = names[1:], table.iloc[:, 1:]
    if "" in names:
        raise ValueError(f"column {names.index('') + 1} has no name in the first row; name it, or leave it out")
    _check_unique(names)
    return table


def _numbers_rows(column: pd.Series) -> bool:
    """Return whether the entries are different whole numbers."""
    return bool(column.is_unique and column.str.fullmatch(r"\d+").fillna(False).all())


def _lines(path: Path) -> pd.DataFrame:
    import pandas as pd

    records = []
    for number, row in enumerate(_text(path).split("\n"), start=1):
        if row.strip():
            record = json.loads(row)
            if not isinstance(record, dict):
                raise ValueError(f'line {number} must be an object such as {{"age": 30}}')
            records.append(record)
    nested = next(
        (name for record in records for name, entry in record.items() if isinstance(entry, dict | list)), None
    )
    if nested is not None:
        raise ValueError(f"entries of {nested!r} are objects or lists; write one column for each number in them")
    return pd.DataFrame.from_records(records)


def _array(path: Path) -> pd.DataFrame:
    import pandas as pd

    with open_regular(path) as stream:
        array = np.load(stream, allow_pickle=False)
    if array.dtype.names is not None and array.ndim == 1:
        return pd.DataFrame({name: array[name].tolist() for name in array.dtype.names})
    if array.ndim != 2:
        raise ValueError(f"it must have two axes, rows and columns, but has shape {array.shape}")
    return pd.DataFrame(array, columns=[f"column {i + 1}" for i in range(array.shape[1])])


def csv_text(table: pd.DataFrame, *, missing: str = "") -> str:
    """Return a table as CSV, without cells or names that a spreadsheet would take for formulas."""
    cells = table.map(csv_cell).rename(columns=csv_cell)
    text: str = cells.to_csv(index=False, lineterminator="\n", na_rep=missing)
    return text


_KINDS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _separated,
    ".csv.gz": _separated,
    ".tsv": lambda path: _separated(path, "\t"),
    ".tsv.gz": lambda path: _separated(path, "\t"),
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".parquet": read_parquet,
    ".npy": _array,
}
"""End of a file's name -> reader."""
