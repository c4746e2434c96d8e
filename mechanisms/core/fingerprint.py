"""Fingerprints: a description of an object that changes with its behaviour, and the digest of this description."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np


class DescribedElsewhere(ABC):
    """Object whose description another process makes, which has its code."""

    @property
    @abstractmethod
    def description(self) -> Any:
        """What `describe` returns for the object in that process."""


def describe(thing: Any) -> Any:
    """Return a JSON-ready description that changes whenever the behaviour of `thing` may have changed.

    Numbers, strings and containers are kept as they are. Arrays and tables are described by a digest of their bytes,
    dataclasses and other objects by their class and fields, functions by a digest of their code, defaults, closure and
    the globals that they read, recursively. Installed packages are described by their names: their versions are
    recorded with the environment. An object whose contents cannot be read, such as an open file, is
    {"opaque": its class}; see `opaque`.
    """
    return _Describer().describe(thing)


def opaque(description: Any) -> list[str]:
    """Return the classes of the objects inside a description that could not be described."""
    if isinstance(description, dict):
        own = [description["opaque"]] if "opaque" in description else []
        return own + [name for value in description.values() for name in opaque(value)]
    if isinstance(description, list):
        return [name for value in description for name in opaque(value)]
    return []


def fingerprint(description: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a description."""
    return _digest(json.dumps(description, sort_keys=True, separators=(",", ":")).encode())


def identity(thing: Any) -> str:
    """Return a digest that is equal for two objects if and only if their contents are, to the last digit."""
    return fingerprint(describe(thing))


def same_fields(first: Any, second: Any) -> bool:
    """Return True if two dataclasses have the same class and equal fields, some of which may be arrays."""
    if type(first) is not type(second):
        return False
    pairs = [(getattr(first, field.name), getattr(second, field.name)) for field in fields(first)]
    return all(
        np.array_equal(np.asarray(value0, dtype=object), np.asarray(value1, dtype=object))
        if isinstance(value0, np.ndarray) or isinstance(value1, np.ndarray)
        else bool(value0 == value1)
        for value0, value1 in pairs
    )


def _path(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


class _Describer:
    """Describer of one object; functions and classes, which may refer to each other, are digested once each."""

    def __init__(self) -> None:
        self._digests: dict[int, str] = {}
        self._open: set[int] = set()
        self._alive: list[Any] = []  # references that keep the ids in use, so that no id is used twice
        self._in_globals = False

    def describe(self, thing: Any) -> Any:
        """Return the description of `thing`; an object inside itself is only marked as a repetition."""
        if isinstance(thing, Enum):
            return self.describe(thing.value)
        if isinstance(thing, float):
            return thing if math.isfinite(thing) else str(thing)
        if thing is None or isinstance(thing, (bool, int, str)):
            return thing
        if isinstance(thing, (complex, bytes, bytearray, range, slice)):
            return {"value": repr(thing)}
        if isinstance(thing, np.generic):
            return self.describe(thing.item())
        if isinstance(thing, np.ndarray):
            mask = {"mask": self.describe(np.ma.getmaskarray(thing))} if isinstance(thing, np.ma.MaskedArray) else {}
            return {"array": list(thing.shape), "dtype": str(thing.dtype), "sha256": self._array(thing), **mask}
        if isinstance(thing, np.ufunc):  # a ufunc of numpy, or one made from a function that it does not expose
            from_numpy = getattr(np, thing.__name__, None) is thing
            return {"name": thing.__name__} if from_numpy else {"opaque": f"ufunc {thing.__name__}"}
        if isinstance(thing, ModuleType):
            return {"name": thing.__name__}
        if id(thing) in self._open:
            return {"again": type(thing).__name__}
        self._open.add(id(thing))
        self._alive.append(thing)
        try:
            return self._composite(thing)
        finally:
            self._open.remove(id(thing))

    def _composite(self, thing: Any) -> Any:
        """Return the description of an object made of other objects."""
        if isinstance(thing, DescribedElsewhere):
            return thing.description
        if isinstance(thing, Mapping):
            if all(isinstance(key, str) for key in thing):
                return {key: self.describe(value) for key, value in thing.items()}
            return {"mapping": [[self.describe(key), self.describe(value)] for key, value in thing.items()]}
        if isinstance(thing, (list, tuple, deque)):
            return [self.describe(value) for value in thing]
        if isinstance(thing, (set, frozenset)):
            return {"set": sorted(json.dumps(self.describe(item), sort_keys=True) for item in thing)}
        if isinstance(thing, BuiltinFunctionType):  # a function of a module, or a bound method
            owner = thing.__self__
            own = {} if owner is None or isinstance(owner, ModuleType) else {"self": self.describe(owner)}
            return {"name": thing.__name__, "module": thing.__module__, **own}
        if isinstance(thing, partial):
            return {"partial": [self.describe(part) for part in (thing.func, thing.args, dict(thing.keywords))]}
        if isinstance(thing, MethodType):
            return {"method": [self.describe(thing.__self__), self.describe(thing.__func__)]}
        if isinstance(thing, (FunctionType, type)):
            return {"code": _path(thing), "sha256": self._code_digest(thing)}
        if hasattr(thing, "to_numpy") and hasattr(thing, "index"):
            columns = list(thing.items()) if hasattr(thing, "columns") else [("values", thing)]
            inside = [[self.describe(name), self._column(column)] for name, column in columns]
            return {"table": list(thing.shape), "columns": inside, "index": self.describe(np.asarray(thing.index))}
        return self._instance(thing)

    def _column(self, column: Any) -> Any:
        """Return the description of a table column: its values and, for categorical data, all its categories."""
        categories = getattr(getattr(column, "dtype", None), "categories", None)
        values = self.describe(np.asarray(column))
        return values if categories is None else [values, self.describe(np.asarray(categories))]

    def _instance(self, thing: Any) -> Any:
        """Return the description of an object: its class and its fields."""
        cls = type(thing)
        if is_dataclass(thing):
            contents = {field.name: getattr(thing, field.name) for field in fields(thing) if hasattr(thing, field.name)}
        elif self._in_globals and _is_installed(cls.__module__):
            return {"class": _path(cls)}
        elif any(isinstance(value, FunctionType) for base in cls.__mro__ for value in vars(base).values()):
            slots = [name for base in cls.__mro__ for name in _names(getattr(base, "__slots__", ()))]
            names = [*getattr(thing, "__dict__", {}), *slots]
            contents = {name: getattr(thing, name) for name in names if hasattr(thing, name)}
        else:
            try:  # the contents of a class that is not written in Python are read from its pickled state
                contents = {"state": list(thing.__reduce_ex__(4)[1:3])}
            except Exception:  # most raise a TypeError, some anything
                return {"opaque": _path(cls)}
        code = {} if _is_installed(cls.__module__) else {"sha256": self._code_digest(cls)}
        return {"class": _path(cls), **code, **{name: self.describe(value) for name, value in contents.items()}}

    def _code_digest(self, thing: FunctionType | type) -> str:
        """Return the digest of a function, or of the methods of a class; "installed" for installed packages."""
        if _is_installed(thing.__module__) and (isinstance(thing, type) or "<locals>" not in thing.__qualname__):
            return "installed"
        if id(thing) not in self._digests:
            self._digests[id(thing)] = "being described"
            inside = self._methods(thing) if isinstance(thing, type) else self._function(thing)
            self._digests[id(thing)] = _digest(json.dumps(inside, sort_keys=True).encode())
        return self._digests[id(thing)]

    def _methods(self, cls: type) -> dict[str, Any]:
        """Return descriptions of the methods of a class and of its bases, except those of installed packages."""
        methods = {}
        for base in cls.__mro__:
            if not _is_installed(base.__module__):
                for name, value in sorted(vars(base).items()):
                    function = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
                    if isinstance(function, FunctionType):
                        methods[f"{base.__qualname__}.{name}"] = self._function(function)
        return methods

    def _function(self, function: FunctionType) -> dict[str, Any]:
        """Return the code, defaults, closure, and the globals that a function reads."""
        described: dict[str, Any] = {
            "code": _code(function.__code__),
            "defaults": self.describe(function.__defaults__),
            "keywords": self.describe(function.__kwdefaults__),
            "closure": [self.describe(_content(cell)) for cell in function.__closure__ or ()],
        }
        outer, self._in_globals = self._in_globals, True
        read = sorted(_names_read(function.__code__) & function.__globals__.keys())
        described["globals"] = {name: self.describe(function.__globals__[name]) for name in read}
        self._in_globals = outer
        return described

    def _array(self, array: np.ndarray[Any, Any]) -> str:
        if array.dtype.hasobject:
            return _digest(json.dumps(self.describe(array.tolist())).encode())
        return _digest(np.ascontiguousarray(array).tobytes())


def _content(cell: CellType) -> Any:
    """Return the content of a closure's cell; None if the cell is still empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _names(slots: str | Iterable[str]) -> list[str]:
    return [slots] if isinstance(slots, str) else list(slots)


def _is_installed(module: str | None) -> bool:
    """Return True for modules of Python and of installed packages, dpassay included, whose versions are recorded."""
    top = (module or "").partition(".")[0]
    if top == "dpassay" or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _names_read(code: CodeType) -> set[str]:
    """Return the names that a function looks up, including those of nested functions."""
    inside = [_names_read(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inside)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _code(code: CodeType) -> list[Any]:
    """Return the byte code, names and constants of a function, including nested functions, without line numbers."""
    inside = [_code(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts]
    return [_digest(code.co_code), list(code.co_names), inside]


def _constant(value: Any) -> str:
    """Return a constant of a function as text; sets are sorted."""
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)
