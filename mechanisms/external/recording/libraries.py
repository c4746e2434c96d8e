"""The primitives of OpenDP (measurements) and of diffprivlib (mechanisms), where these libraries are loaded.

They say themselves what they take: a measurement by its privacy map, a mechanism by its epsilon, delta and sensitivity.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from ...errors import AccountingError
from ...guarantees import ApproximateDP, ConcentratedDP, PureDP
from ...guarantees.base import Guarantee
from .charges import EVERYTHING, declared, moved
from .standard import recorded_as
from .tape import Call, replaced


def places() -> Iterator[AbstractContextManager[None]]:
    """Where substitutes are put while a tape runs."""
    if "opendp.mod" in sys.modules:
        measurement = sys.modules["opendp.mod"].Measurement
        yield replaced(measurement, "__call__", recorded_as(measurement.__call__, _measured))
        yield replaced(measurement, "invoke", recorded_as(measurement.invoke, _measured))
    if "diffprivlib.mechanisms" in sys.modules:
        for kind in _mechanisms():
            yield replaced(kind, "randomise", recorded_as(kind.randomise, _randomised))


def _mechanisms() -> list[type[Any]]:
    """The classes of diffprivlib that randomise by themselves."""
    found, todo = [], [sys.modules["diffprivlib.mechanisms.base"].DPMechanism]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if "randomise" in vars(kind) and not getattr(vars(kind)["randomise"], "__isabstractmethod__", False):
            found.append(kind)
    return found


def _randomised(given: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> Call:
    """`mechanism.randomise(value)` of diffprivlib; a selection is fed its utilities."""
    mechanism = given[0]
    fed = given[1] if len(given) > 1 else named.get("value", getattr(mechanism, "utility", None))
    epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
    sensitivity = getattr(mechanism, "sensitivity", None)
    parameters = {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity, "shape": np.shape(result)}
    told = None if sensitivity is None else float(sensitivity)
    return Call("diffprivlib", type(mechanism).__name__, parameters, fed, result, told, declared(epsilon, delta))


def _measured(given: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> Call:
    """`measurement(arg)` of OpenDP."""
    measurement = given[0]
    fed = given[1] if len(given) > 1 else named.get("arg")
    name = str(measurement.input_metric)
    parameters = {
        "input_metric": name,
        "output_measure": str(measurement.output_measure),
        "shape": np.shape(result),
        "privacy": _probe(measurement),
    }
    return Call("opendp", "measurement", parameters, fed, result, None, partial(_mapped, measurement))


def _probe(measurement: Any) -> Any:
    """What the measurement says of distance 1: equal for equal measurements."""
    for unit in (1, 1.0):
        try:
            return measurement.map(unit)
        except Exception:  # the map takes whole numbers only, or no such distance
            continue
    return None


def _mapped(measurement: Any, fed0: Any, fed1: Any) -> Guarantee:
    distance = distance_in(str(measurement.input_metric), fed0, fed1)
    if not np.isfinite(distance):
        return EVERYTHING
    if distance == 0.0:
        return PureDP(0.0)
    try:
        loss = measurement.map(int(distance)) if float(distance).is_integer() else measurement.map(distance)
    except Exception:  # whole numbers are not taken
        loss = measurement.map(float(distance))
    return guarantee_of(str(measurement.output_measure), loss)


def guarantee_of(measure: str, loss: Any) -> Guarantee:
    """What a privacy map of OpenDP says, by its output measure; raises `AccountingError` for one that is not known."""
    if measure.startswith("Approximate") and isinstance(loss, tuple):
        return ApproximateDP(float(loss[0]), float(loss[1]))
    if measure.startswith("MaxDivergence"):
        return PureDP(float(loss))
    if measure.startswith("ZeroConcentrated"):
        return ConcentratedDP(float(loss))
    raise AccountingError(f"the output measure {measure} of an OpenDP measurement has no guarantee here.")


def distance_in(metric: str, fed0: Any, fed1: Any) -> float:
    """The distance of two inputs in the metric of a measurement."""
    for name, distance in METRICS.items():
        if metric.startswith(name):
            return distance(fed0, fed1)
    raise AccountingError(f"the distance of two inputs in the metric {metric} of OpenDP is not known here.")


def _symmetric(fed0: Any, fed1: Any) -> float:
    """Records of one multiset that are not in the other; the order does not count."""
    one, other = Counter(_records(fed0)), Counter(_records(fed1))
    return float(((one - other) + (other - one)).total())


def _insert_delete(fed0: Any, fed1: Any) -> float:
    """Insertions and deletions that lead from one sequence to the other; the order counts. (Myers 1986.)"""
    one, other = _records(fed0), _records(fed1)
    furthest = {1: 0}
    for distance in range(min(len(one) + len(other), MOST_EDITS) + 1):
        for line in range(-distance, distance + 1, 2):
            down = line == -distance or (line != distance and furthest[line - 1] < furthest[line + 1])
            i = furthest[line + 1] if down else furthest[line - 1] + 1
            while i < len(one) and i - line < len(other) and one[i] == other[i - line]:
                i += 1
            furthest[line] = i
            if i >= len(one) and i - line >= len(other):
                return float(distance)
    return float(len(one) + len(other))  # an upper bound


def _change_one(fed0: Any, fed1: Any) -> float:
    """Records of one multiset to change for the other of the same size; the order does not count."""
    return _symmetric(fed0, fed1) / 2.0 if len(fed0) == len(fed1) else float("inf")


def _hamming(fed0: Any, fed1: Any) -> float:
    """Places where two sequences of the same length differ."""
    if len(fed0) != len(fed1):
        return float("inf")
    return float(sum(one != other for one, other in zip(_records(fed0), _records(fed1), strict=True)))


def _records(fed: Any) -> list[Any]:
    """The records of a dataset, so that they can be compared and counted."""
    if not isinstance(fed, (list, tuple, np.ndarray)):
        raise AccountingError(
            f"the records of a {type(fed).__name__} cannot be counted, so that its distance is not known here. Give "
            "datasets as lists or arrays."
        )
    return [_record(one) for one in fed]


def _record(one: Any) -> Any:
    if isinstance(one, (list, tuple, np.ndarray)):
        return tuple(_record(part) for part in one)
    return "not a number" if isinstance(one, float) and one != one else one


def _norm(order: float, fed0: Any, fed1: Any) -> float:
    return float(np.linalg.norm(moved(fed0, fed1), order))


MOST_EDITS = 2_000
"""Insertions and deletions that are looked for."""
METRICS: dict[str, Callable[[Any, Any], float]] = {
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
