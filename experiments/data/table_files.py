"""Tables of records in a file: CSV, whose cells stay text, or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    with open_regular(path) as stream:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(stream)
        rows = pd.read_csv(stream, dtype=str, header=None, skip_blank_lines=True)
    names = [str(name) for name in rows.iloc[0]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the column {twice!r} stands twice in its first row")
    return rows.iloc[1:].set_axis(names, axis=1).reset_index(drop=True)
