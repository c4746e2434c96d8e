"""A measurement of OpenDP as a mechanism, with the guarantee of its privacy map."""

from __future__ import annotations

from typing import Any

from ...accounting import ApproximateDP
from ...core.base import Dataset, Neighbours
from ...core.errors import NeighboursError, ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ..functions.function import FunctionMechanism
from ..recording.libraries import distance_in, guarantee_of


def opendp_measurement(
    measurement: Any,
    d0: Dataset,
    d1: Dataset,
    *,
    relation: str | Relation = "add_remove",
    delta: float | None = None,
) -> FunctionMechanism:
    """Return a measurement of OpenDP on two inputs as a mechanism.

    Args:
        measurement: an `opendp.mod.Measurement`.
        d0, d1: its inputs, at a positive distance in its input metric; numbers, texts, or lists of these.
        relation: the relation between the two. If the input metric counts records, it is checked: neighbours lie at
            most 1 apart under add_remove and 2 under replace_one in the symmetric distance (order does not count) and
            in the insert-delete distance (order counts), and at most 1 apart under replace_one in the change-one
            distance (order does not count) and the Hamming distance (order counts), which do not support add_remove.
            In other metrics it is for display only.
        delta: delta at which epsilon is claimed, for a measurement whose map is a whole privacy profile; None for
            others, which state a guarantee.

    Returns:
        The mechanism, whose claim is `measurement.map(distance of d0 and d1)`. The library draws from the operating
        system, so runs cannot be repeated, and all of them are made in one process.

    Raises:
        NeighboursError: the distance is 0 or infinite, or larger than that of neighbours under the relation.
        ParameterError: delta is missing for a privacy profile, or given for another measurement.
        AccountingError: the metric or the output measure is not supported.
    """
    distance, relation = distance_in(str(measurement.input_metric), d0, d1), Relation.of(relation)
    _check_relation(str(measurement.input_metric), relation, distance)
    if not 0.0 < distance < float("inf"):
        raise NeighboursError(
            f"d0 and d1 lie {distance:g} apart in the metric {measurement.input_metric} of the measurement. Give two "
            "inputs at a positive distance.",
            argument="d1",
        )
    return FunctionMechanism(
        _Invoked(measurement),
        claim=_claim(measurement, distance, delta),
        neighbours=Neighbours(d0, d1, relation),
        style="own-randomness",
        records=False,
    )


APART = {
    "SymmetricDistance": {Relation.ADD_REMOVE: 1, Relation.REPLACE_ONE: 2, Relation.ZERO_OUT: 2},
    "InsertDeleteDistance": {Relation.ADD_REMOVE: 1, Relation.REPLACE_ONE: 2, Relation.ZERO_OUT: 2},
    "ChangeOneDistance": {Relation.REPLACE_ONE: 1, Relation.ZERO_OUT: 1},
    "HammingDistance": {Relation.REPLACE_ONE: 1, Relation.ZERO_OUT: 1},
}
"""Largest distance of neighbours, in the metrics that count records."""


def _check_relation(metric: str, relation: Relation, distance: float) -> None:
    """Raise `NeighboursError` if the pair cannot differ by the relation in a metric that counts records."""
    largest_distances = next((distances for name, distances in APART.items() if metric.startswith(name)), None)
    if largest_distances is None:
        return
    fitting = " or ".join(
        f"relation={candidate.value!r}" for candidate, limit in largest_distances.items() if distance <= limit
    )
    if relation not in largest_distances:
        others = " or ".join(f"relation={candidate.value!r}" for candidate in largest_distances)
        raise NeighboursError(
            f"relation={relation.value!r} has no distance in the metric {metric} of the measurement, in which datasets "
            f"have the same size. Give a pair of equal size and {others}.",
            argument="relation",
        )
    if distance > largest_distances[relation]:
        order = "counts" if metric.startswith(("InsertDelete", "Hamming")) else "does not count"
        raise NeighboursError(
            f"d0 and d1 lie {distance:g} apart in the metric {metric} of the measurement, in which the order of "
            f"records {order}; neighbours under {relation.value} lie {largest_distances[relation]} apart. "
            + (f"Give {fitting}." if fitting else "Give a pair that differs in one record."),
            argument="d1",
        )


class _Invoked:
    """Function that calls a measurement, named by its metric and measure."""

    def __init__(self, measurement: Any) -> None:
        self._measurement = measurement
        self.__name__ = f"opendp {measurement.input_metric} -> {measurement.output_measure}"

    def __call__(self, dataset: Dataset) -> Any:
        return self._measurement(dataset)


def _claim(measurement: Any, distance: float, delta: float | None) -> Guarantee:
    """Return the guarantee that the privacy map states for this distance."""
    try:
        loss = measurement.map(int(distance) if float(distance).is_integer() else distance)
    except Exception:  # the map refuses whole numbers
        loss = measurement.map(float(distance))
    measure = str(measurement.output_measure)
    if not measure.startswith("SmoothedMaxDivergence"):
        if delta is not None:
            raise ParameterError(
                f"delta={delta:g} is for a measurement whose map gives a privacy profile; {measure} already states a "
                "guarantee. Leave delta out here, and pass it to audit: audit(..., delta=...).",
                argument="delta",
                value=delta,
            )
        return guarantee_of(measure, loss)
    if delta is None:
        raise ParameterError(
            "delta is missing: the map of this measurement gives a privacy profile. Choose the delta at which epsilon "
            "is claimed, such as delta=1e-6.",
            argument="delta",
        )
    return ApproximateDP(float(loss.epsilon(delta)), delta)


__all__ = ["opendp_measurement"]
