"""How a function wants to be called, by its parameters; and what people call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from ...errors import ParameterError
from ..labels import printable, shown

STYLES = ("one-run", "many-runs", "one-at-a-time", "own-randomness")
"""The third calls a function of many runs for one run at a time: `style_of` never finds it, first runs may."""


def style_of(function: Callable[..., Any]) -> str:
    """How `function` wants to be called: "one-run", "many-runs" or "own-randomness", by its parameters.

    Raises:
        ParameterError: the parameters do not show which.

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
        f"cannot tell how to call {shown(function)} from its parameters. Write it as release(dataset, rng), one run, "
        "or release(dataset, size, rng), many; or say which by FunctionMechanism(..., style=...), one of "
        f"{', '.join(STYLES)}. On the command line, wrap it in such a function of (dataset, rng)."
    )


GENERATORS = ("rng", "generator", "random_state", "seed")
OPTIONS = ("eps", "epsilon", "delta", "scale", "sigma", "sensitivity", "noise_multiplier")
DATASETS = ("dataset", "data", "d", "X", "x", "df", "records", "db", "database")


def _check_places(function: Callable[..., Any], names: list[str]) -> None:
    """Raises `ParameterError` for a parameter whose name says that it is not what stands in its place."""
    given = ("the dataset", "the rng") if len(names) < 3 else ("the dataset", "size", "the rng")
    wrong = [
        (place, name, what)
        for place, (name, what) in enumerate(zip(names, given, strict=False))
        if (name in (*GENERATORS, "size") and what == "the dataset")
        or (name in (*OPTIONS, *DATASETS) and what != "the dataset")
        or (name in GENERATORS and what == "size")
        or (name == "size" and what == "the rng")
    ]
    if wrong:
        place, name, what = wrong[0]
        raise ParameterError(
            f"parameter {place + 1} of {name_of(function)} is called {name!r}, but is given {what}: a function is "
            "called as release(dataset, rng) or release(dataset, size, rng). Rename it, change the order, or fix its "
            f"value: functools.partial({name_of(function)}, {name}=...)."
        )


def name_of(function: Callable[..., Any]) -> str:
    """What people call `function`; the arguments of a partial are shown.

    Example:
        >>> from functools import partial
        >>> name_of(partial(style_of, scale=0.1))
        'partial(style_of, scale=0.1)'
    """
    if isinstance(function, partial):
        given = [shown(value) for value in function.args]
        given += [f"{name}={shown(value)}" for name, value in function.keywords.items()]
        return f"partial({', '.join([name_of(function.func), *given])})"
    try:
        name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
        return printable(str(name or type(function).__qualname__))
    except Exception:  # a property of it that raises
        return printable(type.__getattribute__(type(function), "__qualname__"))
