"""Objects found by "package.module:object" or "file.py:object"."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core.errors import ParameterError, UnknownNameError
from .fresh_runs import cloudpickle
from .guard import Guard
from .labels import in_words

FORMS = "'package.module:object' or 'path/to/file.py:object'"


def load_target(text: str) -> Any:
    """Return the object that `text` names, from an importable module or from a file.

    Modules are also searched in the current directory. A file is run as a separate module, under a name that shadows
    no other; functions from it can be sent to workers.

    Args:
        text: "package.module:object" or "path/to/file.py:object"; the object may be dotted, such as "Class.method".

    Raises:
        ParameterError: `text` has another form, a file or module is missing, or a module raises when it is run.
        UnknownNameError: the module has no such object.

    Example:
        >>> load_target("math:sqrt")(9)
        3.0
    """
    location, colon, name = text.rpartition(":")
    if not colon or not location or not name:
        raise ParameterError(f"target must be {FORMS}, but is {text!r}.", argument="target")
    with Guard(location):
        module = _from_file(Path(location)) if location.endswith(".py") else _from_name(location)
    target: Any = module
    for part in name.split("."):
        if not hasattr(target, part):
            public = [n for n in vars(target) if not n.startswith("_")] if hasattr(target, "__dict__") else []
            raise UnknownNameError(f"object of {location}", part, public)
        target = getattr(target, part)
    return target


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ParameterError(
            f"target names the file {str(path)!r}, which does not exist in {str(Path.cwd())!r}.", argument="target"
        )
    name = f"dpassay_target_{path.stem}"
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise ParameterError(f"target names the file {str(path)!r}, which cannot be read as Python.", argument="target")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        raise ParameterError(
            f"running {str(path)!r} raised {in_words(error)}. Fix the file.", argument="target"
        ) from error
    _pickle_by_value(module)
    return module


def _from_name(name: str) -> ModuleType:
    current_directory = str(Path.cwd())
    if current_directory not in sys.path:
        sys.path.insert(0, current_directory)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ParameterError(
                f"target names the module {name!r}, but there is no {error.name!r}. Give {FORMS}; for a user module, "
                "run from the directory that holds it.",
                argument="target",
            ) from error
        raise ParameterError(
            f"importing {name!r} failed: {error}. Install what it needs.", argument="target"
        ) from error
    except BaseException as error:
        raise ParameterError(
            f"importing {name!r} raised {in_words(error)}. Fix the module.", argument="target"
        ) from error


def _pickle_by_value(module: ModuleType) -> None:
    """Let workers, which cannot import `module` by its name, receive functions of it."""
    cloudpickle().register_pickle_by_value(module)
