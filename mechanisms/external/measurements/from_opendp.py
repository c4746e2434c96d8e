"""A measurement of OpenDP as a mechanism, with the promise of its privacy map."""

from __future__ import annotations

from typing import Any

from ...base import Dataset, Neighbours
from ...errors import NeighboursError, ParameterError
from ...guarantees import ApproximateDP
from ...guarantees.base import Guarantee
from ...relation import Relation
from ..function import FunctionMechanism
from ..recording.libraries import distance_in, guarantee_of


def opendp_measurement(
    measurement: Any,
    d0: Dataset,
    d1: Dataset,
    *,
    relation: str | Relation = "add_remove",
    delta: float | None = None,
) -> FunctionMechanism:
    """A measurement of OpenDP on two inputs.

    Args:
        measurement: an `opendp.mod.Measurement`.
        d0, d1: inputs of it, at a positive distance in its input metric; numbers, texts, or lists of these.
        relation: how the two differ, for people: the promise is about their distance.
        delta: for a measurement whose map is a whole privacy profile: at which epsilon is claimed.

    Returns:
        The mechanism, whose claim is `measurement.map(distance of d0 and d1)`. The library draws from the operating
        system, so that runs cannot be repeated, and all of them are made in one process.

    Raises:
        NeighboursError: the distance is 0 or infinite.
        ParameterError: no delta for a privacy profile.
        AccountingError: a metric or an output measure that has no guarantee here.
    """
    distance = distance_in(str(measurement.input_metric), d0, d1)
    if not 0.0 < distance < float("inf"):
        raise NeighboursError(
            f"d0 and d1 lie {distance:g} apart in the metric {measurement.input_metric} of the measurement. Give two "
            "inputs at a positive distance.",
            argument="d1",
        )
    return FunctionMechanism(
        _Invoked(measurement),
        claim=_claim(measurement, distance, delta),
        neighbours=Neighbours(d0, d1, Relation.of(relation)),
        style="own-randomness",
        records=False,
    )


class _Invoked:
    """Calls a measurement; named by what it is."""

    def __init__(self, measurement: Any) -> None:
        self._measurement = measurement
        self.__name__ = f"opendp {measurement.input_metric} -> {measurement.output_measure}"

    def __call__(self, dataset: Dataset) -> Any:
        return self._measurement(dataset)


def _claim(measurement: Any, distance: float, delta: float | None) -> Guarantee:
    """What the privacy map says of this distance."""
    try:
        loss = measurement.map(int(distance) if float(distance).is_integer() else distance)
    except Exception:  # whole numbers are not taken
        loss = measurement.map(float(distance))
    measure = str(measurement.output_measure)
    if not measure.startswith("SmoothedMaxDivergence"):
        return guarantee_of(measure, loss)
    if delta is None:
        raise ParameterError(
            "delta is missing: the map of this measurement gives a privacy profile. Say at which delta epsilon is "
            "claimed, such as delta=1e-6.",
            argument="delta",
        )
    return ApproximateDP(float(loss.epsilon(delta)), delta)


__all__ = ["opendp_measurement"]
