"""Every error that the library raises on purpose.

    DpassayError
    ├── ParameterError (ValueError)       a value outside its range
    │   └── NeighboursError               a pair that is not neighbouring
    ├── UnknownNameError (LookupError)    a name that no catalogue holds
    ├── RelationError (ValueError)        claim, pair and mechanism have different relations
    ├── AccountingError (ValueError)      no theorem gives the number that was asked for
    ├── ReleaseError (RuntimeError)       a mechanism raised or returned something unusable
    │   ├── DependentTrialsError          its runs are not independent, which leaves no verdict
    │   └── AlwaysRaisesError             each of its first runs raises, on both sides
    ├── AttackError (RuntimeError)        an attack cannot be trained or used here
    ├── StoreError (OSError)              trials cannot be written or read
    │   └── FingerprintError              a store that holds another experiment
    ├── ResultError (ValueError)          saved results that are damaged, changed, or of another version
    ├── ConfigError (ValueError)          a configuration that cannot be run
    └── DataError (RuntimeError)          a dataset that is missing or unreadable

    PrivacyViolation (AssertionError)     not an error of the program: the verdict itself

An error carries what it is about: `argument`, `value`, `allowed`, `advice`. Its message is made from them, or is a
sentence of its own that says the same: the argument and its value, what is allowed, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

_PLAIN = (type(None), bool, int, float, str)


class DpassayError(Exception):
    """Root of the errors that the library raises on purpose.

    Args:
        message: what is wrong, and what to do; left out, it is made from the rest.
        argument: the argument that is to blame, by the name that the caller knows; several where they do not fit each
            other, the first to be changed first.
        value: what was given for the argument; `...` where that is not known.
        shown: how the value stands in the message; its `repr` where this is left out.
        allowed: what the argument may be, in words that follow "must": "be a finite number > 0", "lie in [0, 1)".
        advice: what to do, a sentence.
        owner: the name of the catalogue entry whose option the argument is, such as "laplace".

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
        found = shown or repr(value)
        stated = f"{self.argument} must {allowed}" + ("" if value is ... else f", but is {found}")
        super().__init__(message or f"{stated}. {advice}".rstrip())

    @property
    def argument(self) -> str:
        """The first of the arguments that are to blame; empty where none is."""
        return self.arguments[0] if self.arguments else ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes whatever their constructor takes; a value that is not plain stays behind."""
        kept = self.__dict__ | ({} if type(self.value) in _PLAIN else {"value": ...})
        return _restored, (type(self), self.args, kept)


def _restored(kind: type[DpassayError], args: tuple[Any, ...], state: dict[str, Any]) -> DpassayError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ParameterError(DpassayError, ValueError):
    """A value outside its range."""


class NeighboursError(ParameterError):
    """A pair of datasets that is not neighbouring under the stated relation."""


class UnknownNameError(DpassayError, LookupError):
    """A name that no catalogue holds; the message lists the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(unknown_name_message(kind, name, self.known), argument=kind, value=name, owner=name)


class RelationError(DpassayError, ValueError):
    """Claim, pair and mechanism have different neighbouring relations."""


class AccountingError(DpassayError, ValueError):
    """No theorem known to the library gives the number that was asked for."""


class ReleaseError(DpassayError, RuntimeError):
    """A mechanism raised, or returned something that is not one output per run."""


class ManyRunsError(ReleaseError):
    """A function that makes many runs in one call raised: none of them has an outcome. One run at a time has."""


class DependentTrialsError(ReleaseError):
    """The runs of a mechanism are not independent: no bound on them holds, and there is no verdict.

    Args:
        mechanism: its name.
        seen: what was seen.
        advice: what makes runs independent.
    """

    def __init__(self, mechanism: str, seen: str, advice: str) -> None:
        self.mechanism, self.seen = mechanism, seen
        super().__init__(f"no verdict: the runs of {mechanism} are not independent: {seen}. {advice}.", advice=advice)


class AlwaysRaisesError(ReleaseError):
    """Each of the first runs of a function raises, on both sides: a mistake in the call, as far as anyone can tell.

    Args:
        message: which exceptions, and what to do.
        alike: whether it is the same exception on both sides, with the same message.
    """

    def __init__(self, message: str, *, alike: bool) -> None:
        self.alike = alike
        super().__init__(message)


class AttackError(DpassayError, RuntimeError):
    """An attack cannot be trained or used in this game."""


class StoreError(DpassayError, OSError):
    """Trials cannot be written to or read from their directory."""


class FingerprintError(StoreError):
    """The store holds the trials of another experiment."""


class ResultError(DpassayError, ValueError):
    """Saved results that are damaged, were changed, contradict themselves, or are of another version."""


class ConfigError(DpassayError, ValueError):
    """A configuration that cannot be run."""


class DataError(DpassayError, RuntimeError):
    """A dataset that is missing or unreadable."""


class PrivacyViolation(AssertionError):  # noqa: N818 - a verdict, not a fault of the program
    """The lower bound lies above the claim. `result` holds the evidence."""

    def __init__(self, message: str, result: object = None) -> None:
        super().__init__(message)
        self.result = result


NEAREST = 5
"""Names that are proposed for an unknown one."""
LISTED = 12
"""Names at most that are all listed."""


def unknown_name_message(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence that names the unknown and the nearest names, and all of them where they are few.

    >>> unknown_name_message("bound", "Betting", ["betting", "one-run"])
    "unknown bound 'Betting'. Did you mean 'betting'? Known: betting, one-run."
    """
    known = sorted(known)
    near = nearest(name, known)
    hint = f" Did you mean {listed(map(repr, near), 'or')}?" if near else ""
    if len(known) > LISTED:
        if not near:
            near = nearest(name, known, cutoff=0.0)
        return f"unknown {kind} {name!r}.{hint or f' The nearest of {len(known)} names: {listed(near)}.'}"
    return f"unknown {kind} {name!r}.{hint} Known: {', '.join(known) if known else 'none'}."


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> list[str]:
    """The names that are most like an unknown one, whatever its case, the nearest first."""
    plain: dict[str, str] = {}
    for one in known:
        plain.setdefault(_plain(one), one)
    found = get_close_matches(_plain(name), plain, n=NEAREST, cutoff=cutoff)
    return [plain[one] for one in found[: 1 if found[:1] == [_plain(name)] else NEAREST]]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names as a list in a sentence.

    >>> listed("abc")
    'a, b and c'
    """
    *first, final = names
    return f"{', '.join(first)} {last} {final}" if first else final


def plural(n: int, noun: str, several: str = "") -> str:
    """A number and what it counts.

    >>> plural(1, "canary", "canaries"), plural(2_000, "run")
    ('1 canary', '2,000 runs')
    """
    return f"{n:,} {noun if n == 1 else several or noun + 's'}"


def missing_message(thing: str, needed: Sequence[str], missing: Sequence[str]) -> str:
    """What `thing` needs, and what of it is missing, without a full stop.

    >>> missing_message("sampling 'poisson'", ["batch_size", "sampling_probability"], ["batch_size"])
    "sampling 'poisson' needs batch_size and sampling_probability, but batch_size is missing"
    """
    if len(needed) == 1:
        return f"{thing} needs {needed[0]}, which is missing"
    if len(needed) == len(missing):
        return f"{thing} needs {listed(needed)}, which are missing"
    return f"{thing} needs {listed(needed)}, but {listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"
