"""Primitives of OpenDP (measurements) and of diffprivlib (mechanisms), if these libraries are loaded.

They state their own cost: a measurement by its privacy map, a mechanism by its epsilon, delta and sensitivity.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from ...accounting import ApproximateDP, ConcentratedDP, PureDP
from ...core import AccountingError, Guarantee
from .charges import UNPROTECTED, declared_cost, input_change
from .standard import recorded_primitive
from .tape import PrimitiveCall, replaced


def substitutions() -> Iterator[AbstractContextManager[None]]:
    """Yield the substitutions that are active while a tape runs."""
    if "opendp.mod" in sys.modules:
        measurement = sys.modules["opendp.mod"].Measurement
        yield replaced(measurement, "__call__", recorded_primitive(measurement.__call__, _measured))
        yield replaced(measurement, "invoke", recorded_primitive(measurement.invoke, _measured))
    if "diffprivlib.mechanisms" in sys.modules:
        for kind in _mechanisms():
            yield replaced(kind, "randomise", recorded_primitive(kind.randomise, _randomised))


def _mechanisms() -> list[type[Any]]:
    """Return the classes of diffprivlib that implement `randomise`."""
    kinds, pending = [], [sys.modules["diffprivlib.mechanisms.base"].DPMechanism]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if "randomise" in vars(kind) and not getattr(vars(kind)["randomise"], "__isabstractmethod__", False):
            kinds.append(kind)
    return kinds


def _randomised(args: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> PrimitiveCall:
    """Return the call `mechanism.randomise(value)` of diffprivlib; the input of a selection is its utilities."""
    mechanism = args[0]
    fed = args[1] if len(args) > 1 else named.get("value", getattr(mechanism, "utility", None))
    epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
    sensitivity = getattr(mechanism, "sensitivity", None)
    parameters = {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity, "shape": np.shape(result)}
    declared_sensitivity = None if sensitivity is None else float(sensitivity)
    return PrimitiveCall(
        "diffprivlib",
        type(mechanism).__name__,
        parameters,
        fed,
        result,
        declared_sensitivity,
        declared_cost(epsilon, delta),
    )


def _measured(args: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> PrimitiveCall:
    """Return the call `measurement(arg)` of OpenDP."""
    measurement = args[0]
    fed = args[1] if len(args) > 1 else named.get("arg")
    name = str(measurement.input_metric)
    parameters = {
        "input_metric": name,
        "output_measure": str(measurement.output_measure),
        "shape": np.shape(result),
        "privacy": _probe(measurement),
    }
    return PrimitiveCall("opendp", "measurement", parameters, fed, result, None, partial(_mapped, measurement))


def _probe(measurement: Any) -> Any:
    """Return the privacy loss of the measurement at distance 1: equal for equal measurements."""
    for unit in (1, 1.0):
        try:
            return measurement.map(unit)
        except Exception:  # the map needs whole numbers, or has no such distance
            continue
    return None


def _mapped(measurement: Any, fed0: Any, fed1: Any) -> Guarantee:
    distance = distance_in(str(measurement.input_metric), fed0, fed1)
    if not np.isfinite(distance):
        return UNPROTECTED
    if distance == 0.0:
        return PureDP(0.0)
    return guarantee_of(str(measurement.output_measure), loss_at(measurement, distance))


def loss_at(measurement: Any, distance: float) -> Any:
    """Return the privacy loss that the map of a measurement of OpenDP states for inputs at this distance."""
    try:
        return measurement.map(int(distance) if float(distance).is_integer() else distance)
    except Exception:  # the map refuses whole numbers
        return measurement.map(float(distance))


def guarantee_of(measure: str, loss: Any) -> Guarantee:
    """Return the guarantee that a privacy map of OpenDP states; raise `AccountingError` for an unknown measure."""
    if measure.startswith("Approximate") and isinstance(loss, tuple):
        return ApproximateDP(float(loss[0]), float(loss[1]))
    if measure.startswith("MaxDivergence"):
        return PureDP(float(loss))
    if measure.startswith("ZeroConcentrated"):
        return ConcentratedDP(float(loss))
    raise AccountingError(f"the output measure {measure} of an OpenDP measurement is not supported.")


def distance_in(metric: str, fed0: Any, fed1: Any) -> float:
    """Return the distance of two inputs in the metric of a measurement."""
    for name, distance in INPUT_METRICS.items():
        if metric.startswith(name):
            return distance(fed0, fed1)
    raise AccountingError(f"the distance of two inputs in the metric {metric} of OpenDP is not supported.")


def _symmetric(fed0: Any, fed1: Any) -> float:
    """Return the number of records of one multiset that are not in the other; the order does not count."""
    first, second = Counter(_records(fed0)), Counter(_records(fed1))
    return float(((first - second) + (second - first)).total())


def _insert_delete(fed0: Any, fed1: Any) -> float:
    """Return the number of insertions and deletions between two sequences; the order counts (Myers 1986)."""
    first, second = _records(fed0), _records(fed1)
    furthest = {1: 0}
    for distance in range(min(len(first) + len(second), MAX_EDITS) + 1):
        for line in range(-distance, distance + 1, 2):
            down = line == -distance or (line != distance and furthest[line - 1] < furthest[line + 1])
            i = furthest[line + 1] if down else furthest[line - 1] + 1
            while i < len(first) and i - line < len(second) and first[i] == second[i - line]:
                i += 1
            furthest[line] = i
            if i >= len(first) and i - line >= len(second):
                return float(distance)
    return float(len(first) + len(second))  # an upper bound


def _change_one(fed0: Any, fed1: Any) -> float:
    """Return the number of changes from one multiset to another of the same size; the order does not count."""
    return _symmetric(fed0, fed1) / 2.0 if len(fed0) == len(fed1) else float("inf")


def _hamming(fed0: Any, fed1: Any) -> float:
    """Return the number of places where two sequences of the same length differ."""
    if len(fed0) != len(fed1):
        return float("inf")
    return float(sum(record0 != record1 for record0, record1 in zip(_records(fed0), _records(fed1), strict=True)))


def _records(fed: Any) -> list[Any]:
    """Return the records of a dataset in a form that can be compared and counted."""
    if not isinstance(fed, (list, tuple, np.ndarray)):
        raise AccountingError(
            f"the records of a {type(fed).__name__} cannot be counted, so its distance is not known. Pass "
            "datasets as lists or arrays."
        )
    return [_record(record) for record in fed]


def _record(record: Any) -> Any:
    if isinstance(record, (list, tuple, np.ndarray)):
        return tuple(_record(part) for part in record)
    return "not a number" if isinstance(record, float) and record != record else record


def _norm(order: float, fed0: Any, fed1: Any) -> float:
    return float(np.linalg.norm(input_change(fed0, fed1), order))


MAX_EDITS = 2_000
"""Largest number of insertions and deletions that are searched."""
INPUT_METRICS: dict[str, Callable[[Any, Any], float]] = {
    "AbsoluteDistance": partial(_norm, 1),
    "L1Distance": partial(_norm, 1),
    "L2Distance": partial(_norm, 2),
    "LInfDistance": partial(_norm, np.inf),
    "SymmetricDistance": _symmetric,
    "InsertDeleteDistance": _insert_delete,
    "ChangeOneDistance": _change_one,
    "HammingDistance": _hamming,
    "DiscreteDistance": lambda fed0, fed1: float(not np.array_equal(fed0, fed1)),
}
