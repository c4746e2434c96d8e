"""Single releases of other libraries as mechanisms, whose claims are read from the library itself.

opendp_measurement                         a measurement of OpenDP, with the guarantee of its privacy map
diffprivlib_mechanism, diffprivlib_tool    a mechanism or a tool of diffprivlib, with the epsilon and delta that it
                                           states, or those of its accountant
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..accounting import ApproximateDP, PureDP
from ..core import Dataset, Guarantee, Neighbours, NeighboursError, ParameterError, Relation
from .functions.function import FunctionMechanism
from .recording.libraries import distance_in, guarantee_of, loss_at


def opendp_measurement(
    measurement: Any, d0: Dataset, d1: Dataset, *, relation: str | Relation = "add_remove", delta: float | None = None
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


MAX_METRIC_DISTANCE = {
    "SymmetricDistance": {Relation.ADD_REMOVE: 1, Relation.REPLACE_ONE: 2, Relation.ZERO_OUT: 2},
    "InsertDeleteDistance": {Relation.ADD_REMOVE: 1, Relation.REPLACE_ONE: 2, Relation.ZERO_OUT: 2},
    "ChangeOneDistance": {Relation.REPLACE_ONE: 1, Relation.ZERO_OUT: 1},
    "HammingDistance": {Relation.REPLACE_ONE: 1, Relation.ZERO_OUT: 1},
}
"""Largest distance of neighbours, in the metrics that count records."""


def _check_relation(metric: str, relation: Relation, distance: float) -> None:
    """Raise `NeighboursError` if the pair cannot differ by the relation in a metric that counts records."""
    largest_distances = next(
        (distances for name, distances in MAX_METRIC_DISTANCE.items() if metric.startswith(name)), None
    )
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
    loss = loss_at(measurement, distance)
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


def diffprivlib_mechanism(
    mechanism: Any, value0: Any, value1: Any, *, relation: str | Relation = "replace_one"
) -> FunctionMechanism:
    """Return a mechanism of `diffprivlib.mechanisms` on two values.

    Args:
        mechanism: an object with epsilon, delta and sensitivity.
        value0, value1: the arguments of `randomise` on the two sides, at most the sensitivity apart. For a mechanism
            that selects and takes no value, pass two such mechanisms here; `mechanism` then only states the claim.
        relation: name of the relation between the two, for display.

    Returns:
        The mechanism; its claim is `mechanism.epsilon`, with `mechanism.delta` if it is positive. The library
        draws from the operating system, so runs cannot be repeated, and all of them are made in one process.

    Raises:
        NeighboursError: the numbers lie further apart than the sensitivity.
    """
    sensitivity = getattr(mechanism, "sensitivity", None)
    if isinstance(value0, int | float) and sensitivity is not None and abs(value1 - value0) > sensitivity * (1 + 1e-9):
        raise NeighboursError(
            f"value0 and value1 lie {abs(value1 - value0):g} apart, but the mechanism has a sensitivity of "
            f"{sensitivity:g}.",
            argument="value1",
        )
    return FunctionMechanism(
        _Randomised(mechanism),
        claim=_guarantee(mechanism.epsilon, mechanism.delta),
        neighbours=Neighbours(value0, value1, Relation.of(relation)),
        style="own-randomness",
        records=False,
    )


def diffprivlib_tool(tool: Callable[..., Any], neighbours: Neighbours, **options: Any) -> FunctionMechanism:
    """Return a function of `diffprivlib.tools`, such as `mean`, on two arrays, as a mechanism.

    Args:
        tool: a function of an array, the `options`, and an `accountant`.
        neighbours: two arrays; diffprivlib treats the number of records as public: "replace_one".
        options: options of the tool, such as epsilon and bounds.

    Returns:
        The mechanism; its claim is the cost of one call according to `diffprivlib.BudgetAccountant`.

    Raises:
        ParameterError: diffprivlib is not installed or cannot be imported, or the call has no cost.
    """
    try:
        accounting = import_module("diffprivlib.accountant")
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "diffprivlib"
        reason = "is not installed" if missing else f"cannot be imported ({error})"
        raise ParameterError(
            f"tools of diffprivlib need diffprivlib, which {reason}. diffprivlib 0.6.6 needs scikit-learn<1.8. In a "
            'copy of dpassay: pip install ".[diffprivlib]", which installs both; `dpassay doctor` shows the versions.'
        ) from error
    accountant = accounting.BudgetAccountant()
    tool(neighbours.d1, accountant=accountant, **options)
    epsilon, delta = accountant.total()
    if epsilon == 0.0 and delta == 0.0:
        raise ParameterError(f"{_Tool(tool, {}).__name__} has no cost according to its accountant.", argument="tool")

    return FunctionMechanism(
        _Tool(tool, {**options, "accountant": accounting.BudgetAccountant}),
        claim=_guarantee(epsilon, delta),
        neighbours=neighbours,
        style="own-randomness",
    )


class _Randomised:
    """Function that calls `randomise` of the mechanism, or of a mechanism passed in place of a value."""

    def __init__(self, mechanism: Any) -> None:
        self._mechanism = mechanism
        self.__name__ = f"diffprivlib {type(mechanism).__name__}"

    def __call__(self, value: Any) -> Any:
        return value.randomise() if isinstance(value, type(self._mechanism)) else self._mechanism.randomise(value)


class _Tool:
    """Function that calls a tool with a new accountant, and suppresses its warnings."""

    def __init__(self, tool: Callable[..., Any], options: dict[str, Any]) -> None:
        self._tool, self._options = tool, copy.copy(options)
        self.__name__ = f"diffprivlib {getattr(tool, '__name__', type(tool).__name__)}"

    def __call__(self, dataset: Dataset) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._tool(dataset, **self._options | {"accountant": self._options["accountant"]()})


def _guarantee(epsilon: float, delta: float) -> Guarantee:
    return ApproximateDP(float(epsilon), float(delta)) if delta > 0.0 else PureDP(float(epsilon))
