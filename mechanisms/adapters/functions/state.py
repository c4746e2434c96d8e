"""State that audited code may change: that of the process, and the contents of its dataset.

    ProcessState      state of the process: read before a call, compared and restored afterwards
    content_digest    digest of a dataset, which reveals a function that changes it

The state of the process is of two kinds: `STATE_NAMES`, each with functions that read and restore it, and the names of
the modules in `WATCHED_MODULES`, such as `numpy.sum` or `builtins.open`. Names are restored first, by code that looks
up none of them.
"""

from __future__ import annotations

import locale
import os
import random
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from types import ModuleType
from typing import Any

import numpy as np

from ...core.tensors import random_states, set_random_states

WATCHED_MODULES = (
    *(
        "builtins",
        "sys",
        "time",
        "math",
        "os",
        "io",
        "json",
        "copy",
        "copyreg",
        "random",
        "hashlib",
        "pickle",
        "struct",
    ),
    *("threading", "signal", "itertools", "functools", "collections", "contextlib", "dataclasses", "re", "warnings"),
    *("tempfile", "shutil", "pathlib", "zipfile", "importlib", "inspect", "weakref", "operator"),
    *("numpy", "numpy.random", "numpy.linalg", "numpy.ma", "numpy.lib.format", "pandas", "joblib"),
    *("scipy.special", "scipy.stats", "scipy.optimize", "scipy.linalg"),
)
"""Modules whose functions the library calls after audited code has run."""
RESTORED_PACKAGES = frozenset(
    {*sys.stdlib_module_names, "dpassay", "dpassay_isolated", "numpy", "scipy", "pandas", "sklearn", "joblib"}
)
"""Packages whose entries in `sys.modules` are restored: those that the library imports later."""
_NOT_WATCHED = frozenset({"stdin", "stdout", "stderr", "excepthook", "displayhook", "unraisablehook", "breakpointhook"})
_DATA_NAMES = frozenset({"float_info", "int_info", "maxsize", "modules", "meta_path", "path_hooks", "environ"})
_MAX_NAMES_SHOWN = 5
_Missing = object()
_callable, _isinstance, _float, _Anything = callable, isinstance, float, BaseException


def _same(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Return True if nothing was changed or added; a fast test, which compares by identity if possible."""
    try:
        return now == before
    except _Anything:  # raised by a value that audited code put there
        return False


class ModuleNames:
    """Objects behind the names of the watched modules at one moment, and the imported modules."""

    def __init__(self) -> None:
        self._modules = sys.modules
        self._imported = dict(sys.modules)
        watched = [(name, sys.modules[name]) for name in WATCHED_MODULES if name in sys.modules]
        self._saved = [(name, vars(module), dict(vars(module))) for name, module in watched]

    @classmethod
    def now(cls) -> ModuleNames:
        """Return the present state; the last object if nothing has changed since."""
        if not _last or not _last[0]._hold():
            _last[:] = [cls()]
        return _last[0]

    def _hold(self) -> bool:
        watched = all(_same(vars(sys.modules[name]), before) for name, _, before in self._saved if name in sys.modules)
        return watched and sys.modules is self._modules and _same(sys.modules, self._imported)

    def put_back(self) -> list[str]:
        """Restore every function, class, module or number that was replaced or removed; return their names.

        Additions stay: modules are imported, and packages add attributes to themselves.
        """
        changed = []
        for name, now, before in self._saved:
            if _same(now, before):
                continue
            get = now.get
            for key in [key for key, value in before.items() if get(key, _Missing) is not value]:
                if self._is_fixed(name, key, before[key]):
                    now[key] = before[key]
                    changed += [f"{name}.{key}"]
        if _same(self._modules, self._imported):
            return changed
        there = self._modules.get
        for name in [name for name, module in self._imported.items() if there(name, _Missing) is not module]:
            if name.partition(".")[0] in RESTORED_PACKAGES:
                self._modules[name] = self._imported[name]
                changed += [f"sys.modules[{name!r}]"]
        return changed

    @staticmethod
    def _is_fixed(module: str, key: str, value: Any) -> bool:
        """Return True if only a patch replaces the value: a function, a class, a module, a constant."""
        if key in _NOT_WATCHED or (key[0] == "_" and module != "builtins") or key == "_":
            return False
        return key in _DATA_NAMES or _callable(value) or _isinstance(value, (ModuleType, _float))


_last: list[ModuleNames] = []
PYTHON_RANDOM_STATE = "global random state of Python (random)"
"""Display name of a state from which Dask also draws, in other threads of its workers."""


@dataclass(frozen=True)
class StateAspect:
    """One property of the whole process.

    Args:
        name: display name.
        read: function that returns the present value.
        restore: function that restores a value.
        same: function that compares two values.
    """

    name: str
    read: Callable[[], Any]
    restore: Callable[[Any], object]
    same: Callable[[Any, Any], bool] = lambda before, now: bool(before == now)


def _directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a string, at every chunk
    except OSError:  # it was removed
        return None


def _to_directory(path: str | None) -> None:
    if path is not None:
        os.chdir(path)


def _set_environment(saved: dict[str, str]) -> None:
    for name in os.environ.keys() - saved.keys():
        del os.environ[name]
    os.environ.update(saved)


def _filters() -> list[Any]:
    return list(warnings.filters)


def _set_filters(saved: list[Any]) -> None:
    warnings.simplefilter("default")  # only to reset Python's record of the filters applied so far
    warnings.filters[:] = saved  # type: ignore[index]


def _same_array_state(before: Any, now: Any) -> bool:
    return bool(before[0] == now[0] and before[2:] == now[2:] and np.array_equal(before[1], now[1]))


def _timer() -> bool:
    return hasattr(signal, "getitimer") and signal.getitimer(signal.ITIMER_REAL)[0] > 0.0


def _stop_timer(ran: bool) -> None:
    if not ran:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _streams() -> tuple[Any, Any, Any]:
    return sys.stdin, sys.stdout, sys.stderr


def _set_streams(saved: tuple[Any, Any, Any]) -> None:
    sys.stdin, sys.stdout, sys.stderr = saved


def _same_torch(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return True if the states are equal, apart from those of generators that came into use in between."""
    return all(bool((state == now[name]).all()) for name, state in before.items())


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


STATE_NAMES = (
    StateAspect("working directory", _directory, _to_directory),
    StateAspect("environment variables", os.environ.copy, _set_environment),
    StateAspect("error state of numpy (np.seterr)", np.geterr, lambda saved: np.seterr(**saved)),
    StateAspect("print options of numpy", np.get_printoptions, lambda saved: np.set_printoptions(**saved)),
    StateAspect("warnings filters", _filters, _set_filters),
    StateAspect(
        "standard streams (sys.stdout)", _streams, _set_streams, lambda a, b: all(map(lambda x, y: x is y, a, b))
    ),
    StateAspect("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    StateAspect("locale", _locale, lambda saved: locale.setlocale(locale.LC_ALL, saved)),
    StateAspect("alarm timer", _timer, _stop_timer, lambda ran, runs: ran or not runs),
    StateAspect(
        "global random state of numpy (np.random)", np.random.get_state, np.random.set_state, _same_array_state
    ),
    StateAspect(PYTHON_RANDOM_STATE, random.getstate, random.setstate),
    StateAspect("global random state of torch", random_states, set_random_states, _same_torch),
)
"""Properties of the process, in the order in which they are named."""
_COPIES = ("dpassay.mechanisms.adapters.functions.state", "dpassay_isolated.adapters.functions.state")
"""Names of this module, which an isolated process has twice if its code imports the library."""
N_RANDOM = 3
"""Number of the last ones, which are random states."""


_COMPILED: dict[str, Callable[[int], None]] = {}


def seed_all(seed: int) -> None:
    """Seed the global random states of Python and numpy, and of torch and numba where they are imported."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - this is what audited code may draw from
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed % 2**32)
    if hasattr(sys.modules.get("numba"), "njit"):  # False while it is being imported
        if "numba" not in _COMPILED:
            _COMPILED["numba"] = sys.modules["numba"].njit(_seed_compiled)
        _COMPILED["numba"](seed % 2**32)


def _seed_compiled(seed: int) -> None:
    """Seed the random state of compiled functions, which is another one than that of numpy; to be compiled."""
    np.random.seed(seed)  # noqa: NPY002


class ProcessState:
    """State of the process at one moment; then the global random states start from `seed`, if there is one."""

    seeded_by_code = False
    """True if audited code has called `seed_everything` since: its draws from global states repeat with its rng."""

    def __init__(self, seed: int | None = None) -> None:
        ProcessState.seeded_by_code = False
        self._modules = len(sys.modules)
        self.names = ModuleNames.now()
        self._renamed: list[str] = []
        self._saved = [aspect.read() for aspect in STATE_NAMES]
        self._started = self._saved
        if seed is not None:
            seed_all(seed)
            self._started = [*self._saved[:-N_RANDOM], *(aspect.read() for aspect in STATE_NAMES[-N_RANDOM:])]

    def put_back_names(self) -> tuple[str, ...]:
        """Restore the names of the watched modules; return those that were changed, at most the first few."""
        self._renamed += [name for name in self.names.put_back() if name not in self._renamed]
        more = len(self._renamed) - _MAX_NAMES_SHOWN
        return (*self._renamed[:_MAX_NAMES_SHOWN], *([f"{more} other functions"] if more > 0 else []))

    def restore(self) -> tuple[str, ...]:
        """Restore everything that has changed since, and return its names.

        Nothing is named if modules were imported in between: importing changes several properties, once per process.
        """
        changed = [*self.put_back_names()]
        for aspect, saved, started in zip(STATE_NAMES, self._saved, self._started, strict=True):
            same = aspect.same(started, aspect.read())
            if not same and not (ProcessState.seeded_by_code and aspect in STATE_NAMES[-N_RANDOM:]):
                changed.append(aspect.name)
            if not same or started is not saved:
                with suppress(OSError, ValueError, TypeError, locale.Error):  # such as a directory that is gone
                    aspect.restore(saved)
        imported = len(sys.modules) != self._modules
        return () if imported else tuple(changed)


def seed_everything(rng: np.random.Generator) -> None:
    """Seed every global random state from `rng`, for code that takes no generator, and so repeat its runs.

    These are the states of Python, of numpy, and, where they are imported, of PyTorch (processor and GPU) and of
    functions that numba has compiled (of the calling thread). An audit of a function of the dataset alone does this
    before each call of many runs. Noise of the operating system, of other languages and of generators that the code
    keeps is not reached.

    Args:
        rng: the generator of the run; one number is drawn from it.

    Example:
        >>> def release(dataset, rng):
        ...     seed_everything(rng)
        ...     return sum(dataset) + np.random.laplace()  # a library that draws from the global state
        >>> release([1.0], np.random.default_rng(0)) == release([1.0], np.random.default_rng(0))
        True
    """
    seed_all(int(rng.integers(2**32)))
    for module in [sys.modules[name] for name in _COPIES if name in sys.modules]:
        module.ProcessState.seeded_by_code = True


MAX_CHECKED_ENTRIES = 100_000
"""Largest dataset, in numbers, that is checked in every release; larger ones are checked in the first runs only."""


def content_digest(dataset: Any) -> bytes:
    """Return a digest of the contents: of numbers, texts, arrays, tables, and lists, tuples, sets and dicts of these.

    Other objects contribute only their type: their attributes may change for good reasons, such as a cache.

    Example:
        >>> content_digest([1, 2]) == content_digest([1, 2]), content_digest([1, 2]) == content_digest([2, 1])
        (True, False)
    """
    digest = blake2b(digest_size=16)
    _feed(digest, dataset)
    return digest.digest()


def is_small(dataset: Any) -> bool:
    """Return True if a digest takes little time compared with a release."""
    parts = dataset if isinstance(dataset, tuple) else (dataset,)
    return sum(_size(part) for part in parts) <= MAX_CHECKED_ENTRIES


def _size(part: Any) -> int:
    size = getattr(part, "size", None)
    if isinstance(size, (int, np.integer)):
        return int(size)
    if not isinstance(part, (list, tuple, dict, set)):
        return 1
    width = len(part[0]) if isinstance(part, (list, tuple)) and part and hasattr(part[0], "__len__") else 1
    return len(part) * width


def _feed(digest: Any, data: Any) -> None:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, (pandas.DataFrame, pandas.Series)):
        names = list(data.columns) if data.ndim == 2 else [data.name]
        digest.update(repr(names).encode())
        _feed(digest, data.index.to_numpy())
        for i in range(len(names)):
            _feed(digest, (data.iloc[:, i] if data.ndim == 2 else data).to_numpy())
    elif isinstance(data, np.ndarray) and data.dtype != object:
        digest.update(f"array {data.dtype.str} {data.shape}".encode())
        digest.update(np.ascontiguousarray(data).tobytes())
    elif isinstance(data, (list, tuple, np.ndarray)):  # an array of objects
        items = data.ravel().tolist() if isinstance(data, np.ndarray) else data
        digest.update(f"{type(data).__name__} {len(items)}".encode())
        for item in items:
            _feed(digest, item)
    elif isinstance(data, dict):
        digest.update(f"dict {len(data)}".encode())
        for name, item in data.items():
            _feed(digest, name)
            _feed(digest, item)
    elif isinstance(data, (set, frozenset)):
        digest.update(f"set {len(data)}".encode())
        for item_digest in sorted(content_digest(item) for item in data):
            digest.update(item_digest)
    elif data is None or isinstance(data, (bool, int, float, complex, str, bytes, bytearray, np.generic)):
        digest.update(f"{type(data).__name__} {data!r};".encode(errors="surrogatepass"))
    else:
        digest.update(type(data).__name__.encode())
