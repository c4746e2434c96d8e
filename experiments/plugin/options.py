"""Options of a check: their names, merged from marks and call, and as arguments of `audit`."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ...mechanisms.core import ParameterError

OPTIONS = {
    "epsilon": "the claimed epsilon; with delta > 0 the claim is (epsilon, delta)-DP",
    "delta": "the delta of the claim, at which it is tested",
    "claim": "a guarantee, such as GaussianDP(mu=1), instead of epsilon",
    "d0": "the dataset without the record",
    "d1": "the dataset with the record",
    "relation": "how d0 and d1 differ: 'add_remove', 'replace_one' or 'zero_out'",
    "neighbours": "a Neighbours, instead of d0, d1 and relation",
    "trials": "runs per side, pilot trials included",
    "attack": "name of an attack, or an attack",
    "bound": "name of a bound, or a bound, or a list of them",
    "stop": "'anytime', to stop as soon as the claim is refuted; None, to run all trials",
    "stress": "True, to audit data that break things, made from the example dataset d0, instead of one pair",
    "bounds": "with stress: the documented bounds, or categories",
    "without": "with stress: kinds of data to leave out, such as ['nan']",
    "minutes": "time after which no further trials are run, with a bound that holds at every number of trials",
    "history": "file of a history of builds, to which this check adds its evidence against the same claim",
}
ALTERNATIVES = (({"claim"}, {"epsilon"}), ({"neighbours"}, {"d0", "d1", "relation"}))


def _refused(message: str, *arguments: str) -> ParameterError:
    from ...mechanisms.core import ParameterError

    return ParameterError(message, argument=arguments)


def marked(item: pytest.Item) -> list[Mapping[str, Any]]:
    """Return the options of the dp marks on this test, those of the module first, those of the function last."""
    marks = list(item.iter_markers("dp"))[::-1]
    for mark in marks:
        check_named("pytest.mark.dp", mark.args)
    return [mark.kwargs for mark in marks]


def check_named(accepting: str, positional: tuple[Any, ...]) -> None:
    """Raise `ParameterError` if options are given without their names."""
    if positional:
        got = reprlib.repr(positional)
        raise _refused(
            f"{accepting} accepts options by name only, but got {got}. Known: {', '.join(OPTIONS)}.", accepting
        )


def merge(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the options of all sources; later ones override, and `neighbours` also overrides d0, d1, relation."""
    merged: dict[str, Any] = {}
    for source in sources:
        _check_names(source)
        for one, other in (*ALTERNATIVES, *(pair[::-1] for pair in ALTERNATIVES)):
            if not one.isdisjoint(source):
                if not other.isdisjoint(source):
                    both = f"{' and '.join(sorted(one))} or {' and '.join(sorted(other))}"
                    raise _refused(
                        f"pass either {both}, not both.", *sorted(one & source.keys()), *sorted(other & source.keys())
                    )
                merged = {name: value for name, value in merged.items() if name not in other}
        merged |= source
    return merged


def _check_names(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OPTIONS:
            from ...mechanisms.core import unknown_name_message

            raise _refused(unknown_name_message("option of a privacy check:", name, OPTIONS), name)


def audit_arguments(mechanism: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `dpassay.audit.audit`: epsilon becomes a claim, d0 and d1 become neighbours."""
    from ...mechanisms.accounting import ApproximateDP, PureDP
    from ...mechanisms.core import Neighbours

    arguments = dict(options)
    if "epsilon" in arguments:
        epsilon, delta = arguments.pop("epsilon"), arguments.get("delta")
        arguments["claim"] = ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    if arguments.pop("stress", False):
        return _stress_arguments(arguments)
    for name in ("bounds", "without"):
        if name in arguments:
            raise _refused(f"{name} is for stress=True: add it, or leave {name} out.", name)
    d0, d1, relation = (arguments.pop(name, None) for name in ("d0", "d1", "relation"))
    if ("d0" in options) != ("d1" in options):
        raise _refused("a pair needs both d0 and d1, but only one of them is set.", "d0", "d1")
    if "d0" in options:
        relation = relation or getattr(mechanism, "relation", None)
        if relation is None:
            raise _refused(f"relation is missing; it states {OPTIONS['relation']}.", "relation")
        arguments["neighbours"] = Neighbours(d0, d1, relation)
    return arguments


def _stress_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `dpassay.audit.stress`: d0 becomes the example."""
    for name in ("d1", "neighbours", "stop", "minutes", "history"):
        if arguments.get(name) is not None:
            raise _refused(f"stress=True makes the pairs: give one example dataset, d0, and no {name}.", name)
        arguments.pop(name, None)
    if "d0" in arguments:
        arguments["example"] = arguments.pop("d0")
    return arguments
