"""`dpassay check`: the claim of a function, a mechanism or a program, tested on one pair of datasets."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...audit.api import audit
from ...audit.recording import record
from ...audit.results.audit_result import AuditResult
from ...audit.search import domain_from, search
from ...mechanisms.base import Dataset, Mechanism, Neighbours
from ...mechanisms.errors import DpassayError, NeighboursError, ParameterError, StoreError
from ...mechanisms.external.command import BATCH_SECONDS, Command, PlainCommand
from ...mechanisms.external.function import FunctionMechanism
from ...mechanisms.external.guard import calls_take_at_most, expendable
from ...mechanisms.external.labels import in_words
from ...mechanisms.external.target import load_target
from ...mechanisms.guarantees import ApproximateDP, PureDP
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.printable import fenced
from .supervisor import in_child

LONGEST_SHOWN = 200
"""Characters of a dataset that a message repeats."""
NO_EPSILON = "--epsilon is missing: only a mechanism knows its own claim."


@dataclass(frozen=True)
class Claimed:
    """What is claimed, and on which pair, as given on the command line.

    Args:
        epsilon, delta: the claim; None leaves it to the mechanism.
        d0, d1: datasets as JSON, or "@FILE" for a file of JSON; None leaves the pair to the mechanism.
        relation: of the pair, or of the pairs that are searched; None is that of the mechanism, else "add_remove".
        records: whether the datasets are collections of records.
    """

    epsilon: float | None = None
    delta: float | None = None
    d0: str | None = None
    d1: str | None = None
    relation: str | None = None
    records: bool = True

    @property
    def delta_asked(self) -> float | None:
        """At which epsilon is bounded; None leaves it to the mechanism."""
        return self.delta if self.epsilon is None else self.delta or 0.0

    def guarantee(self) -> Guarantee | None:
        """(epsilon, delta)-DP, pure if delta is 0 or not given; None without an epsilon."""
        if self.epsilon is None:
            return None
        return ApproximateDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def pair(self, *, as_json: bool) -> Neighbours | None:
        """The two datasets; lists of numbers become arrays, unless they are kept `as_json` for a program."""
        if self.d0 is None and self.d1 is None:
            return None
        if self.d0 is None or self.d1 is None:
            raise ParameterError("give both --d0 and --d1, or, for a mechanism, neither.")
        d0, d1 = (_dataset(name, text, as_json) for name, text in (("--d0", self.d0), ("--d1", self.d1)))
        return Neighbours(d0, d1, self.relation or "add_remove")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sought:
    """Where a pair is looked for, in the place of --d0 and --d1.

    Args:
        domain: as `dpassay.audit.search.domain_from` reads it.
        budget: runs per side of all looks together; None is the default of the search.
    """

    domain: str
    budget: int | None = None


def check(
    target: str | None,
    program: str | None,
    claimed: Claimed,
    *,
    seed: int,
    n_jobs: int,
    timeout: float | None = None,
    plain: bool = False,
    sought: Sought | None = None,
    recorded: bool = False,
    **options: Any,
) -> AuditResult:
    """The audit that the command line asks for; that of the winner, where it asks for a search.

    Args:
        target: "package.module:object" or "file.py:object"; a function or a mechanism.
        program: a command line, in place of a target.
        claimed: the claim and the pair.
        seed, n_jobs, options: as for `dpassay.audit.audit`.
        timeout: seconds for one call of a Python function, or for one batch of a program; None is no limit for a
            function, `BATCH_SECONDS` for a program.
        recorded: also compare what a function does with its noise on both sides; its findings are warnings.
        plain: whether the program reads and writes plain lines, and not JSON.
        sought: the domain of a search.

    Raises:
        ParameterError: target and program, or neither; claim or pair missing; a pair and a search; a recording of what
            is no function.
    """
    options |= {"seed": seed, "n_jobs": n_jobs}
    ask = partial(_check, claimed=claimed) if sought is None else partial(_search, claimed=claimed, sought=sought)
    if (target is None) == (program is None):
        raise ParameterError("give either a TARGET, such as noise.py:release, or --command.")
    if target is not None and plain:
        raise ParameterError("--plain is for --command LINE: give both, or leave it out.", argument="--plain")
    if in_child():
        expendable()
    if target is None and recorded:
        raise ParameterError(
            "--record needs a Python function: what a program draws cannot be seen.", argument="--record"
        )
    if target is None:
        kind = PlainCommand if plain else Command
        found: Any = kind(program or "", timeout=BATCH_SECONDS if timeout is None else timeout)
        return ask(found, target, **options)
    with calls_take_at_most(timeout):
        loaded = _instance(load_target(target), target)
        warnings = _findings(loaded, target, claimed) if recorded else ()
        result = ask(loaded, target, timeout=timeout, **options)
    return replace(result, warnings=(*result.warnings, *warnings)) if warnings else result


def _findings(function: Any, target: str, claimed: Claimed) -> tuple[str, ...]:
    """What a recording of the function shows, in sentences."""
    pair = claimed.pair(as_json=False)
    if isinstance(function, (Mechanism, type)):
        raise ParameterError(f"--record needs a function, but {target} is none.", argument="--record")
    if pair is None:
        raise ParameterError("--record needs a pair: give --d0 and --d1 besides.", argument="--record")
    try:
        found = record(function, pair)
    except DpassayError:
        raise
    except Exception as error:
        return (f"recorded: nothing, as {target} raised {in_words(error)} on the datasets.",)
    return tuple(f"recorded: {one}" for one in found.findings(claimed.guarantee(), delta=claimed.delta))


def _instance(found: Any, target: str) -> Any:
    """What was named; raises `ParameterError` for the class of a mechanism."""
    if isinstance(found, type) and issubclass(found, Mechanism):
        raise ParameterError(
            f"{target} is a class: give an instance of it, such as `mechanism = {found.__name__}(...)`."
        )
    return found


def _search(found: Any, target: str | None, *, claimed: Claimed, sought: Sought, **options: Any) -> AuditResult:
    """The search in a domain: the audit of its winner, whose ledger has the search."""
    if claimed.d0 is not None or claimed.d1 is not None:
        raise ParameterError("give either --search, which finds the pair, or --d0 and --d1.", argument="--search")
    if claimed.epsilon is None and not isinstance(found, Mechanism):
        raise ParameterError(NO_EPSILON)
    result = search(
        found,
        domain=domain_from(sought.domain),
        relation=claimed.relation,
        budget=sought.budget,
        attacks=[options.pop("attack")],
        claim=claimed.guarantee(),
        delta=claimed.delta_asked,
        **options,
    )
    return result.confirmed


def _check(found: Any, target: str | None, *, claimed: Claimed, **options: Any) -> AuditResult:
    """The audit of what was named on the command line, on the pair that is given."""
    program = target is None
    pair, claim, delta = claimed.pair(as_json=program), claimed.guarantee(), claimed.delta_asked
    try:
        if not isinstance(found, Mechanism):
            found, pair, claim = _wrapped(found, pair, claim, claimed, many=program), None, None
        return audit(found, pair, claim=claim, delta=delta, **options)
    except NeighboursError as error:
        if not claimed.records:
            raise
        advice = "If the datasets are not lists of records, add --no-records."
        raise NeighboursError(f"{error} {advice}", argument=error.arguments, advice=advice) from error


def check_writable(*files: Path | None) -> None:
    """Raises `StoreError` for a file that could not be written later, before anything has run."""
    for file in (file for file in files if file is not None):
        try:
            has_folder, is_folder = file.parent.is_dir(), file.is_dir()
        except OSError as error:  # such as a name that is too long
            raise StoreError(f"cannot write {file}: {error.strerror}. Choose another file.") from error
        if not has_folder:
            raise StoreError(f"cannot write {file}: there is no folder {file.parent}. Make it, or choose another file.")
        if is_folder:
            raise StoreError(f"cannot write {file}: it is a folder. Choose another file.")


def write_summaries(result: AuditResult, *, markdown: Path | None, json_file: Path | None) -> None:
    """Appends the Markdown summary and writes the JSON form; raises `StoreError` where it cannot."""
    try:
        if markdown is not None:
            with markdown.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(markdown_summary(result))
        if json_file is not None:
            json_file.write_text(result.to_json(), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {error.filename}: {error.strerror or error}. Choose another file.") from error


def markdown_summary(result: AuditResult) -> str:
    """The result as a section of Markdown: the verdict as its heading, the table of the audit below."""
    return f"### dpassay check: {result.verdict.value}\n\n{fenced(result.summary())}\n"


def _wrapped(
    function: Any, pair: Neighbours | None, claim: Guarantee | None, claimed: Claimed, *, many: bool
) -> FunctionMechanism:
    """A function or program as a mechanism; it has to be given its claim and its pair."""
    if claim is None:
        raise ParameterError(NO_EPSILON)
    if pair is None:
        raise ParameterError(
            "--d0 and --d1 are missing: only a mechanism knows its worst case. Give them, or --search DOMAIN, such as "
            "--search 'numbers 0..1', to find a pair."
        )
    return FunctionMechanism(
        function,
        claim=claim,
        neighbours=pair,
        style="many-runs" if many else None,
        records=claimed.records,
    )


def _dataset(option: str, given: str, as_json: bool) -> Dataset:
    """A dataset from JSON, or from a file of it."""
    text = _file(option, given.removeprefix("@")) if given.startswith("@") else given
    shown = given if len(given) <= LONGEST_SHOWN else f"{given[:LONGEST_SHOWN]}..."
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f"{option} must be JSON, such as '[1, 0, 1]', or @FILE for a file of it, but is {shown!r} ({error}).",
            argument=option,
        ) from error
    if as_json or not isinstance(value, list):
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        return value
    return array if array.dtype.kind in "biuf" else value


def _file(option: str, name: str) -> str:
    """The text of a file; raises `ParameterError` where there is none."""
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ParameterError(f"{option} cannot be read from the file {name!r}: {why}.", argument=option) from error
