"""Every error that the library raises on purpose.

    DpassayError
    ├── ParameterError (ValueError)       a value outside its range
    │   └── NeighboursError               a pair that is not neighbouring
    ├── UnknownNameError (LookupError)    a name that no catalogue holds
    ├── RelationError (ValueError)        claim, pair and mechanism speak of different relations
    ├── AccountingError (ValueError)      no theorem gives the number that was asked for
    ├── ReleaseError (RuntimeError)       a mechanism raised or returned something unusable
    │   └── DependentTrialsError          its runs are not independent, which leaves no verdict
    ├── AttackError (RuntimeError)        an attack cannot be trained or used here
    ├── StoreError (OSError)              trials cannot be written or read
    │   └── FingerprintError              a store that holds another experiment
    ├── ResultError (ValueError)          saved results that are damaged, changed, or of another version
    ├── ConfigError (ValueError)          a configuration that cannot be run
    └── DataError (RuntimeError)          a dataset that is missing or unreadable

    PrivacyViolation (AssertionError)     not an error of the program: the verdict itself

A message names the argument and its value, says what is allowed, and ends with what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class DpassayError(Exception):
    """Root of the errors that the library raises on purpose."""


class ParameterError(DpassayError, ValueError):
    """A value outside its range."""


class NeighboursError(ParameterError):
    """A pair of datasets that is not neighbouring under the stated relation."""


class UnknownNameError(DpassayError, LookupError):
    """A name that no catalogue holds; the message lists the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(unknown_name_message(kind, name, self.known))


class RelationError(DpassayError, ValueError):
    """Claim, pair and mechanism speak of different neighbouring relations."""


class AccountingError(DpassayError, ValueError):
    """No theorem known to the library gives the number that was asked for."""


class ReleaseError(DpassayError, RuntimeError):
    """A mechanism raised, or returned something that is not one output per run."""


class DependentTrialsError(ReleaseError):
    """The runs of a mechanism are not independent: no bound on them holds, and there is no verdict.

    Args:
        mechanism: its name.
        seen: what was seen.
        advice: what makes runs independent.
    """

    def __init__(self, mechanism: str, seen: str, advice: str) -> None:
        self.mechanism, self.seen, self.advice = mechanism, seen, advice
        super().__init__(f"no verdict: the runs of {mechanism} are not independent: {seen}. {advice}.")

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.mechanism, self.seen, self.advice)


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


def unknown_name_message(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence that names the unknown, the nearest names and all that is allowed."""
    known = sorted(known)
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    listed = ", ".join(known) if known else "none"
    return f"unknown {kind} {name!r}.{hint} Known: {listed}."


def missing_message(thing: str, needed: Sequence[str], missing: Sequence[str]) -> str:
    """What `thing` needs, and what of it is missing, without a full stop.

    >>> missing_message("sampling 'poisson'", ["batch_size", "sampling_probability"], ["batch_size"])
    "sampling 'poisson' needs batch_size and sampling_probability, but batch_size is missing"
    """
    if len(needed) == 1:
        return f"{thing} needs {needed[0]}, which is missing"
    if len(needed) == len(missing):
        return f"{thing} needs {_listed(needed)}, which are missing"
    return f"{thing} needs {_listed(needed)}, but {_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
