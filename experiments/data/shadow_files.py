"""Shadow models of other code in a file: the outputs of their models on the records.

.npz   arrays named like the arguments of `shadows_of`: `membership` (or `keep`, as LiRA calls it), and one of `losses`,
       `log_probabilities`, `logits`, `probabilities`, `rescaled_logits`, `predictions` and `scores`; possibly `labels`,
       `ids` of records, `models`, their names, and the same names with `population_`. Of one model also two arrays, of
       members and non-members: `loss_train` and `loss_test`, or another kind of output with such an ending
.csv   a row for each model and record: `model, record, member`, and one of `loss`, `score`, `probability`,
       `log_probability`, `rescaled_logit` and `prediction`; possibly `label`. Of one model the columns `model` and
       `record` may be missing
.json  the result of an attack by LeakPro (`data_objects/ID.json`): `true_labels` and `signal_values`, higher = member

The NPZ of single records that SACRO-ML writes (`lira_individual_..._instance_0.npz`) is read by its arrays `member` and
`score`. An array `X`, `(n_records, n_features)`, or `X_train` and `X_test`, gives the records to the baseline without
the models.

`load_records` reads records for a function of a model: an NPZ with `X_train`, `X_test`, `y_train`, `y_test`, and
possibly `groups_train`, `groups_test`; or a CSV with the column `member` (1 or 0), possibly `label`, `group` and
`record`, and features in all other columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...attacks.membership.outputs import OTHER_CALLS, OUTPUT_KINDS, shadows_of
from ...attacks.membership.shadows import Shadows
from ...audit.trials.array_files import NUMBER_KINDS, open_regular, read_npz
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
    """Shadows with the ids of their records and models, `(n_records,)` and `(n_models,)` texts, and groups or None."""

    shadows: Shadows
    ids: tuple[str, ...]
    models: tuple[str, ...]
    groups: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class GivenRecords:
    """Members and others, each X or a pair (X, y), with groups and ids of all records, members first."""

    members: Any
    others: Any
    groups: NDArray[Any] | None
    ids: tuple[str, ...]


def load_records(file: Path | str) -> GivenRecords:
    """Read the members and others of a model in a file, as above.

    Raises:
        ParameterError: no such file, another kind of file, or no records.
    """
    path = Path(file)
    arrays = read_by_ending(path, {".npz": _npz_records, ".csv": _csv_records, **_REFUSED})
    names = {"y": "labels", "group": "groups"}
    arrays = {names.get(name, name): values for name, values in arrays.items()}
    if not {"X", "membership"} <= arrays.keys() or arrays.keys() - {"X", "membership", "labels", "groups", "ids"}:
        raise ParameterError(
            f"{file} must hold records for the function: X_train, X_test, y_train and y_test in an NPZ, or a CSV with "
            f"the column member and the features, but holds {', '.join(arrays)[:300] or 'nothing'}. For the outputs of "
            "a model leave out the function, and give them as losses or probabilities.",
            argument="file",
        )
    X, flags = arrays["X"], np.asarray(arrays["membership"])
    if flags.shape != (len(X),) or not np.isin(flags, (0, 1)).all():
        raise ParameterError(f"{file} must have member 1 or 0 for each of its {len(X)} records.", argument="file")
    order = np.argsort(flags == 0, kind="stable")  # members first
    n_in = int(np.count_nonzero(flags))
    X = X.iloc[order] if hasattr(X, "iloc") else np.asarray(X)[order]
    y = np.asarray(arrays["labels"])[order] if "labels" in arrays else None
    sides = [(X[part], None if y is None else y[part]) for part in (slice(None, n_in), slice(n_in, None))]
    members, others = (rows if labels is None else (rows, labels) for rows, labels in sides)
    groups = np.asarray(arrays["groups"]).astype(str)[order] if "groups" in arrays else None
    ids = _names("record", arrays.get("ids"), len(X), "record")
    return GivenRecords(members, others, groups, tuple(ids[i] for i in order))


def _npz_records(path: Path) -> dict[str, Any]:
    return _of_two_sides(_npz(path))


def _csv_records(path: Path) -> dict[str, Any]:
    table = read_csv(path, dtype={"record": str, "group": str})
    if "member" not in table:
        return dict.fromkeys(map(str, table.columns))
    apart = {"member": "membership", "label": "labels", "group": "groups", "record": "ids"}
    arrays: dict[str, Any] = {name: table[column].to_numpy() for column, name in apart.items() if column in table}
    return arrays | {"X": table.drop(columns=[column for column in apart if column in table])}


def load_shadows(file: Path | str, *, fair: bool = False, signal: str | None = None) -> NamedShadows:
    """Read the shadows in a file.

    Args:
        file: `.npz`, never unpickled, or `.csv`, as above.
        fair, signal: see `dpassay.attacks.membership.shadows_of`.

    Raises:
        ParameterError: no such file, another kind of file, unknown or missing arrays, or an invalid array.
    """
    arrays = read_by_ending(Path(file), _READERS)
    if {"member", "score"} <= arrays.keys():  # single records of SACRO-ML
        arrays = {"membership": arrays["member"], "scores": arrays["score"]}
    if "keep" in arrays and "membership" not in arrays:
        arrays["membership"] = arrays.pop("keep")
    if "membership" not in arrays:
        arrays = _of_two_sides(arrays)
    X = arrays.pop("X", None)
    if X is not None and not arrays.keys() & set(OUTPUT_KINDS):
        raise ParameterError(
            f"{file} holds records, and no outputs of a model. Name the function that computes them, --target "
            "PY_FILE:NAME, or add them, such as losses.",
            argument="file",
        )
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
            f"{file} must hold arrays named {', '.join(_NAMES)}, X, but holds {', '.join(unknown)[:300]} too.",
            argument="file",
        )
    shadows = shadows_of(arrays.pop("membership"), fair=fair, signal=signal, **arrays)
    if X is not None:
        shadows = replace(shadows, X=np.asarray(X, dtype=np.float64).reshape(len(X), -1))
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


def _json(path: Path) -> dict[str, Any]:
    """Return membership and scores of the result of an attack by LeakPro."""
    with open_regular(path) as stream:
        content = json.load(stream)
    signals = content.get("signal_values") if isinstance(content, dict) else None
    if not signals or "true_labels" not in content:
        raise ParameterError(
            f"{path} must be the result of an attack by LeakPro, data_objects/ID.json, with true_labels and "
            "signal_values, one a record. Give other outputs as NPZ or CSV.",
            argument="file",
        )
    return {"membership": np.asarray(content["true_labels"]), "scores": np.asarray(signals, dtype=np.float64)}


def _pickle(path: Path) -> dict[str, Any]:
    """Refuse a pickle, which runs code when it is read, with a line that exports it."""
    raise ParameterError(
        f"{path} is a pickle, which runs code when it is read. Export arrays where you trust it. A target of SACRO-ML: "
        "python -c \"import numpy as np; from sacroml.attacks.target import Target; t = Target(); t.load('target'); "
        "np.savez('target.npz', X_train=t.X_train, X_test=t.X_test, y_train=t.y_train, y_test=t.y_test)\". Outputs of "
        "shadow models, also of LeakPro: np.savez('shadows.npz', membership=membership, logits=logits, labels=labels).",
        argument="file",
    )


_REFUSED: dict[str, Callable[[Path], dict[str, Any]]] = dict.fromkeys((".pkl", ".pickle", ".joblib"), _pickle)
_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {".npz": _npz, ".csv": _csv, ".json": _json, **_REFUSED}

__all__ = ["GivenRecords", "NamedShadows", "load_records", "load_shadows"]
