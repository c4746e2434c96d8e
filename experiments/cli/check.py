"""`dpassay check`: the claim of a function, a mechanism or a program, tested on one pair of datasets."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.api import audit
from ...audit.results.audit_result import AuditResult
from ...audit.search import DEFAULT_TIMEOUT, StressResult, domain_from, search, stress
from ...mechanisms.accounting import ApproximateDP, PureDP
from ...mechanisms.adapters.command import BATCH_SECONDS, Command, PlainCommand
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.guard import limit_calls, mark_expendable
from ...mechanisms.adapters.functions.isolated_function import IsolatedFunction, NoFunctionError
from ...mechanisms.adapters.functions.target import load_target
from ...mechanisms.core import Guarantee, Mechanism, Neighbours, NeighboursError, ParameterError, plural
from ..ci.checked import SESSION, CheckedClaims
from ..data.json_text import read_dataset
from .recorded import RecordedTarget
from .supervisor import in_child

if TYPE_CHECKING:
    from ..ci.history import History

NO_EPSILON = "--epsilon is missing: only a mechanism knows its own claim."


@dataclass(frozen=True)
class Claimed:
    """Claim and pair of datasets, as given on the command line.

    Args:
        epsilon, delta: the claim; None leaves it to the mechanism.
        d0, d1: datasets as JSON, or "@FILE" for a file of JSON; None leaves the pair to the mechanism.
        relation: relation of the pair, or of the searched pairs; None for the relation of the mechanism, else
            "add_remove".
        records: True if the datasets are collections of records.
    """

    epsilon: float | None = None
    delta: float | None = None
    d0: str | None = None
    d1: str | None = None
    relation: str | None = None
    records: bool = True

    @property
    def bound_delta(self) -> float | None:
        """Delta of the bound on epsilon; None leaves it to the mechanism."""
        return self.delta if self.epsilon is None else self.delta or 0.0

    def guarantee(self) -> Guarantee | None:
        """Return (epsilon, delta)-DP, pure if delta is 0 or not given; None without an epsilon."""
        if self.epsilon is None:
            return None
        return ApproximateDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def pair(self, *, as_json: bool) -> Neighbours | None:
        """Return the two datasets; lists of numbers become arrays, except `as_json` for a program."""
        if self.d0 is None and self.d1 is None:
            return None
        if self.d0 is None or self.d1 is None:
            raise ParameterError("give both --d0 and --d1, or, for a mechanism, neither.")
        d0, d1 = (read_dataset(name, text, as_json) for name, text in (("--d0", self.d0), ("--d1", self.d1)))
        return Neighbours(d0, d1, self.relation or "add_remove")  # type: ignore[arg-type]


@dataclass(frozen=True)
class PairSearch:
    """Search for a pair, in place of --d0 and --d1.

    Args:
        domain: text that `dpassay.audit.search.domain_from` parses.
        budget: runs per side of the whole search; None for the default of the search.
    """

    domain: str
    budget: int | None = None


@dataclass(frozen=True)
class Stress:
    """Audits on hostile data, made from the dataset `d0` of the claim.

    Args:
        bounds: documented bounds as JSON; None for those of the example.
        without: kinds of data to leave out.
    """

    bounds: str | None = None
    without: tuple[str, ...] = ()


def check(
    target: str | None,
    program: str | None,
    claimed: Claimed,
    *,
    seed: int,
    n_jobs: int,
    timeout: float | None = None,
    plain: bool = False,
    python: str | None = None,
    pair_search: PairSearch | None = None,
    hostile: Stress | None = None,
    recorded: bool = False,
    **options: Any,
) -> AuditResult | StressResult:
    """Return the audit of the command line; for a search, the audit of the pair that it selects.

    Args:
        target: "package.module:object" or "file.py:object"; a function, which another process imports and runs, or a
            mechanism.
        program: a command line, instead of a target.
        claimed: the claim and the pair.
        seed, n_jobs, options: as for `dpassay.audit.audit`.
        timeout: seconds for one call of a Python function, or for one batch of a program; None is no limit for a
            function, `BATCH_SECONDS` for a program.
        recorded: also record how a function uses its noise on both sides; differences become warnings.
        plain: True if the program reads and writes plain lines instead of JSON.
        python: interpreter of another environment, which imports and runs the function; None for this one.
        pair_search: domain and budget of a search.
        hostile: audits on hostile data.

    Raises:
        ParameterError: target and program, or neither; claim or pair missing; a pair and a search; a recording of
            something other than a function.
    """
    options = {name: value for name, value in options.items() if value is not None}
    options |= {"seed": seed, "n_jobs": n_jobs, "attack": _attack(options.get("attack", "auto"))}
    if "minutes" in options and (pair_search is not None or hostile is not None):
        other = "--search, whose runs are counted: see --budget" if hostile is None else "--stress"
        raise ParameterError(f"--for is for one pair, and not for {other}.", argument="--for")
    run_audit: Callable[..., AuditResult | StressResult] = partial(_check, claimed=claimed)
    if pair_search is not None:
        run_audit = partial(_search, claimed=claimed, pair_search=pair_search)
    elif hostile is not None:
        run_audit = partial(_stress, claimed=claimed, hostile=hostile)
    if (target is None) == (program is None):
        raise ParameterError("give either a TARGET, such as noise.py:release, or --command.")
    if target is not None and plain:
        raise ParameterError("--plain is for --command LINE: give both, or leave it out.", argument="--plain")
    if python is not None and (target is None or recorded):
        raise ParameterError(
            "--python is for a TARGET without --record: a recording needs this library in its environment.",
            argument="--python",
        )
    if in_child():
        mark_expendable()
    if target is None and recorded:
        raise ParameterError(
            "--record needs a Python function: the random draws of a program cannot be recorded.", argument="--record"
        )
    if target is None:
        kind = PlainCommand if plain else Command
        external: Any = kind(program or "", timeout=BATCH_SECONDS if timeout is None else timeout)
        return run_audit(external, target, **options)
    with limit_calls(timeout), _loaded(target, python or "") as loaded:
        warnings = _findings(loaded, target, claimed) if recorded else ()
        result = run_audit(loaded, target, timeout=timeout, **options)
    if warnings and isinstance(result, AuditResult):
        return replace(result, warnings=(*result.warnings, *warnings))
    return result


@contextmanager
def _loaded(target: str, python: str) -> Iterator[Any]:
    """Give a target: a function, which this process never imports, or a mechanism, which it does."""
    try:
        function = IsolatedFunction(target, python)
    except NoFunctionError:
        if python:
            raise ParameterError(
                f"--python needs a function, but {target} is not a function.", argument="--python"
            ) from None
        yield _instance(load_target(target), target)
        return
    with function:
        yield function


def _attack(name: str) -> Any:
    """Return the attack of --attack: its name, or code of the user as "mine.py:score"."""
    if ":" not in name:
        return name
    from ..config.tasks.own import own_attack

    return own_attack(load_target(name, argument="attack"), name)


def _findings(function: Any, target: str, claimed: Claimed) -> tuple[str, ...]:
    """Return the findings of a recording of the function, in sentences."""
    pair = claimed.pair(as_json=False)
    if not isinstance(function, IsolatedFunction):
        raise ParameterError(f"--record needs a function, but {target} is not a function.", argument="--record")
    if pair is None:
        raise ParameterError("--record needs a pair: add --d0 and --d1.", argument="--record")
    return RecordedTarget(target, pair, claimed.guarantee(), claimed.delta).findings()


def _instance(loaded: Any, target: str) -> Any:
    """Return the loaded object; raises `ParameterError` for the class of a mechanism, or a measurement of OpenDP."""
    if isinstance(loaded, type) and issubclass(loaded, Mechanism):
        raise ParameterError(
            f"{target} is a class: give an instance of it, such as `mechanism = {loaded.__name__}(...)`."
        )
    if type(loaded).__name__ == "Measurement" and type(loaded).__module__.startswith("opendp"):
        raise ParameterError(
            f"{target} is a Measurement of OpenDP, which knows its own claim: in the file, write `mechanism = "
            "opendp_measurement(measurement, d0, d1)`, from dpassay.mechanisms.adapters, and name `mechanism` instead. "
            "Leave out --epsilon, --d0 and --d1."
        )
    return loaded


def _search(
    audited: Any, target: str | None, *, claimed: Claimed, pair_search: PairSearch, **options: Any
) -> AuditResult:
    """Return the audit of the pair that a search in a domain selects; its ledger contains the search."""
    if claimed.d0 is not None or claimed.d1 is not None:
        raise ParameterError("give either --search, which finds the pair, or --d0 and --d1.", argument="--search")
    if claimed.epsilon is None and not isinstance(audited, Mechanism):
        raise ParameterError(NO_EPSILON)
    result = search(
        audited,
        domain=domain_from(pair_search.domain),
        relation=claimed.relation,
        budget=pair_search.budget,
        attacks=[options.pop("attack")],
        claim=claimed.guarantee(),
        delta=claimed.bound_delta,
        **options,
    )
    return result.confirmed


def _stress(audited: Any, target: str | None, *, claimed: Claimed, hostile: Stress, **options: Any) -> StressResult:
    """Return the audits on hostile data of the target or program of the command line."""
    if claimed.d1 is not None:
        raise ParameterError("--stress makes the pairs: give one example dataset, --d0.", argument="--d1")
    if options.pop("stop", None):
        raise ParameterError("--stress stops at any time already: leave out --stop.", argument="--stop")
    if claimed.d0 is None and not isinstance(audited, Mechanism):
        raise ParameterError("--stress needs an example dataset: add --d0, such as --d0 '[0.2, 0.7, 0.5]'.")
    if claimed.epsilon is None and not isinstance(audited, Mechanism):
        raise ParameterError(NO_EPSILON)
    bounds = None if hostile.bounds is None else read_dataset("--bounds", hostile.bounds, True)
    options["timeout"] = options.get("timeout") or (None if target is None else DEFAULT_TIMEOUT)
    result = stress(
        audited,
        None if claimed.d0 is None else read_dataset("--d0", claimed.d0, target is None),
        claim=claimed.guarantee(),
        bounds=bounds,
        relation=claimed.relation,
        records=claimed.records,
        without=hostile.without,
        delta=claimed.bound_delta,
        **options,
    )
    if target is not None:
        return replace(result, target=shlex.quote(target))
    plain = " --plain" if isinstance(audited, PlainCommand) else ""
    return replace(result, target=f"--command {shlex.quote(audited.line)}{plain}")


def _check(audited: Any, target: str | None, *, claimed: Claimed, **options: Any) -> AuditResult:
    """Return the audit of the target or program of the command line, on the given pair."""
    program = target is None
    pair, claim, delta = claimed.pair(as_json=program), claimed.guarantee(), claimed.bound_delta
    try:
        if not isinstance(audited, Mechanism):
            audited, pair, claim = _wrapped(audited, pair, claim, claimed, many=program), None, None
        return audit(audited, pair, claim=claim, delta=delta, **options)
    except NeighboursError as error:
        if not claimed.records:
            raise
        advice = "Name another relation with --relation; if the datasets are not lists of records, add --no-records."
        said = str(error).removesuffix(error.advice).rstrip()
        raise NeighboursError(f"{said} {advice}", argument=error.arguments, advice=advice) from error


def add_build(
    file: Path | None, audited: Callable[..., AuditResult | StressResult], seed: int, level: float
) -> tuple[AuditResult | StressResult, History | None]:
    """Run an audit, as a build of a history if there is one; return its result, and the history with it.

    Args:
        file: of the history; None without one.
        audited: takes the seed, and the history.
        seed: of the audit, or of the first build.
        level: of the history.
    """
    if file is None:
        return audited(seed=seed), None
    from ..ci.history import History

    with History.opened(file, level=level, seed=seed) as builds:
        result = audited(seed=builds.seed, history=builds)
        assert isinstance(result, AuditResult)
        return result, builds.add(result)


def baseline_of(file: Path | None) -> CheckedClaims | None:
    """Return the claim of a saved audit; None without a file.

    Raises:
        ResultError: the file cannot be read, or is damaged.
        ParameterError: it holds several claims, or those of a session of pytest.
    """
    if file is None:
        return None
    from ..ci.saved_runs import load

    checked = load(file).checked
    if checked.source == SESSION or len(checked.claims) != 1:
        raise ParameterError(
            f"--baseline must be the result of one audit, but {file} holds {plural(len(checked.claims), 'claim')} of a "
            f"{checked.source}. Write one with `dpassay check ... --json FILE`.",
            argument="--baseline",
        )
    return checked


def _wrapped(
    function: Any, pair: Neighbours | None, claim: Guarantee | None, claimed: Claimed, *, many: bool
) -> FunctionMechanism:
    """Return a function or program as a mechanism; raises `ParameterError` without a claim or a pair."""
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
