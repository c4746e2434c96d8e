"""Clients, the units of privacy in federated learning, and the checks of neighbouring datasets of clients.

A dataset is a list of clients, in a fixed order. A client is an `(X, y)` pair of all its records, or a flat vector of
`n_parameters` numbers: the update, before clipping, that the client sends for every model. The strongest adversary
sends such a vector; zeros represent a client without data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Dataset, Floats, Neighbours, NeighboursError, ParameterError, Relation, check_records, plural
from ...learning.base import TrainingData
from ...learning.models.base import Model


@dataclass(frozen=True, eq=False)
class Client:
    """One client, in the form that a model uses.

    Args:
        inputs: `(n_records, n_inputs)`, the features with the constant of the bias.
        targets: `(n_records,)`, in the form that the loss uses.
        update: `(n_parameters,)`, sent for every model; None for a client with records.
        key: equal for clients with equal records, in any order.
    """

    inputs: Floats
    targets: NDArray[Any]
    update: Floats | None
    key: str

    @property
    def blank(self) -> bool:
        """True if the client never contributes to the sum."""
        return not len(self.inputs) if self.update is None else not self.update.any()


def split_by_client(X: Any, y: Any, owners: Any) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return one `(X, y)` pair for each client, in the order of the client names.

    Args:
        X: `(n_records, n_features)`.
        y: `(n_records,)`.
        owners: `(n_records,)`, the client of each record.

    Raises:
        ParameterError: arrays of unequal lengths.

    Example:
        >>> clients = split_by_client(np.eye(3), np.array([0, 1, 1]), ["b", "a", "b"])
        >>> [y.tolist() for _, y in clients]
        [[1], [0, 1]]
    """
    data, names = TrainingData(np.asarray(X), np.asarray(y)), np.asarray(owners)
    if names.shape != (len(data),):
        raise ParameterError(
            f"owners must name the client of each of the {len(data)} records, but has shape {names.shape}.",
            argument="owners",
        )
    return [(data.X[names == name], data.y[names == name]) for name in np.unique(names)]


def read_clients(dataset: Dataset, model: Model) -> list[Client]:
    """Return the clients of a dataset, checked against the model.

    Raises:
        ParameterError: not a list of clients, or a client that does not fit the model.
    """
    if isinstance(dataset, (str, bytes, tuple)) or not isinstance(dataset, (Sequence, np.ndarray)):
        raise ParameterError(
            "the dataset must be a list of clients, each an (X, y) pair or a flat update, but is "
            f"{type(dataset).__name__}. Split records by their owner with split_by_client."
        )
    return [_client(entry, position, model) for position, entry in enumerate(dataset)]


def _client(entry: Any, position: int, model: Model) -> Client:
    empty = _inputs(np.empty((0, model.n_features)), model)
    if isinstance(entry, tuple):
        data = TrainingData.of(entry)
        model.check(data)
        rows = np.column_stack([data.X, data.y]).astype(np.float64) + 0.0
        key = "records " + " ".join(sorted(row.tobytes().hex() for row in rows))
        return Client(_inputs(data.X, model), model.loss.targets(data.y, np.dtype(np.float64)), None, key)
    update = np.asarray(entry, dtype=np.float64)
    if update.shape != (model.n_parameters,) or not np.isfinite(update).all():
        raise ParameterError(
            f"client {position} must be an (X, y) pair, or a flat update of {model.n_parameters} finite numbers, one "
            f"for each parameter of the model, but has shape {update.shape}."
        )
    return Client(empty, np.empty(0), update, "update " + (update + 0.0).tobytes().hex())


def _inputs(X: NDArray[Any], model: Model) -> Floats:
    return np.asarray(model.inputs(X, np.dtype(np.float64)), dtype=np.float64)


def check_clients(neighbours: Neighbours, model: Model, *, in_place: bool = False) -> None:
    """Raise `NeighboursError` unless the sides differ in one client.

    Args:
        neighbours: the pair. Under zero_out side 0 has a client without data, or an update of zeros, instead.
        model: the model that the clients must fit.
        in_place: whether all other clients must have equal positions on both sides.
    """
    sides = [read_clients(neighbours.side(side), model) for side in (0, 1)]
    keys = [[client.key for client in clients] for clients in sides]
    if in_place or neighbours.relation is Relation.ZERO_OUT:
        _check_places(neighbours.relation, sides)
    else:
        check_records(Neighbours(keys[0], keys[1], neighbours.relation))


def _check_places(relation: Relation, sides: list[list[Client]]) -> None:
    counts = [len(clients) for clients in sides]
    differing = [(client0, client1) for client0, client1 in zip(*sides, strict=False) if client0.key != client1.key]
    if counts[0] != counts[1] or len(differing) != 1:
        raise NeighboursError(
            f"d0 has {counts[0]} and d1 {plural(counts[1], 'client')}, of which {len(differing)} differ in place, but "
            f"under {relation.value!r} exactly one may. Change all records of one client, and keep the order.",
            argument="d0",
        )
    if relation is Relation.ZERO_OUT and not differing[0][0].blank:
        raise NeighboursError(
            "under 'zero_out' the client of side 0 must have no data: give it an update of zeros.", argument="d0"
        )
