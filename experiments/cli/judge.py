"""`dpassay judge`: test of a claim with scores in a file.

columns score, side                runs on the two datasets of a pair, side 0 or 1
columns score, bit [run, canary]   canaries, bit 1 if the canary was in the run
column  success                    rounds of a reconstruction, 1 if the guess was within the tolerance
columns id, score or id, loss      canaries of one run, with the coins of `dpassay coins`: loss, lower = in
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...audit.evidence.scores import BitScores, PairScores, Successes
from ...audit.evidence.verdict import Verdict
from ...audit.games.coins import Coins
from ...audit.games.external_scores import audit_scores
from ...audit.results.audit_result import AuditResult
from ...audit.results.text import percent, what_to_change
from ...audit.trials.array_files import NUMBERS, open_regular, read_npz
from ...mechanisms.core.errors import ParameterError
from ..data.table_files import read_csv
from ..report.results.formatting import cut
from .check import Claimed

if TYPE_CHECKING:
    from ..runs.writing import ConfigRun

LONGEST_REASON = 300
"""Largest number of characters of the message of a file reader."""
ROW_WITHOUT_SCORE = "Give a run without an output a score too: the lowest or the highest score."
Evidence = PairScores | BitScores | Successes
COLUMNS = (
    "`score, side` (runs on two datasets, side 1 with the record), or `score, bit` (canaries, bit 1 where a coin put "
    "it in; with `run` and `canary` where there are several runs), or `success`"
)
CONFIDENCE: dict[type[Evidence], float] = {PairScores: 1 - 1e-6, BitScores: 0.95, Successes: 1 - 1e-6}
"""Default confidence. With m bits, half of them guessed, a p-value at delta is about 2 delta or more for every m: at a
confidence of 1 - 1e-6 and delta 1e-5 no number of canaries can refute a claim."""


@dataclass(frozen=True)
class Judgement:
    """Scores in a file and the claim to test, as given on the command line.

    Args:
        file: file in a format of `read_evidence`.
        epsilon, delta: the claim.
        prior_success: success probability of a guess without the output; only for successes.
        relation, seed: as for `dpassay.audit.audit_scores`.
        bounds: names of bounds; empty for "auto".
        stated_confidence: confidence of the bound; None for the default of the kind of evidence, `CONFIDENCE`.
        coins: file of coins, for a file with the ids of canaries; None for other files.
        looks: number of audits that are planned with these coins.
        tossed: the statement that an independent fair coin decided each bit of the file.
    """

    file: Path
    epsilon: float
    delta: float
    prior_success: float | None
    relation: str | None
    bounds: tuple[str, ...]
    stated_confidence: float | None
    seed: int
    coins: Path | None = None
    looks: int = 1
    tossed: bool = False

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence in the file."""
        if self.coins is None:
            return read_evidence(self.file, prior_success=self.prior_success)
        return self._tossed.evidence(
            self._by_id.get("scores"), losses=self._by_id.get("losses"), relation=self._relation_of_coins
        )

    @cached_property
    def _tossed(self) -> Coins:
        if self.prior_success is not None:
            raise ParameterError("--prior-success is not allowed with --coins: a coin is guessed with probability 1/2.")
        assert self.coins is not None
        return Coins.load(self.coins)

    @cached_property
    def _by_id(self) -> dict[str, pd.Series]:
        """Scores by id, as the argument `scores` or `losses` of `Coins`."""
        return read_by_id(self.file)

    @property
    def _relation_of_coins(self) -> str:
        return self.relation or "add_remove"

    @property
    def confidence(self) -> float:
        """Confidence of the bound."""
        return CONFIDENCE[type(self.evidence)] if self.stated_confidence is None else self.stated_confidence

    @cached_property
    def result(self) -> AuditResult:
        """Result of the audit."""
        claim, bound = Claimed(self.epsilon, self.delta).guarantee(), self.bounds or "auto"
        if self.coins is not None:
            assert claim is not None
            return self._tossed.audit(
                self._by_id.get("scores"),
                losses=self._by_id.get("losses"),
                claim=claim,
                delta=self.delta,
                bound=bound,
                relation=self._relation_of_coins,
                confidence=self.confidence,
                looks=self.looks,
                source=self.file.name,
            )
        if self.looks != 1:
            raise ParameterError("--looks is for --coins: it counts the audits with the same coins.", argument="looks")
        if self.tossed and not isinstance(self.evidence, BitScores):
            raise ParameterError("--tossed is for the column bit: it states that coins decided.", argument="tossed")
        return audit_scores(
            self.evidence,
            claim=claim,
            delta=self.delta,
            bound=bound,
            relation=self.relation,
            confidence=self.confidence,
            attack=f"scores in {self.file.name}",
            seed=self.seed,
            tossed=self.tossed,
        )

    @property
    def command(self) -> str:
        """Command line that reproduces the numbers."""
        options = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "coins": self.coins,
            "looks": None if self.looks == 1 else self.looks,
            "prior-success": self.prior_success,
            "relation": self.relation,
            "confidence": self.confidence,
            "seed": self.seed,
        }
        words = [word for key, value in options.items() if value is not None for word in (f"--{key}", str(value))]
        words += [*(["--tossed"] * self.tossed), *(word for name in self.bounds for word in ("--bound", name))]
        return shlex.join(["dpassay", "judge", self.file.name, *words])

    def keep(self, out: Path) -> ConfigRun:
        """Write numbers, figures and report into a directory."""
        from ..runs.kept import keep

        request = {"command": self.command, "scores": self.result.fingerprint}
        return keep(self.result, out, name=self.file.name, request=request, command=self.command)


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
        advice = " For losses or scores of canaries give the file of `dpassay coins` too: --coins FILE."
        raise ParameterError(
            f"{file} must have the columns {COLUMNS}, but has {_listed(table)}.{advice if 'id' in table else ''}"
        )
    if "side" in table:
        scores, side = _numbers(table, "score", file), _flags(table, "side", file)
        return PairScores(out=scores[~side], in_=scores[side])
    return _bits(table, file)


def plan(n_canaries: int, epsilon: float, delta: float) -> str:
    """Return sentences on what canaries can show about a claim, with the default bounds and confidence of bits.

    Args:
        n_canaries: number of coins, >= 1.
        epsilon, delta: the claim.
    """
    bits = np.arange(n_canaries) % 2 == 0
    perfect = audit_scores(
        BitScores(bits, bits.astype(np.float64)),
        claim=Claimed(epsilon, delta).guarantee(),
        delta=delta,
        confidence=CONFIDENCE[BitScores],
        tossed=True,
    )
    claim, level = f"epsilon {epsilon:g} at delta {delta:g}", percent(CONFIDENCE[BitScores])
    if perfect.verdict is Verdict.UNDERPOWERED:
        return (
            f"{n_canaries:,} canaries cannot contradict {claim}, whatever their scores are: the largest bound, with "
            f"every coin guessed, is {perfect.ceiling:.3g} ({level} confidence). {what_to_change(perfect)}"
        )
    return (
        f"{n_canaries:,} canaries can contradict {claim}: a perfect attack detects a true epsilon of "
        f"{perfect.detectable:.3g} 9 times in 10, and the largest bound is {perfect.ceiling:.3g} ({level} confidence)."
    )


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


def read_by_id(file: Path) -> dict[str, pd.Series]:
    """Return the scores of canaries by id, under the name of their argument of `Coins.audit`.

    Args:
        file: with the columns `id`, and `score` (higher = in) or `loss` (lower = in); an empty cell is a missing score.

    Raises:
        ParameterError: no such file, another kind of file, other columns, or values that are not numbers.
    """
    table = _table(file, text=True)
    if "id" not in table or ("score" in table) == ("loss" in table):
        raise ParameterError(
            f"{file} must have the column id, and one of score (higher = in) and loss (lower = in), but has "
            f"{_listed(table)}."
        )
    column, argument = ("score", "scores") if "score" in table else ("loss", "losses")
    values = table[column]
    _numbers(table[values.notna()].reset_index(drop=True), column, file)
    return {argument: pd.Series(pd.to_numeric(values).to_numpy(np.float64), index=table["id"].astype(str))}


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
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ParameterError(f"{file} must be a {', '.join(_READERS)} file, but ends in {file.suffix!r}.")
    try:
        table = reader(file, text)
    except ImportError as error:
        raise ParameterError(f"{file} is Parquet, which needs pyarrow: pip install pyarrow, or write a CSV.") from error
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # readers raise any exception on a damaged file
        reason = cut(str(error) or type(error).__name__, LONGEST_REASON)
        raise ParameterError(f"{file} cannot be read as {file.suffix[1:]}: {reason}.") from error
    if table.empty:
        raise ParameterError(f"{file} must have the columns {COLUMNS}, and rows, but has none.")
    if not table.columns.is_unique:
        raise ParameterError(f"{file} must have one column of each name, but has {_listed(table)}.")
    return table


def _csv(file: Path, text: bool) -> pd.DataFrame:
    return read_csv(file, dtype=str if text else None)


def _npz(file: Path, text: bool) -> pd.DataFrame:
    arrays = read_npz(file, kinds=f"{NUMBERS}U" if text else NUMBERS)
    sizes = {name: values.shape for name, values in arrays.items()}
    if any(len(shape) != 1 for shape in sizes.values()) or len(set(sizes.values())) > 1:
        raise ValueError(f"it must hold arrays of one length, shape (n,), but holds {sizes}")
    return pd.DataFrame(arrays)


def _parquet(file: Path, text: bool) -> pd.DataFrame:
    with open_regular(file) as stream:
        return pd.read_parquet(stream)


_READERS: dict[str, Callable[[Path, bool], pd.DataFrame]] = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}


def _entries(table: pd.DataFrame, column: str, file: Path) -> NDArray[Any]:
    """Return the entries of a column: real numbers or bools in native byte order, or objects for all other values."""
    values = table[column].to_numpy()
    kind = values.dtype.kind
    if kind not in f"{NUMBERS}O":
        raise ParameterError(f"{column} must be a column of real numbers in {file}, but is of type {values.dtype}.")
    wide = {"f": np.float64, "i": np.int64, "u": np.uint64}
    return values.astype(wide[kind]) if kind in wide else values


def _numbers(table: pd.DataFrame, column: str, file: Path) -> Any:
    entries = _entries(table, column, file)
    try:
        read: NDArray[Any] = np.asarray(pd.to_numeric(entries, errors="coerce"))
    except (TypeError, ValueError, OverflowError):  # lists and the like
        read = np.full(len(entries), np.nan)
    values = read.astype(np.float64) if read.dtype.kind in NUMBERS else np.full(len(entries), np.nan)
    _check(~np.isnan(values), entries, f"{column} must be a number in every row of {file}", ROW_WITHOUT_SCORE)
    return values


def _flags(table: pd.DataFrame, column: str, file: Path) -> Any:
    entries = _entries(table, column, file)
    if entries.dtype.kind == "O":
        valid = np.array([isinstance(v, bool | int | float) and v in (0, 1) for v in entries], dtype=np.bool_)
    else:
        valid = np.isin(entries, (0, 1))
    _check(valid, entries, f"{column} must be 0 or 1 in every row of {file}")
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


def _check(valid: NDArray[np.bool_], entries: NDArray[Any], requirement: str, advice: str = "") -> None:
    """Raise `ParameterError` with the first invalid row."""
    if not valid.all():
        row = int(np.flatnonzero(~valid)[0])
        value = cut(repr(entries.tolist()[row]), 60)
        raise ParameterError(f"{requirement}, but is {value} in row {row + 1}. {advice}".rstrip())


def _listed(table: pd.DataFrame) -> str:
    return cut(", ".join(map(str, table.columns)), LONGEST_REASON)


__all__ = ["Judgement", "read_by_id", "read_evidence", "read_ids"]
