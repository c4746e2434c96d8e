"""Code of the user in [mechanism] and [attack]: name = "module:object", for modules that the caller allows.

In [mechanism]:

    function(dataset, rng) or (dataset, size, rng)   a release; other parameters are options; needs [claim] and a pair
    subclass of Mechanism                            built with the options
    function without further parameters              called with the options; returns a Mechanism
    instance of Mechanism                            used as it is

In [attack]:

    function(outputs)                                a score for each run; other parameters are options
    subclass or instance of Attack                   as for mechanisms

A configuration names code and never runs it: only a module that `--allow` (`allow=` in Python) lists is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ....attacks.base import Attack
from ....mechanisms.adapters.functions.function import FunctionMechanism
from ....mechanisms.adapters.functions.guard import Guard, in_words
from ....mechanisms.core import Dataset, DpassayError, Guarantee, Mechanism, ParameterError
from ..sections import Named, NeighboursSection
from .neighbours import pair_of_function


def is_own(section: Named) -> bool:
    """Return whether a table names code of the user."""
    return ":" in section.name


def check_allowed(section: Named, allowed: Mapping[str, str]) -> str:
    """Return the target that a table names, such as "mine.py:release"; raise unless its module is allowed."""
    module, _, name = section.name.rpartition(":")
    if module in allowed:
        return f"{allowed[module]}:{name}"
    stem = module.removesuffix(".py").rpartition("/")[2]
    if module != stem and stem in allowed:
        raise ParameterError(
            f"name is {section.name!r}; an allowed file is named without folder and .py: '{stem}:{name}'.",
            argument="name",
        )
    file = f"{stem}.py" if "." not in stem else stem
    raise ParameterError(
        f"name {section.name!r} is code of your own, and a config alone runs none.\n"
        f"  To run it with your rights, allow its file: dpassay run CONFIG --allow {file}",
        argument="name",
    )


def build_own(
    section: Named, thing: Any, claim: Guarantee | None, neighbours: NeighboursSection, data: Dataset | None
) -> Mechanism:
    """Build the mechanism from the object that [mechanism] names.

    A release has its claim in [claim], and its pair in [neighbours] or [data].

    Raises:
        ParameterError: the object is no mechanism, its options do not fit, or a release has no claim or no pair.
    """
    options = section.options
    if isinstance(thing, Mechanism):
        if options:
            raise ParameterError(
                f"{section.name} is a mechanism already, so {', '.join(options)} cannot be set. Name its class.",
                argument=list(options),
            )
        return thing
    if not callable(thing):
        raise ParameterError(
            f"{section.name} must be a function or a mechanism, but is {type(thing).__name__}.", argument="name"
        )
    _check_options(thing, options, section.name)
    if isinstance(thing, type) or not _places(thing, options):
        return _built(thing, options, section.name)
    if claim is None:
        raise ParameterError(
            f"{section.name} is a function, which has no claim: add [claim] with a name, such as 'pure'.",
            argument="name",
        )
    pair = pair_of_function(neighbours, data, claim)
    function = partial(thing, **options) if options else thing
    return FunctionMechanism(function, claim=claim, neighbours=pair, records=np.ndim(pair.d1) > 0)


def build_own_attack(section: Named, thing: Any) -> Attack | Callable[..., Any]:
    """Build the attack from the object that [attack] names; raises `ParameterError` if it is none."""
    if callable(thing) and not isinstance(thing, Attack):
        _check_options(thing, section.options, section.name)
    return own_attack(thing, section.name, section.options)


def own_attack(thing: Any, name: str, options: Mapping[str, Any] | None = None) -> Attack | Callable[..., Any]:
    """Return an attack of the user: a function, with its options; an attack; or an instance of a class of attacks.

    Raises:
        ParameterError: the object is neither, or is an attack already and there are options.
    """
    if isinstance(thing, type) and issubclass(thing, Attack):
        return thing(**(options or {}))
    if isinstance(thing, Attack) and not options:
        return thing
    if callable(thing) and not isinstance(thing, (Attack, type)):
        return partial(thing, **options) if options else thing
    found = "an attack already, which takes no options" if isinstance(thing, Attack) else type(thing).__name__
    raise ParameterError(
        f"attack {name!r} must be a function score(outputs), with a number for each run, or an Attack, but is {found}.",
        argument=("attack", "name"),
    )


def _parameters(thing: Callable[..., Any], name: str) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} has no readable parameters: {error}. Wrap it in a function.") from error


def _check_options(thing: Callable[..., Any], options: Mapping[str, Any], name: str) -> None:
    """Raise `ParameterError` for options that are no parameters."""
    parameters = _parameters(thing, name)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for option in options:
        if option not in parameters:
            known = ", ".join(parameters) or "none"
            raise ParameterError(f"unknown option of {name}: {option!r}. Its parameters: {known}.", argument=option)


def _places(thing: Callable[..., Any], options: Mapping[str, Any]) -> list[str]:
    """Return the parameters without default that no option sets: none for a factory, dataset and rng for a release."""
    parameters = _parameters(thing, "function").items()
    named = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, p in parameters if p.default is p.empty and p.kind not in named and name not in options]


def _built(make: Callable[..., Any], options: Mapping[str, Any], name: str) -> Mechanism:
    """Return the mechanism that a class or a function makes from the options."""
    try:
        with Guard(name):
            made = make(**options)
    except DpassayError:
        raise
    except Exception as error:
        raise ParameterError(f"{name} raised {in_words(error)}. Its options: {dict(options)}.") from error
    if not isinstance(made, Mechanism):
        raise ParameterError(
            f"{name} made {type(made).__name__}, but code without dataset and rng must make a Mechanism. "
            "Write a release as release(dataset, rng).",
            argument="name",
        )
    return made


__all__ = ["build_own", "build_own_attack", "check_allowed", "is_own", "own_attack"]
