"""Scores of runs, canaries or rounds in a file: CSV, NPZ, Parquet or JSON.

columns score, side                runs on the two datasets of a pair, side 0 or 1
columns score, bit [run, canary]   canaries, bit 1 if the canary was in the run
column  success                    rounds of a reconstruction, 1 if the guess was within the tolerance
columns id, score or id, loss      canaries of one run, with the coins of `dpassay coins`: loss, lower = in

A JSON file names its columns, and can state the privacy unit and the digest of the coins:

    {"format": "dpassay.score-file", "version": 1, "unit": "a person", "coins": "9f...",
     "columns": {"id": ["a", "b"], "score": [0.5, 1.5]}}
"""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...audit.evidence.scores import BitScores, PairScores, Successes
from ...audit.trials.array_files import NUMBER_KINDS, open_regular, read_npz
from ...mechanisms.core import Bools, ParameterError
from .table_files import LONGEST_REASON, read_by_ending, read_csv, read_parquet, short

ROW_WITHOUT_SCORE = "Give a run without an output a score too: the lowest or the highest score."
FORMAT, VERSION = "dpassay.score-file", 1
KEYS = ("format", "version", "unit", "coins", "columns")
Evidence = PairScores | BitScores | Successes
COLUMNS = (
    "`score, side` (runs on two datasets, side 1 with the record), or `score, bit` (canaries, bit 1 where a coin put "
    "it in; with `run` and `canary` where there are several runs), or `success`"
)


def read_evidence(file: Path, *, prior_success: float | None = None) -> Evidence:
    """Return the evidence in a CSV, NPZ or Parquet file.

    Args:
        file: with the columns above, or arrays of these names, one entry per row; other columns are ignored.
        prior_success: success probability of a guess without the output, in (0, 1]; required for `success` only.

    Raises:
        ParameterError: no such file, another kind of file, other columns, or invalid values.
    """
    table = _table(file)
    if ("success" in table) == (prior_success is None):
        raise ParameterError(
            f"--prior-success is required with a column success, and not allowed without it: {file} has the columns "
            f"{_listed(table)}."
        )
    if prior_success is not None:
        success = _flags(table, "success", file)
        return Successes(int(success.sum()), len(success), prior_success)
    if "score" not in table or ("side" in table) == ("bit" in table):
        advice = ""
        if "id" in table:
            advice = " For losses or scores of canaries give the file of `dpassay coins` too: --coins FILE."
        elif ";" in str(table.columns[0]):
            advice = " Separate the columns by commas."
        raise ParameterError(f"{file} must have the columns {COLUMNS}, but has {_listed(table)}.{advice}")
    if "side" in table:
        scores, side = _numbers(table, "score", file), _flags(table, "side", file)
        return PairScores(out=scores[~side], in_=scores[side])
    return _bits(table, file)


def read_ids(file: Path, *, column: str | None = None) -> list[str]:
    """Return the ids in a file, as text.

    Args:
        file: a table in a format of `read_evidence`, or any other text file, with one id in each line.
        column: column of the ids; None for `id`, or the only column of a table.

    Raises:
        ParameterError: no such file, another kind of file, no such column, or an empty id.
    """
    if file.suffix.lower() in _READERS:
        table = _table(file, text=True)
        name = column or ("id" if "id" in table or len(table.columns) > 1 else str(table.columns[0]))
        if name not in table:
            raise ParameterError(
                f"{file} must have a column {name!r} with the ids, but has {_listed(table)}. Name it with --column.",
                argument="column",
            )
        ids = ["" if pd.isna(value) else str(value) for value in table[name]]
    else:
        try:
            with open_regular(file) as stream:
                ids = stream.read().decode("utf-8-sig").splitlines()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ParameterError(f"{file} cannot be read as text: {reason}.", argument="file") from error
    empty = [row for row, id_ in enumerate(ids) if not id_.strip()]
    if empty:
        raise ParameterError(f"{file} must have an id in every row, but row {empty[0] + 1} is empty.", argument="file")
    return [id_.strip() for id_ in ids]


def read_by_id(file: Path, *, digest: str = "") -> dict[str, pd.Series]:
    """Return the scores of canaries by id, under the name of their argument of `Coins.audit`.

    Args:
        file: with the columns `id`, and `score` (higher = in) or `loss` (lower = in); an empty cell is a missing score.
        digest: of the coins; a file that states the digest of other coins is refused.

    Raises:
        ParameterError: no such file, another kind of file, other columns, values that are not numbers, or other coins.
    """
    table = _table(file, text=True)
    if table.attrs.get("coins", digest) != digest:
        raise ParameterError(
            f"{file} has scores for the coins of digest {table.attrs['coins']}, but these coins have {digest}. Give "
            "the file of coins that was made before the training.",
            argument="coins",
        )
    if "id" not in table or ("score" in table) == ("loss" in table):
        raise ParameterError(
            f"{file} must have the column id, and one of score (higher = in) and loss (lower = in), but has "
            f"{_listed(table)}."
        )
    column, argument = ("score", "scores") if "score" in table else ("loss", "losses")
    values = table[column]
    _numbers(table[values.notna()].reset_index(drop=True), column, file)
    return {argument: pd.Series(pd.to_numeric(values).to_numpy(np.float64), index=table["id"].astype(str))}


def unit_of(file: Path) -> str:
    """Return the privacy unit that a JSON file states; empty for other files."""
    return str(_table(file).attrs.get("unit", "")) if file.suffix.lower() == ".json" else ""


def _bits(table: pd.DataFrame, file: Path) -> BitScores:
    """Return one row per run and one column per canary; without a column `run`, all rows belong to one run."""
    bits, scores = _flags(table, "bit", file), _numbers(table, "score", file)
    if "run" not in table:
        return BitScores(bits=bits[None], scores=scores[None])
    named = {column: _names(table, column, file) for column in ("run", "canary") if column in table}
    runs = [rows for _, rows in pd.DataFrame(named | {"bit": bits, "score": scores}).groupby("run", sort=True)]
    if "canary" in named:
        runs = [rows.sort_values("canary", kind="stable") for rows in runs]
        different = any(rows["canary"].tolist() != runs[0]["canary"].tolist() for rows in runs)
        if different or runs[0]["canary"].duplicated().any():
            raise ParameterError(
                f"{file} must have one row for each canary in each run, with the same canaries in every run."
            )
    if len({len(rows) for rows in runs}) > 1:
        raise ParameterError(f"{file} must have equally many rows in each run, but has {[len(rows) for rows in runs]}.")
    return BitScores(bits=np.stack([rows["bit"] for rows in runs]), scores=np.stack([rows["score"] for rows in runs]))


def _table(file: Path, *, text: bool = False) -> pd.DataFrame:
    """Return the columns of the file, without unpickling; `text` keeps the cells of a CSV as text."""
    table = read_by_ending(file, {ending: partial(reader, text=text) for ending, reader in _READERS.items()})
    if table.empty:
        raise ParameterError(f"{file} must have the columns {COLUMNS}, and rows, but has none.")
    if not table.columns.is_unique:
        raise ParameterError(f"{file} must have one column of each name, but has {_listed(table)}.")
    return table


def _csv(file: Path, text: bool) -> pd.DataFrame:
    return read_csv(file, dtype=str if text else None)


def _npz(file: Path, text: bool) -> pd.DataFrame:
    arrays = read_npz(file, kinds=f"{NUMBER_KINDS}U" if text else NUMBER_KINDS)
    sizes = {name: values.shape for name, values in arrays.items()}
    if any(len(shape) != 1 for shape in sizes.values()) or len(set(sizes.values())) > 1:
        raise ValueError(f"it must hold arrays of one length, shape (n,), but holds {sizes}")
    return pd.DataFrame(arrays)


def _json(file: Path, text: bool) -> pd.DataFrame:
    """Return the columns of a JSON file; what it states about them is in `attrs`."""

    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not valid JSON")

    with open_regular(file) as stream:
        content = json.loads(stream.read().decode("utf-8-sig"), parse_constant=refuse)
    if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        raise ValueError(f'it must be an object with "format": "{FORMAT}" and "version": {VERSION}')
    if unknown := [key for key in content if key not in KEYS]:
        raise ValueError(f"it has the unknown key {unknown[0]!r}; known are {', '.join(KEYS)}")
    columns = content.get("columns")
    if not isinstance(columns, dict) or not all(isinstance(values, list) for values in columns.values()):
        raise ValueError("columns must be an object with a list for each name")
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError(f"all columns must have one length, but have {[len(each) for each in columns.values()]}")
    table = pd.DataFrame(columns)
    stated = {key: content[key] for key in ("unit", "coins") if key in content}
    if not all(isinstance(value, str) for value in stated.values()):
        raise ValueError("unit and coins must be text")
    table.attrs.update(stated)
    return table


_READERS = {".csv": _csv, ".npz": _npz, ".parquet": lambda file, text: read_parquet(file), ".json": _json}


def _entries(table: pd.DataFrame, column: str, file: Path) -> NDArray[Any]:
    """Return the entries of a column: real numbers or bools in native byte order, or objects for all other values."""
    values = table[column].to_numpy()
    kind = values.dtype.kind
    if kind not in f"{NUMBER_KINDS}O":
        raise ParameterError(f"{column} must be a column of real numbers in {file}, but is of type {values.dtype}.")
    wide = {"f": np.float64, "i": np.int64, "u": np.uint64}
    return values.astype(wide[kind]) if kind in wide else values


def _numbers(table: pd.DataFrame, column: str, file: Path) -> Any:
    entries = _entries(table, column, file)
    try:
        read: NDArray[Any] = np.asarray(pd.to_numeric(entries, errors="coerce"))
    except (TypeError, ValueError, OverflowError):  # lists and the like
        read = np.full(len(entries), np.nan)
    values = read.astype(np.float64) if read.dtype.kind in NUMBER_KINDS else np.full(len(entries), np.nan)
    _check(~np.isnan(values), entries, f"{column} must be a number in every row of {file}", ROW_WITHOUT_SCORE)
    return values


def _flags(table: pd.DataFrame, column: str, file: Path) -> Any:
    entries = _entries(table, column, file)
    if entries.dtype.kind == "O":
        valid = np.array([isinstance(v, bool | int | float) and v in (0, 1) for v in entries], dtype=np.bool_)
    else:
        valid = np.isin(entries, (0, 1))
    meaning = " (0 without the record, 1 with it)" if column == "side" else ""
    _check(valid, entries, f"{column} must be 0 or 1{meaning} in every row of {file}")
    return entries.astype(np.bool_)


def _names(table: pd.DataFrame, column: str, file: Path) -> Any:
    """Return the identifiers of runs or canaries: numbers or text, without missing values."""
    entries = _entries(table, column, file)
    if entries.dtype.kind == "O":
        valid = np.array([isinstance(value, str) for value in entries], dtype=np.bool_)
    else:
        valid = ~np.isnan(entries)
    _check(valid, entries, f"{column} must be a number in every row of {file}, or text in every row")
    return entries


def _check(valid: Bools, entries: NDArray[Any], requirement: str, advice: str = "") -> None:
    """Raise `ParameterError` with the first invalid row."""
    if not valid.all():
        row = int(np.flatnonzero(~valid)[0])
        value = entries.tolist()[row]
        shown = "empty or NaN" if isinstance(value, float) and math.isnan(value) else short(value)
        raise ParameterError(f"{requirement}, but is {shown} in row {row + 1}. {advice}".rstrip())


def _listed(table: pd.DataFrame) -> str:
    return ", ".join(map(str, table.columns))[:LONGEST_REASON]
