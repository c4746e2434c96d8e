"""Calling style of a function, found from its parameters; and its display name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from ...core.errors import ParameterError
from .labels import printable, shown

STYLES = ("one-run", "many-runs", "one-at-a-time", "own-randomness")
"""Calling styles; only the first runs can select the third (many runs, one per call), `style_of` never does."""


def style_of(function: Callable[..., Any]) -> str:
    """Return the calling style of `function` by its parameters: "one-run", "many-runs" or "own-randomness".

    Raises:
        ParameterError: the parameters do not determine the style.

    Example:
        >>> style_of(lambda dataset, rng: 0), style_of(lambda dataset, size, rng: 0), style_of(lambda dataset: 0)
        ('one-run', 'many-runs', 'own-randomness')
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except Exception:  # also what a hostile __signature__ raises
        parameters = []
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in by_position if p.default is p.empty]
    forced = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    second = by_position[1].name if len(by_position) > 1 else ""
    _check_places(function, [p.name for p in required])
    if not forced:
        if len(required) == 3 or (len(by_position) >= 3 and second == "size"):
            return "many-runs"
        if second != "size" and (len(required) == 2 or second in ("rng", "generator")):
            return "one-run"
        if len(required) == 1:
            return "own-randomness"
    raise ParameterError(
        f"cannot determine how to call {shown(function)} from its parameters. Write it as release(dataset, rng) for "
        "one run, or release(dataset, size, rng) for many; or set FunctionMechanism(..., style=...) to one of "
        f"{', '.join(STYLES)}. On the command line, wrap it in such a function of (dataset, rng)."
    )


GENERATORS = ("rng", "generator", "random_state", "seed")
OPTIONS = ("eps", "epsilon", "delta", "scale", "sigma", "sensitivity", "noise_multiplier")
DATASETS = ("dataset", "data", "d", "X", "x", "df", "records", "db", "database")


def _check_places(function: Callable[..., Any], names: list[str]) -> None:
    """Raise `ParameterError` if the name of a parameter contradicts its position."""
    expected = ("the dataset", "the rng") if len(names) < 3 else ("the dataset", "size", "the rng")
    mismatches = [
        (place, name, argument)
        for place, (name, argument) in enumerate(zip(names, expected, strict=False))
        if (name in (*GENERATORS, "size") and argument == "the dataset")
        or (name in (*OPTIONS, *DATASETS) and argument != "the dataset")
        or (name in GENERATORS and argument == "size")
        or (name == "size" and argument == "the rng")
    ]
    if mismatches:
        place, name, argument = mismatches[0]
        raise ParameterError(
            f"parameter {place + 1} of {name_of(function)} is called {name!r}, but is given {argument}: a function is "
            "called as release(dataset, rng) or release(dataset, size, rng). Rename it, change the order, or fix its "
            f"value: functools.partial({name_of(function)}, {name}=...)."
        )


def name_of(function: Callable[..., Any]) -> str:
    """Return the display name of `function`; the arguments of a partial are included.

    Example:
        >>> from functools import partial
        >>> name_of(partial(style_of, scale=0.1))
        'partial(style_of, scale=0.1)'
    """
    if isinstance(function, partial):
        arguments = [shown(value) for value in function.args]
        arguments += [f"{name}={shown(value)}" for name, value in function.keywords.items()]
        return f"partial({', '.join([name_of(function.func), *arguments])})"
    try:
        name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
        return printable(str(name or type(function).__qualname__))
    except Exception:  # a property of it that raises
        return printable(type.__getattribute__(type(function), "__qualname__"))
