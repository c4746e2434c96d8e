"""A function that is imported and run in an isolated process, never in this one."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ...core.errors import (
    DpassayError,
    ManyRunsError,
    NoAnswerError,
    ParameterError,
    ReleaseError,
    UnknownNameError,
    plural,
)
from ...core.fingerprint import DescribedElsewhere
from .calls import Rows
from .forms import RaisedException
from .guard import GRACE_SECONDS, current_guard, too_long
from .isolated import IsolatedProcess, ProcessEnded, ProcessOverdue, check_interpreter, import_path, packed
from .names import Name
from .source import FunctionSource, present_source, source_of_target, store_source
from .target import name_of

MAX_DATASETS = 4
"""Largest number of datasets that a process keeps."""
MUST_RETURN = "Audited code must return or raise: there is no verdict."
_PROCESSES: dict[str, _Loaded] = {}


class NoFunctionError(Exception):
    """The target is a mechanism, a class, or something else that is no function."""


@dataclass(frozen=True, eq=False)
class IsolatedFunction(DescribedElsewhere):
    """Function that an isolated process imports and runs; pass it to `FunctionMechanism`, or to `audit`.

    This process never imports the module of the function, and reads its results as plain data. The other process starts
    when it is needed, one for this process and one for each worker that receives this object. It runs until `close`, or
    until the end of a `with` block.

    Args:
        target: "package.module:object" or "path/to/file.py:object".
        python: interpreter of another environment, which has Python 3.11 or later, numpy and what the function needs,
            but not this library; empty for the interpreter of this process.

    Raises:
        ParameterError, UnknownNameError: as `load_target`; or `python` cannot be used.
        NoFunctionError: the target is no function, but for example a mechanism.
        ReleaseError: the process ends while it imports the target.

    Example:
        >>> from dpassay.mechanisms import Neighbours, PureDP
        >>> from dpassay.mechanisms.adapters.functions.function import FunctionMechanism
        >>> pair = Neighbours([1.0], [1.0, 2.0], "add_remove")
        >>> with IsolatedFunction("statistics:mean") as mean:
        ...     mechanism = FunctionMechanism(mean, claim=PureDP(1.0), neighbours=pair, style="own-randomness")
        ...     mechanism.release(pair.d1, 2, np.random.default_rng(0)).values
        array([1.5, 1.5])
    """

    target: str
    python: str = ""
    copied: FunctionSource | None = field(default=None, init=False, repr=False)
    here: Callable[..., Any] | None = field(default=None, init=False, repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)
    folder: str = field(default_factory=os.getcwd, init=False, repr=False)
    path: Sequence[str] = field(default_factory=list, init=False, repr=False)
    key: str = field(default_factory=lambda: secrets.token_hex(8), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.python:
            check_interpreter(self.python)
        object.__setattr__(self, "path", import_path(self.python))
        self._describe(_Loaded.of(self).facts)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> IsolatedFunction:
        """Return a function of this process for an isolated one, which gets a copy in the present state.

        What has an address in a module of a file is imported there. The rest is copied: what a closure, a notebook or
        an interactive session defines. A generator of such a module starts as at its import, and one that is copied in
        its present state. Neither is advanced here: two copies draw the same noise.

        Raises:
            ParameterError: the function cannot be copied.
            ReleaseError: the process ends while it creates the function.
        """
        source = present_source(function)
        if source is None:
            raise ParameterError(
                f"{name_of(function)} cannot be copied into another process, since something that it holds cannot be "
                "pickled. Define it in a file, and give IsolatedFunction('path/to/file.py:function').",
                argument="isolated",
            )
        made = cls.__new__(cls)
        start = {"target": name_of(function), "python": "", "copied": source, "here": function, "options": {}}
        start |= {"folder": str(Path.cwd()), "path": import_path(""), "key": secrets.token_hex(8)}
        for name, value in start.items():
            object.__setattr__(made, name, value)
        made._describe(_Loaded.of(made).facts)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs: it has no function of its own, but the copy."""
        return self.__dict__ | {"here": None}

    def _describe(self, facts: Mapping[str, Any]) -> None:
        object.__setattr__(self, "facts", facts)
        object.__setattr__(self, "__signature__", facts["signature"])  # what `inspect.signature` reads
        imported = source_of_target(self.target, self.options, generators=facts["generators"], python=self.python)
        store_source(self, self.copied or imported)

    def with_options(self, **options: Any) -> IsolatedFunction:
        """Return the function with further arguments, which are plain data, as a `functools.partial` in its process."""
        if self.here is not None:
            return IsolatedFunction.of(partial(self.here, **options))
        made = copy(self)
        object.__setattr__(made, "options", {**self.options, **options})
        made._describe(_facts(made._asked({"ask": "facts"})))
        return made

    def _asked(self, request: dict[str, Any], timeout: float | None = None) -> dict[str, Any]:
        """Return the answer of the process, which is started if it does not run."""
        asked = request | {"options": dict(self.options)}
        try:
            return _answered(_Loaded.of(self).process, asked, self.__name__, timeout)
        except NoAnswerError:
            self.close()  # the next request starts a new process
            raise

    def __enter__(self) -> IsolatedFunction:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the process and its group, if it runs."""
        if (loaded := _PROCESSES.pop(self.key, None)) is not None:
            loaded.process.close()

    @property
    def __name__(self) -> str:
        """Name that the function has in its process."""
        return str(self.facts["name"])

    def __repr__(self) -> str:
        return str(self.facts["shown"])

    @property
    def description(self) -> Any:
        """Description of the code of the function and of what it reads."""
        answer = self._asked({"ask": "describe"})
        try:
            return json.loads(answer["description"])
        except (LookupError, TypeError, ValueError) as error:
            raise ReleaseError(f"the process of {self.__name__} answered no description. {MUST_RETURN}") from error

    @property
    def keywords(self) -> Mapping[str, Any]:
        """Arguments of a `functools.partial` that are plain values."""
        return self.facts["keywords"]  # type: ignore[no-any-return]

    def __call__(self, dataset: Any, size: int, rng: np.random.Generator) -> Rows:
        """Return the results of `size` runs of a function of many runs."""
        return self.calls("many-runs").many(dataset, size, rng)

    def calls(self, style: str, seed: int | None = None, *, naming: bool = False) -> IsolatedCalls:
        """Return the calls of the function, as those of `FunctionCalls`."""
        return IsolatedCalls(self, style, seed, naming)


_KINDS = (
    Parameter.POSITIONAL_ONLY,
    Parameter.POSITIONAL_OR_KEYWORD,
    Parameter.VAR_POSITIONAL,
    Parameter.KEYWORD_ONLY,
    Parameter.VAR_KEYWORD,
)
"""Kinds of parameters, in the order of their numbers."""


class _Loaded:
    """A process that has imported a function."""

    def __init__(self, function: IsolatedFunction) -> None:
        self.python = function.python
        self.process = IsolatedProcess(os.environ, function.target, self.python, function.folder)
        self.sent: list[Any] = []
        request = {
            "ask": "load",
            "target": function.target,
            "source": None if function.copied is None else function.copied.request,
            "path": list(function.path),
            "own_path": bool(self.python),
            "argv": list(map(str, sys.argv)),
        }
        try:
            self.facts = _facts(_answered(self.process, request, function.target, None))
        except BaseException:
            self.process.close()
            raise

    @staticmethod
    def of(function: IsolatedFunction) -> _Loaded:
        """Return the process of a function, started now if it is not running."""
        if function.key not in _PROCESSES:
            _PROCESSES[function.key] = _Loaded(function)
        return _PROCESSES[function.key]

    def dataset(self, dataset: Any) -> dict[str, Any]:
        """Return the entries of a request for a dataset: its number, and its content if it is new."""
        for number, known in enumerate(self.sent):
            if known is dataset:
                return {"dataset": number, "content": b""}
        number = len(self.sent) if len(self.sent) < MAX_DATASETS else int(secrets.randbelow(MAX_DATASETS))
        self.sent[number : number + 1] = [dataset]
        return {"dataset": number, "content": packed(dataset, self.python)}


@dataclass(eq=False)
class IsolatedCalls:
    """Calls of an isolated function in one style; like `FunctionCalls`."""

    function: IsolatedFunction
    style: str
    seed: int | None = None
    naming: bool = False
    columns: tuple[Name, ...] = field(default=(), init=False)
    seconds: float = field(default=0.0, init=False)

    def singles(self, dataset: Any, size: int, rng: np.random.Generator) -> list[Any]:
        """Return the results of `size` single runs, or `RaisedException` in their place."""
        return list(self._run(dataset, size, rng, many=False))

    def many(self, dataset: Any, size: int, rng: np.random.Generator) -> Rows:
        """Return the results of one call that makes `size` runs.

        Raises:
            ManyRunsError: the function raises.
            ReleaseError: it does not return `size` results, or its process has ended.
        """
        return self._run(dataset, size, rng, many=True)

    def error(self, dataset: Any) -> RaisedException | None:
        """Return the exception that one run raises, or None."""
        raised = self._ask({"ask": "fail", "style": self.style}, dataset).get("raised")
        return raised if isinstance(raised, RaisedException) else None

    def condition(self, datasets: Sequence[Any]) -> str:
        """Return what `FunctionCalls.condition` does."""
        request = {
            "ask": "advise",
            "style": self.style,
            "datasets": [packed(dataset, self.function.python) for dataset in datasets],
        }
        return str(self.function._asked(request).get("works", ""))

    def _run(self, dataset: Any, size: int, rng: np.random.Generator, *, many: bool) -> Rows:
        guard, name = current_guard(), self.function.__name__
        request = {
            "ask": "run",
            "style": self.style,
            "many": many,
            "size": size,
            "rng": rng,
            "seed": guard.next_seed(),
            "seed_each": self.seed,
            "timeout": guard.timeout,
            "naming": self.naming,
            "first": self.naming,
        }
        answer = self._ask(request, dataset, guard.timeout)
        try:
            rng.bit_generator.state = answer["state"]
            if answer["spawned"] > 0:
                rng.bit_generator.seed_seq.spawn(int(answer["spawned"]))  # type: ignore[attr-defined]
            guard.report(tuple(map(str, answer["changed"])))
            self.seconds += max(0.0, float(answer["seconds"]))
            self.columns = tuple((str(part), str(rest)) for part, rest in answer["columns"])
            if "error" in answer:
                raise _error(answer, name)
            if answer["changed_dataset"]:
                raise ReleaseError(
                    f"{name} changes its dataset, so that its runs are not independent: work on a copy, as in "
                    "data = copy.deepcopy(dataset)."
                )
            rows: Rows = answer["rows"]
            if not isinstance(rows, (list, np.ndarray)) or len(rows) != size:
                raise ReleaseError(
                    f"{name} was asked for {plural(size, 'run')}, and its process answered another number."
                )
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, DpassayError):
                raise
            raise ReleaseError(f"the process of {name} answered something else than results. {MUST_RETURN}") from error
        return rows

    def _ask(self, request: dict[str, Any], dataset: Any, timeout: float | None = None) -> dict[str, Any]:
        return self.function._asked(request | _Loaded.of(self.function).dataset(dataset), timeout)


def _answered(process: IsolatedProcess, request: dict[str, Any], name: str, timeout: float | None) -> dict[str, Any]:
    """Return the answer of a process; raise `ReleaseError` if it gives none.

    Its own alarm ends a call that takes longer than `timeout`; a process that stops it in vain is ended here.
    """
    try:
        answer = process.ask(request, None if timeout is None else 2 * timeout + GRACE_SECONDS)
    except ProcessOverdue as error:
        raise NoAnswerError(too_long(name, timeout)) from error
    except ProcessEnded as error:
        raise ReleaseError(f"{error} {MUST_RETURN}") from error
    if not isinstance(answer, dict):
        raise ReleaseError(f"the process of {name} answered something else than results. {MUST_RETURN}")
    if "error" in answer and "state" not in answer and request["ask"] not in ("load", "facts"):
        raise _error(answer, name)
    return answer


def _error(answer: Mapping[str, Any], name: str) -> DpassayError:
    """Return the error that an answer describes."""
    kind, text = answer["error"], str(answer["text"])
    if kind == "interrupted":
        error: DpassayError = ReleaseError(f"the process of {name} was interrupted ({text}). {MUST_RETURN}")
    elif kind == "other":
        error = ReleaseError(f"{name} raised {text} in its process. {MUST_RETURN}")
    else:
        kinds = {one.__name__: one for one in (ManyRunsError, NoAnswerError)}
        error = kinds.get(kind, ReleaseError)(text)
    for note in answer.get("notes", ()):
        error.add_note(str(note))
    return error


def _facts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a target; raise the error of its import."""
    kind = answer.get("error")
    if kind == UnknownNameError.__name__:
        raise UnknownNameError(str(answer["kind"]), str(answer["name"]), list(map(str, answer["known"])))
    if kind == ParameterError.__name__:
        raise ParameterError(str(answer["text"]), argument=str(answer["argument"]))
    if kind is not None:
        raise _error(answer, "the target")
    if not answer.get("function"):
        raise NoFunctionError
    try:
        signature = Signature(
            [
                Parameter(name, _KINDS[kind], default=default if has_default else Parameter.empty)
                for name, kind, has_default, default in answer["parameters"]
            ]
        )
        return {
            "name": str(answer["name"]),
            "shown": str(answer["shown"]),
            "signature": signature,
            "keywords": dict(answer["keywords"]),
            "generators": bool(answer["generators"]),
        }
    except (LookupError, TypeError, ValueError) as error:
        raise ReleaseError(f"the process of the target answered something else than its name. {MUST_RETURN}") from error
