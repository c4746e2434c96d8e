"""Tables of records in a file: CSV, whose cells stay text, or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.trials.array_files import open_regular
from ...mechanisms.core.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

LONGEST_REASON = 300


def read_table(file: Path | str, *, argument: str = "file") -> pd.DataFrame:
    """Return the table in a file.

    Args:
        file: `.csv`, with a head of names, or `.parquet`.
        argument: name of the argument, for messages.

    Raises:
        ParameterError: no such file, another kind of file, a damaged file, or a name that occurs twice.
    """
    path = Path(file)
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ParameterError(
            f"{argument} must be a .csv or .parquet file, but {path} ends in {path.suffix!r}.", argument=argument
        )
    try:
        return _read(path)
    except ImportError as error:
        advice = "pip install pyarrow, or write a CSV"
        raise ParameterError(f"{path} is Parquet, which needs pyarrow: {advice}.", argument=argument) from error
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror or error}.", argument=argument) from error
    except Exception as error:  # readers raise any exception on a damaged file
        reason = (str(error) or type(error).__name__)[:LONGEST_REASON]
        raise ParameterError(f"{path} cannot be read as {path.suffix[1:]}: {reason}.", argument=argument) from error


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


def _check_unique(names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the column {twice!r} stands twice in its first row")


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    with open_regular(path) as stream:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(stream)
        rows = pd.read_csv(stream, dtype=str, header=None, skip_blank_lines=True)
    names = [str(name) for name in rows.iloc[0]]
    _check_unique(names)
    return rows.iloc[1:].set_axis(names, axis=1).reset_index(drop=True)
