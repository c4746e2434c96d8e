"""Functions to audit: found by "package.module:object" or "file.py:object", with their calling style and name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core.errors import ParameterError, UnknownNameError
from .guard import Guard, in_words, printable, short_repr
from .source import cloudpickle

TARGET_FORMS = "'package.module:object' or 'path/to/file.py:object'"


def load_target(text: str, *, argument: str = "target") -> Any:
    """Return the object that `text` names, from an importable module or from a file.

    Modules are also searched in the current directory. A file is run as a separate module, under a name that shadows
    no other; functions from it can be sent to workers.

    Args:
        text: "package.module:object" or "path/to/file.py:object"; the object may be dotted, such as "Class.method".
        argument: name of the argument with this text, for messages.

    Raises:
        ParameterError: `text` has another form, a file or module is missing, or a module raises when it is run.
        UnknownNameError: the module has no such object.

    Example:
        >>> load_target("math:sqrt")(9)
        3.0
    """
    found, module = find_target(text, argument=argument)
    if text.rpartition(":")[0].endswith(".py"):
        cloudpickle().register_pickle_by_value(module)  # workers cannot import the module by its name
    return found


def find_target(text: str, *, argument: str = "target") -> tuple[Any, ModuleType]:
    """Return the object that `text` names, and its module; see `load_target`."""
    location, colon, name = text.rpartition(":")
    if not colon or not location or not name:
        advice = f" Add the name of the function, as in '{text}:release'." if text.endswith(".py") else ""
        raise ParameterError(f"{argument} must be {TARGET_FORMS}, but is {text!r}.{advice}", argument=argument)
    with Guard(location):
        module = _from_file(Path(location), argument) if location.endswith(".py") else _from_name(location, argument)
    target: Any = module
    for part in name.split("."):
        if not hasattr(target, part):
            public = [n for n in vars(target) if not n.startswith("_")] if hasattr(target, "__dict__") else []
            raise UnknownNameError(f"object of {location}", part, public)
        target = getattr(target, part)
    return target, module


def _from_file(path: Path, argument: str) -> ModuleType:
    if not path.is_file():
        raise ParameterError(
            f"{argument} names the file {str(path)!r}, which does not exist in {str(Path.cwd())!r}.", argument=argument
        )
    name = f"dpassay_target_{path.stem}"
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise ParameterError(
            f"{argument} names the file {str(path)!r}, which cannot be read as Python.", argument=argument
        )
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        raise ParameterError(
            f"running {str(path)!r} raised {in_words(error)}. Fix the file.", argument=argument
        ) from error
    return module


def _from_name(name: str, argument: str) -> ModuleType:
    current_directory = str(Path.cwd())
    if current_directory not in sys.path:
        sys.path.insert(0, current_directory)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ParameterError(
                f"{argument} names the module {name!r}, but there is no {error.name!r}. Give {TARGET_FORMS}; for a "
                "user module, run from the directory that holds it.",
                argument=argument,
            ) from error
        raise ParameterError(
            f"importing {name!r} failed: {error}. Install what it needs.", argument=argument
        ) from error
    except BaseException as error:
        raise ParameterError(
            f"importing {name!r} raised {in_words(error)}. Fix the module.", argument=argument
        ) from error


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
        f"cannot determine how to call {_signature(function, parameters)} from its parameters. Write it as "
        "release(dataset, rng) for one run, or release(dataset, size, rng) for many; or set FunctionMechanism(..., "
        f"style=...) to one of {', '.join(STYLES)}. On the command line, wrap it in such a function of (dataset, rng)."
    )


def _signature(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> str:
    """Return a function with its parameters, such as "release(a, b, c, d)"; another object by its `repr`."""
    if not inspect.isfunction(function):
        return short_repr(function)
    return f"{function.__name__}({', '.join(p.name for p in parameters)})"


GENERATOR_NAMES = ("rng", "generator", "random_state", "seed")
OPTION_NAMES = ("eps", "epsilon", "delta", "scale", "sigma", "sensitivity", "noise_multiplier")
DATASET_NAMES = ("dataset", "data", "d", "X", "x", "df", "records", "db", "database")


def _check_places(function: Callable[..., Any], names: list[str]) -> None:
    """Raise `ParameterError` if the name of a parameter contradicts its position."""
    expected = ("the dataset", "the rng") if len(names) < 3 else ("the dataset", "size", "the rng")
    mismatches = [
        (position, name, argument)
        for position, (name, argument) in enumerate(zip(names, expected, strict=False))
        if (name in (*GENERATOR_NAMES, "size") and argument == "the dataset")
        or (name in (*OPTION_NAMES, *DATASET_NAMES) and argument != "the dataset")
        or (name in GENERATOR_NAMES and argument == "size")
        or (name == "size" and argument == "the rng")
    ]
    if mismatches:
        position, name, argument = mismatches[0]
        raise ParameterError(
            f"parameter {position + 1} of {name_of(function)} is called {name!r}, but is given {argument}: a function "
            "is called as release(dataset, rng) or release(dataset, size, rng). Rename it, change the order, or fix "
            f"its value: functools.partial({name_of(function)}, {name}=...)."
        )


def name_of(function: Callable[..., Any]) -> str:
    """Return the display name of `function`; the arguments of a partial are included.

    Example:
        >>> from functools import partial
        >>> name_of(partial(style_of, scale=0.1))
        'partial(style_of, scale=0.1)'
    """
    if isinstance(function, partial):
        arguments = [short_repr(value) for value in function.args]
        arguments += [f"{name}={short_repr(value)}" for name, value in function.keywords.items()]
        return f"partial({', '.join([name_of(function.func), *arguments])})"
    try:
        name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
        return printable(str(name or type(function).__qualname__))
    except Exception:  # a property of it that raises
        return printable(type.__getattribute__(type(function), "__qualname__"))
