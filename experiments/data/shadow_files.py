"""Shadow models of other code in a file: the outputs of their models on the records.

.npz   arrays named like the arguments of `shadows_of`: `membership`, and one of `losses`, `log_probabilities`,
       `logits`, `probabilities`, `predictions` and `scores`; possibly `labels`, `ids`, and the same names with
       `population_`
.csv   a row for each model and record: `model, record, member`, and one of `loss`, `score` and `prediction`; possibly
       `label`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...attacks.membership.outputs import KINDS, shadows_of
from ...attacks.membership.shadows import Shadows
from ...audit.trials.array_files import NUMBERS, read_npz
from ...mechanisms.core.errors import ParameterError
from .table_files import read_csv

COLUMNS = {"model", "record", "member"}
_CSV_KINDS = {"loss": "losses", "score": "scores", "prediction": "predictions"}


@dataclass(frozen=True, eq=False)
class NamedShadows:
    """Shadows with the ids of their records, `(n_records,)` texts."""

    shadows: Shadows
    ids: tuple[str, ...]


def load_shadows(file: Path | str, *, fair: bool = False) -> NamedShadows:
    """Read the shadows in a file.

    Args:
        file: `.npz`, never unpickled, or `.csv`, as above.
        fair: see `dpassay.attacks.membership.shadows_of`.

    Raises:
        ParameterError: no such file, another kind of file, unknown or missing arrays, or an invalid array.
    """
    path = Path(file)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ParameterError(
            f"{file} must be a {' or '.join(_READERS)} file, but ends in {path.suffix!r}.", argument="file"
        )
    try:
        arrays = reader(path)
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror or error}.", argument="file") from error
    except ParameterError:
        raise
    except Exception as error:  # readers raise any exception on a damaged file
        reason = (str(error) or type(error).__name__)[:300]
        raise ParameterError(f"{file} cannot be read as {path.suffix[1:]}: {reason}.", argument="file") from error
    if "membership" not in arrays:
        held = ", ".join(arrays) or "nothing"
        raise ParameterError(
            f"{file} must hold membership, shape (n_models, n_records), but holds {held[:300]}.", argument="file"
        )
    ids = arrays.pop("ids", None)
    unknown = [name for name in arrays if name not in _NAMES]
    if unknown:
        raise ParameterError(
            f"{file} must hold arrays named {', '.join(_NAMES)}, but holds {', '.join(unknown)[:300]} too.",
            argument="file",
        )
    shadows = shadows_of(arrays.pop("membership"), fair=fair, **arrays)
    names = np.arange(shadows.n_records) if ids is None else np.asarray(ids)
    if names.shape != (shadows.n_records,) or len(set(map(str, names))) < len(names):
        raise ParameterError(
            f"ids must be {shadows.n_records} different names, one per record, but has shape {names.shape} and "
            f"{len(set(map(str, names.ravel())))} different entries.",
            argument="ids",
        )
    return NamedShadows(shadows, tuple(map(str, names)))


_OUTPUTS = ("labels", *KINDS)
_NAMES = ("membership", *_OUTPUTS, *(f"population_{name}" for name in _OUTPUTS))


def _npz(path: Path) -> dict[str, Any]:
    return dict(read_npz(path, kinds=f"{NUMBERS}U"))


def _csv(path: Path) -> dict[str, Any]:
    """Return arrays from a table with a row for each model and record."""
    table = read_csv(path, dtype={"record": str, "model": str})
    values = [name for name in _CSV_KINDS if name in table]
    if not set(table) >= COLUMNS or len(values) != 1:
        raise ParameterError(
            f"{path} must have the columns model, record, member, and one of {', '.join(_CSV_KINDS)}, but has "
            f"{', '.join(map(str, table.columns))[:300]}.",
            argument="file",
        )
    if table.duplicated(["model", "record"]).any():
        first = table[table.duplicated(["model", "record"])].iloc[0]
        raise ParameterError(
            f"{path} must have one row for each model and record, but model {first['model']} has record "
            f"{first['record']} more than once.",
            argument="file",
        )
    named = {"member": "membership", values[0]: _CSV_KINDS[values[0]]}
    wide = {name: table.pivot(index="model", columns="record", values=column) for column, name in named.items()}
    if wide["membership"].isna().any(axis=None):
        raise ParameterError(
            f"{path} must have a row for each of {table['model'].nunique()} models and {table['record'].nunique()} "
            f"records, but has {len(table)} rows.",
            argument="file",
        )
    arrays: dict[str, Any] = {name: frame.to_numpy() for name, frame in wide.items()}
    if "label" in table:
        arrays["labels"] = table.drop_duplicates("record").set_index("record")["label"][wide["membership"].columns]
    return arrays | {"ids": wide["membership"].columns.to_numpy(dtype=np.str_)}


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {".npz": _npz, ".csv": _csv}

__all__ = ["NamedShadows", "load_shadows"]
