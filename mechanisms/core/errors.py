"""Errors that the library raises on purpose.

    DpassayError
    ├── ParameterError (ValueError)       a value outside its range
    │   └── NeighboursError               a pair that is not neighbouring
    ├── CallError (TypeError)             a call that does not fit the signature of the function
    ├── UnknownNameError (LookupError)    a name that no catalogue holds
    ├── RelationError (ValueError)        claim, pair and mechanism have different relations
    ├── AccountingError (ValueError)      no theorem gives the requested number
    ├── ReleaseError (RuntimeError)       a mechanism raised or returned something unusable
    │   ├── DependentTrialsError          the runs are not independent, so that there is no verdict
    │   ├── AlwaysRaisesError             each of the first runs raises, on both sides
    │   └── NoAnswerError                 a call took longer than its time limit
    ├── ClusterError (ConnectionError)    a cluster that is lost, has no workers, or has other versions
    ├── AttackError (RuntimeError)        an attack cannot be trained or used in this game
    ├── StoreError (OSError)              trials cannot be written or read
    │   ├── FingerprintError              a store that holds another experiment
    │   └── SliceDoneError                a finished slice of the chunks, which has no result by itself
    ├── ResultError (ValueError)          saved results that are damaged, changed, or of another version
    ├── ConfigError (ValueError)          a configuration that cannot be run
    ├── PlugInError (ImportError)         a name of an installed package that is taken twice, or cannot be imported
    └── DataError (RuntimeError)          a dataset that is missing or unreadable

    PrivacyViolation (AssertionError)     not an error of the program: the verdict itself

An error carries its data: `argument`, `value`, `allowed`, `advice`. The message is built from them, or is a separate
sentence with the same content: the argument and its value, the allowed values, and the next step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

_PLAIN = (type(None), bool, int, float, str)


class DpassayError(Exception):
    """Base class of the errors that the library raises on purpose.

    Args:
        message: the problem and the next step; if empty, the message is built from the other arguments.
        argument: the name of the invalid argument, as the caller knows it; several names for arguments that are
            incompatible, the first one to be changed first.
        value: the value of the argument; `...` if unknown.
        shown: the text of the value in the message; by default its `repr`.
        allowed: the allowed values, in words that follow "must": "be a finite number > 0", "lie in [0, 1)".
        advice: the next step, a sentence.
        owner: the name of the catalogue entry that has the argument as an option, such as "laplace".

    Attributes:
        option_path: keys of the nested options, from outside to inside, in which the object of the argument was built.

    Example:
        >>> str(ParameterError(argument="delta", value=2, allowed="lie in [0, 1)", advice="Try delta=1e-5."))
        'delta must lie in [0, 1), but is 2. Try delta=1e-5.'
    """

    def __init__(
        self,
        message: str = "",
        *,
        argument: str | Sequence[str] = (),
        value: object = ...,
        shown: str = "",
        allowed: str = "",
        advice: str = "",
        owner: str = "",
    ) -> None:
        self.arguments = (argument,) if isinstance(argument, str) else tuple(argument)
        self.value, self.allowed, self.advice, self.owner = value, allowed, advice, owner
        self.option_path: tuple[str, ...] = ()
        shown = shown or repr(value)
        constraint = f"{self.argument} must {allowed}" + ("" if value is ... else f", but is {shown}")
        super().__init__(message or f"{constraint}. {advice}".rstrip())

    @property
    def argument(self) -> str:
        """First of the invalid arguments; empty if there is none."""
        return self.arguments[0] if self.arguments else ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling for any constructor signature; a value that is not a plain type is replaced by `...`."""
        state = self.__dict__ | ({} if type(self.value) in _PLAIN else {"value": ...})
        return _restored, (type(self), self.args, state)


def _restored(kind: type[DpassayError], args: tuple[Any, ...], state: dict[str, Any]) -> DpassayError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ParameterError(DpassayError, ValueError):
    """A value outside its range."""


class NeighboursError(ParameterError):
    """A pair of datasets that is not neighbouring under the stated relation."""


class CallError(DpassayError, TypeError):
    """A call with missing, unknown or too many arguments; the message shows a call that fits.

    Args:
        function: name of the function.
        reason: what is wrong, as `inspect.Signature.bind` says it.
        example: a call that fits the signature.
    """

    def __init__(self, function: str, reason: str, example: str) -> None:
        super().__init__(f"{function}: {reason}. Call it as {example}.", advice=f"Call it as {example}.")


class UnknownNameError(DpassayError, LookupError):
    """A name that is not in the catalogue; the message lists the nearest names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(unknown_name_message(kind, name, self.known), argument=kind, value=name, owner=name)


class RelationError(DpassayError, ValueError):
    """A claim, a pair and a mechanism with different neighbouring relations."""


class AccountingError(DpassayError, ValueError):
    """A requested number that no theorem known to the library gives."""


class ReleaseError(DpassayError, RuntimeError):
    """A mechanism that raised, or returned something other than one output per run."""


class ManyRunsError(ReleaseError):
    """An exception in a function that makes many runs in one call, so that no run has an outcome.

    With one run per call, an exception is the outcome of its run.
    """


class DependentTrialsError(ReleaseError):
    """Runs of a mechanism that are not independent: no bound holds for them, and there is no verdict.

    Args:
        mechanism: name of the mechanism.
        seen: the observation that shows the dependence.
        advice: a change that makes the runs independent.
    """

    def __init__(self, mechanism: str, seen: str, advice: str) -> None:
        self.mechanism, self.seen = mechanism, seen
        super().__init__(f"no verdict: the runs of {mechanism} are not independent: {seen}. {advice}.", advice=advice)


class AlwaysRaisesError(ReleaseError):
    """An exception in each of the first runs of a function, on both sides: most likely a mistake in the call.

    Args:
        message: the exceptions, and the next step.
        same_on_both: True if both sides raise the same exception with the same message.
    """

    def __init__(self, message: str, *, same_on_both: bool) -> None:
        self.same_on_both = same_on_both
        super().__init__(message)


class NoAnswerError(ReleaseError):
    """A call of audited code that took longer than its time limit."""


class AttackError(DpassayError, RuntimeError):
    """An attack that cannot be trained or used in this game."""


class ClusterError(DpassayError, ConnectionError):
    """A cluster that cannot be reached or was lost, has no workers, or whose workers have other versions."""


class StoreError(DpassayError, OSError):
    """Trials that cannot be written to or read from their directory."""


class FingerprintError(StoreError):
    """A store that holds the trials of another experiment."""


class SliceDoneError(StoreError):
    """A finished slice of the chunks of an audit: there is no result before all slices are merged.

    Args:
        share: the slice, such as 3/100.
        n_chunks: number of its chunks.
        n_all: number of chunks of the audit.
    """

    def __init__(self, share: object, n_chunks: int, n_all: int) -> None:
        self.n_chunks, self.n_all = n_chunks, n_all
        super().__init__(
            f"slice {share} is finished: {n_chunks:,} of {n_all:,} chunks. Its trials have no result before `dpassay "
            "merge` joins all slices."
        )


class ResultError(DpassayError, ValueError):
    """Saved results that are damaged, modified, inconsistent, or of another version."""


class ConfigError(DpassayError, ValueError):
    """A configuration that cannot be run."""


class PlugInError(DpassayError, ImportError):
    """A name of an installed package that another one has too, or whose class cannot be imported."""


class DataError(DpassayError, RuntimeError):
    """A dataset that is missing or unreadable."""


class PrivacyViolation(AssertionError):  # noqa: N818 - a verdict, not a fault of the program
    """A lower bound above the claim; `result` holds the evidence."""

    def __init__(self, message: str, result: object = None) -> None:
        super().__init__(message)
        self.result = result


MAX_PROPOSED_NAMES = 5
"""Number of names that are proposed for an unknown name."""
MAX_LISTED_NAMES = 12
"""Largest number of names that are all listed."""


def unknown_name_message(kind: str, name: str, known: Iterable[str]) -> str:
    """Return one sentence with the unknown name and the nearest names, and all known names if there are few.

    >>> unknown_name_message("bound", "Betting", ["betting", "one-run"])
    "unknown bound 'Betting'. Did you mean 'betting'? Known: betting, one-run."
    """
    known = sorted(known)
    near = nearest(name, known)
    hint = f" Did you mean {listed(map(repr, near), 'or')}?" if near else ""
    if len(known) > MAX_LISTED_NAMES:
        if not near:
            near = nearest(name, known, cutoff=0.0)
        return f"unknown {kind} {name!r}.{hint or f' The nearest of {len(known)} names: {listed(near)}.'}"
    return f"unknown {kind} {name!r}.{hint} Known: {', '.join(known) if known else 'none'}."


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> list[str]:
    """Return the known names that are most similar to `name`, the nearest first; case is ignored."""
    by_plain_name: dict[str, str] = {}
    for candidate in known:
        by_plain_name.setdefault(_plain(candidate), candidate)
    matches = get_close_matches(_plain(str(name)), by_plain_name, n=MAX_PROPOSED_NAMES, cutoff=cutoff)
    return [
        by_plain_name[match] for match in matches[: 1 if matches[:1] == [_plain(str(name))] else MAX_PROPOSED_NAMES]
    ]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")


def listed(names: Iterable[str], last: str = "and") -> str:
    """Return names as a list in a sentence; empty without names.

    >>> listed("abc")
    'a, b and c'
    >>> listed([])
    ''
    """
    *first, final = tuple(names) or ("",)
    return f"{', '.join(first)} {last} {final}" if first else final


def plural(n: int, noun: str, several: str = "") -> str:
    """Return a number with its noun, in the singular or plural.

    >>> plural(1, "canary", "canaries"), plural(2_000, "run")
    ('1 canary', '2,000 runs')
    """
    return f"{n:,} {noun if n == 1 else several or noun + 's'}"


def missing_message(thing: str, needed: Sequence[str], missing: Sequence[str]) -> str:
    """Return a message that lists the needs of `thing` and those that are missing, without a full stop.

    >>> missing_message("sampling 'poisson'", ["batch_size", "sampling_probability"], ["batch_size"])
    "sampling 'poisson' needs batch_size and sampling_probability, but batch_size is missing"
    """
    if len(needed) == 1:
        return f"{thing} needs {needed[0]}, which is missing"
    if len(needed) == len(missing):
        return f"{thing} needs {listed(needed)}, which are missing"
    return f"{thing} needs {listed(needed)}, but {listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"
