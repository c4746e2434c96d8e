"""Shadow models of other code in a file: the outputs of their models on the records.

.npz   arrays named like the arguments of `shadows_of`: `membership` (or `keep`, as LiRA calls it), and one of `losses`,
       `log_probabilities`, `logits`, `probabilities`, `rescaled_logits`, `predictions` and `scores`; possibly `labels`,
       `ids` of records, `models`, their names, and the same names with `population_`. Of one model also two arrays, of
       members and non-members: `loss_train` and `loss_test`, or another kind of output with such an ending
.csv   a row for each model and record: `model, record, member`, and one of `loss`, `score`, `probability`,
       `log_probability`, `rescaled_logit` and `prediction`; possibly `label`. Of one model the columns `model` and
       `record` may be missing
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...attacks.membership.outputs import OTHER_CALLS, OUTPUT_KINDS, shadows_of
from ...attacks.membership.shadows import Shadows
from ...audit.trials.array_files import NUMBER_KINDS, read_npz
from ...mechanisms.core import ParameterError
from .table_files import read_by_ending, read_csv

_CSV_KINDS = {
    "loss": "losses",
    "score": "scores",
    "probability": "probabilities",
    "log_probability": "log_probabilities",
    "rescaled_logit": "rescaled_logits",
    "prediction": "predictions",
}
_SIDES = {
    **dict.fromkeys(("train", "member", "members", "in"), True),
    **dict.fromkeys(("test", "holdout", "nonmember", "nonmembers", "out"), False),
}
"""Words in the names of two arrays, of the members and of the non-members of one model."""


@dataclass(frozen=True, eq=False)
class NamedShadows:
    """Shadows with the ids of their records and models, `(n_records,)` and `(n_models,)` texts."""

    shadows: Shadows
    ids: tuple[str, ...]
    models: tuple[str, ...]


def load_shadows(file: Path | str, *, fair: bool = False, signal: str | None = None) -> NamedShadows:
    """Read the shadows in a file.

    Args:
        file: `.npz`, never unpickled, or `.csv`, as above.
        fair, signal: see `dpassay.attacks.membership.shadows_of`.

    Raises:
        ParameterError: no such file, another kind of file, unknown or missing arrays, or an invalid array.
    """
    arrays = read_by_ending(Path(file), _READERS)
    if "keep" in arrays and "membership" not in arrays:
        arrays["membership"] = arrays.pop("keep")
    if "membership" not in arrays:
        arrays = _of_two_sides(arrays)
    for name in arrays.keys() & OTHER_CALLS.keys():
        raise ParameterError(f"{file}: {OTHER_CALLS[name]}", argument="file")
    if "membership" not in arrays:
        held = ", ".join(arrays) or "nothing"
        raise ParameterError(
            f"{file} must hold membership, shape (n_models, n_records), but holds {held[:300]}. Of one model, give the "
            "losses of members and non-members as loss_train and loss_test.",
            argument="file",
        )
    ids, models = arrays.pop("ids", None), arrays.pop("models", None)
    unknown = [name for name in arrays if name not in _NAMES]
    if unknown:
        raise ParameterError(
            f"{file} must hold arrays named {', '.join(_NAMES)}, but holds {', '.join(unknown)[:300]} too.",
            argument="file",
        )
    shadows = shadows_of(arrays.pop("membership"), fair=fair, signal=signal, **arrays)
    return NamedShadows(
        shadows, _names("ids", ids, shadows.n_records, "record"), _names("models", models, len(shadows), "model")
    )


def _names(argument: str, values: Any, n: int, unit: str) -> tuple[str, ...]:
    """Return the names of records or models, checked; their numbers if there are none."""
    names = np.arange(n) if values is None else np.asarray(values)
    if names.shape != (n,) or len(set(map(str, names))) < n:
        raise ParameterError(
            f"{argument} must be {n} different names, one per {unit}, but has shape {names.shape} and "
            f"{len(set(map(str, names.ravel())))} different entries.",
            argument=argument,
        )
    return tuple(map(str, names))


def _of_two_sides(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return membership and outputs of one model from arrays of its members and of its non-members.

    Arrays are unchanged unless all of them come in such pairs: loss_train and loss_test, labels_in and labels_out.
    """
    sides: dict[str, dict[bool, Any]] = {}
    for name, values in arrays.items():
        words = name.replace("non_member", "nonmember").split("_")
        marks = [word for word in words if word in _SIDES]
        kind = "_".join(word for word in words if word not in _SIDES)
        if len(marks) != 1:
            return arrays
        sides.setdefault(_CSV_KINDS.get(kind, kind), {})[_SIDES[marks[0]]] = np.asarray(values)
    if not sides or any(set(pair) != {True, False} for pair in sides.values()):
        return arrays
    joined, n = {}, set()
    for kind, pair in sides.items():
        members, others = (side[0] if side.ndim > 1 and len(side) == 1 else side for side in (pair[True], pair[False]))
        if members.ndim == 0 or members.shape[1:] != others.shape[1:]:
            raise ParameterError(
                f"{kind} of members and of non-members must have one shape after the first axis, the records, but have "
                f"the shapes {members.shape} and {others.shape}.",
                argument="file",
            )
        joined[kind] = np.concatenate([members, others])
        n.add((len(members), len(others)))
    if len(n) > 1:
        raise ParameterError(
            f"arrays of members and of non-members must have one length each, but have {sorted(n)}.", argument="file"
        )
    ((n_in, n_out),) = n
    return joined | {"membership": np.arange(n_in + n_out) < n_in}


_OUTPUTS = ("labels", *OUTPUT_KINDS)
_NAMES = ("membership", *_OUTPUTS, *(f"population_{name}" for name in _OUTPUTS))


def _npz(path: Path) -> dict[str, Any]:
    return dict(read_npz(path, kinds=f"{NUMBER_KINDS}U"))


def _csv(path: Path) -> dict[str, Any]:
    """Return arrays from a table with a row for each model and record."""
    table = read_csv(path, dtype={"record": str, "model": str})
    values = [name for name in _CSV_KINDS if name in table]
    if "member" not in table or len(values) != 1 or ("model" in table and "record" not in table):
        raise ParameterError(
            f"{path} must have the columns model, record, member, and one of {', '.join(_CSV_KINDS)}, but has "
            f"{', '.join(map(str, table.columns))[:300]}. Of one model, member and one of the last suffice.",
            argument="file",
        )
    if "record" not in table:
        table["record"] = [f"{i:0{len(str(len(table)))}}" for i in range(len(table))]
    if "model" not in table:
        table["model"] = "0"
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
    names = wide["membership"]
    return arrays | {"ids": names.columns.to_numpy(dtype=np.str_), "models": names.index.to_numpy(dtype=np.str_)}


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {".npz": _npz, ".csv": _csv}

__all__ = ["NamedShadows", "load_shadows"]
