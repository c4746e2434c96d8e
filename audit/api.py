"""`audit`, `audit_scores` and `assert_private`: from a mechanism, or from scores, to a verdict.

    mechanism and pair -> trials -> scores -> bounds -> verdict

`dpassay.audit.games.setup` checks and completes the arguments, and `dpassay.audit.games.pair` runs the audit;
`dpassay.audit.games.external_scores` judges scores from other code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from inspect import signature
from types import ModuleType
from typing import Any

from ..attacks.catalogue import AttackChoice
from ..mechanisms.adapters.functions.function import FunctionMechanism
from ..mechanisms.adapters.functions.guard import limit_calls
from ..mechanisms.adapters.functions.isolated_function import IsolatedFunction
from ..mechanisms.core.base import Mechanism, Neighbours
from ..mechanisms.core.errors import (
    DependentTrialsError,
    ManyRunsError,
    NoAnswerError,
    ParameterError,
    PrivacyViolation,
)
from ..mechanisms.core.fingerprint import fingerprint
from ..mechanisms.core.guarantee import Guarantee
from ..mechanisms.core.printable import display_name
from ..mechanisms.core.validation import called_as, counted, positive
from .bounds.catalogue import BoundChoice
from .bounds.pair.betting import STAKES
from .evidence.builds import BuildEvidence, Builds
from .evidence.verdict import Verdict
from .games.external_scores import audit_scores
from .games.no_answer import no_answer
from .games.pair import PairRun
from .games.setup import AuditSetup
from .results.audit_result import AuditResult
from .results.plain import message
from .results.text import INDEPENDENCE_ADVICE
from .trials.execution import in_this_process
from .trials.options import RunOptions, Store
from .trials.plan import DEFAULT_TRIALS, MAX_KEPT_SCORES
from .trials.progress import Reporter, reporter_for
from .trials.seeds import root_seed

RERUN_FOLDER = "one-at-a-time"
"""Folder of a store for trials that were repeated with one run per call."""


@called_as("audit(release, Neighbours(d0, d1, 'add_remove'), claim=PureDP(1.0))")
def audit(
    mechanism: Mechanism | Callable[..., Any],
    neighbours: Neighbours | None = None,
    *,
    attack: AttackChoice = "auto",
    bound: BoundChoice = "auto",
    trials: int | float | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    claim: Guarantee | None = None,
    stop: str | None = None,
    minutes: float | None = None,
    n_hypotheses: int = 1,
    seed: int | None = None,
    n_jobs: int | None = 1,
    timeout: float | None = None,
    store: Store = None,
    progress: bool | Reporter = False,
    isolated: bool = False,
    history: Builds | None = None,
) -> AuditResult:
    """Run `mechanism` on two neighbouring datasets, attack the outputs, and bound epsilon from below.

    Args:
        mechanism: a `Mechanism`, or a function `release(dataset, rng)` (one run) or `release(dataset, size, rng)`. If
            a call of the latter raises, all trials are repeated with one run per call, size=1.
        neighbours: the pair of datasets; None for `mechanism.worst_case()`. Needed for a function.
        attack: a name in `dpassay.attacks.catalogue`, an `Attack`, a function from outputs to scores (see
            `dpassay.attacks.FunctionAttack`), or "auto": the likelihood ratio where the output
            distribution is known, an attack on the canary for a DPSGD, else a classifier; see
            `dpassay.attacks.catalogue.choose`.
        bound: a name in `dpassay.audit.bounds.catalogue`, a `Bound`, or several of these, among which the significance
            is divided; "auto" is "joint-exact" with its threshold chosen on the pilot, or "betting" with
            stop="anytime".
        trials: runs per side, pilot included: a whole number >= 10, also as a float such as 1e5. A classifier, the
            "auto" attack on a function, needs 60: it learns from 30 pilot runs a side. None is 100,000, and with
            `minutes` at most 2,000,000.
        delta: at which epsilon is bounded, in [0, 1); None for the `default_delta` of the claim.
        confidence: of the bound, strictly between 0 and 1; 1 - confidence is the probability of a false alarm.
        claim: the guarantee that is tested; None for `mechanism.guarantee()`. Needed for a function.
        stop: "anytime" tests the claim after 32 trials a side and again whenever a quarter more has run, and stops as
            soon as it is refuted; None runs all trials. The confidence holds for all these tests together.
        minutes: time after which no further trials are run, > 0; it sets stop="anytime", whose bound holds at every
            number of trials. How many were run, and so the result, then depends on the machine: see `result.trials`.
        n_hypotheses: number of audits, this one included, whose verdicts are corrected together (Holm), >= 1. Bound,
            p-value and verdict are those of this audit alone; only `detectable` takes the correction into account.
        seed: of every random stream, a whole number >= 0; None draws a fresh one and records it.
        n_jobs: workers; 1 runs in this process, -1 uses every core, None follows `joblib.parallel_config`.
            The result does not depend on it.
        timeout: seconds that one call of a Python function may take, > 0; None for no limit. A function that never
            answers on one side only is a violation (see `dpassay.audit.games.no_answer`), and on both an error. In
            this process a call is stopped as soon as it returns to Python; for code that never does, set `isolated`.
        store: directory for finished trials, from which an interrupted audit continues; None stores nothing.
        progress: True shows a progress bar when stderr is a terminal; or a `Reporter`.
        isolated: True runs a function in another process, which gets a copy of it and answers with plain data; see
            `IsolatedFunction`. The numbers are those of this process, unless a generator of its module or its own has
            been used here: none is advanced here, and a second audit repeats its noise. False runs it in this process.
        history: open history of builds with the same claim, such as `dpassay.experiments.ci.History.opened` gives; it
            receives the evidence of these trials. None for an audit on its own.

    Returns:
        The bound, the claim, the verdict, and everything that a table, a plot or a report needs.

    Raises:
        ParameterError: a value out of range; the message names it.
        NeighboursError, RelationError: the claim does not hold for such a pair.
        AttackError, ReleaseError, StoreError: see `dpassay.mechanisms.core.errors`.

    An exception of the audited code is an output, or an error that names it; its changes to this process are undone
    (see `AuditResult.warnings`). Code that ends the whole process, as `os._exit` does, ends this one too, unless
    `isolated`, or n_jobs > 1: then another process ends, which is a `ReleaseError`.

    Guarantees:
        * With probability at least `confidence`, `result.bound.epsilon` does not exceed the true epsilon at `delta`,
          if the runs are independent and the `assumptions` of the bound hold.
        * Serial, parallel and resumed audits with the same seed give the same result, byte for byte, unless `minutes`
          ends them.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> result = audit(Laplace(epsilon=1.0), trials=20_000, seed=0)
        >>> result.verdict.value, result.claim
        ('consistent', 1.0)
        >>> 0.9 < result.bound.epsilon <= 1.0
        True
    """
    options = RunOptions(n_jobs, store, progress)
    if minutes is not None:
        positive(minutes=minutes)
        stop = stop or "anytime"
    most = DEFAULT_TRIALS if minutes is None else MAX_KEPT_SCORES
    seed, trials = root_seed(seed), counted(1, trials=most if trials is None else trials)
    with ExitStack() as stack:
        if isolated:
            mechanism = _isolated(mechanism, stack)
        with limit_calls(timeout):
            setup = AuditSetup.of(mechanism, neighbours, attack, bound, delta, confidence, claim, stop, n_hypotheses)
        try:
            try:
                return _run_audit(setup, trials, seed, options, timeout, minutes, history)
            except ManyRunsError:
                with limit_calls(timeout):
                    one = setup.one_at_a_time()
                if one is None:
                    raise
                return _run_audit(one, trials, seed, options.below(RERUN_FOLDER), timeout, minutes, history)
        except NoAnswerError as error:
            if timeout is None:
                raise
            with closing(reporter_for(progress)) as reporter, in_this_process():
                result = no_answer(setup, seed, float(timeout), error, reporter)
            if history is not None:
                history.keep(BuildEvidence(setup.code_digest, "", (0.0,) * len(STAKES), "a call gave no answer"))
            return result


def _isolated(mechanism: Mechanism | Callable[..., Any], stack: ExitStack) -> Mechanism | Callable[..., Any]:
    """Return a function, or a `FunctionMechanism`, whose calls are made in an isolated process until `stack` closes."""
    function = mechanism.function if isinstance(mechanism, FunctionMechanism) else mechanism
    if isinstance(function, (Mechanism, type)) or not callable(function):
        raise ParameterError(
            f"isolated=True needs a function, but {display_name(mechanism)} is none: a mechanism runs in this process.",
            argument="isolated",
        )
    if isinstance(function, IsolatedFunction):
        return mechanism
    apart = stack.enter_context(IsolatedFunction.of(function))
    return replace(mechanism, function=apart) if isinstance(mechanism, FunctionMechanism) else apart


def _run_audit(
    setup: AuditSetup,
    trials: int,
    seed: int,
    options: RunOptions,
    timeout: float | None,
    minutes: float | None,
    history: Builds | None,
) -> AuditResult:
    """Run one audit whose arguments are checked, and return its result."""
    with limit_calls(timeout):
        plan, seconds = setup.plan(trials, seed, minutes, bets=history is not None)
    digest = setup.describe(plan, seed)
    with options.opened(digest) as (opened, reporter):
        played = PairRun(
            setup, plan, seed, fingerprint(digest), opened, options.n_jobs, reporter, timeout, minutes, history
        )
        played.announce(seconds)
        return played.result()


@called_as("assert_private(release, Neighbours(d0, d1, 'add_remove'), claim=PureDP(1.0))", like=audit)
def assert_private(
    mechanism: Mechanism | Callable[..., Any], neighbours: Neighbours | None = None, **options: Any
) -> AuditResult:
    """Run `audit`, and raise `PrivacyViolation` (an AssertionError) with the evidence in its message on a violation.

    Args:
        mechanism, neighbours, options: as for `audit`. In a test, fix `seed`, and choose a `confidence` close to 1,
            such as 1 - 1e-6.

    Returns:
        The result, whose verdict is `consistent` or `underpowered`.

    Raises:
        PrivacyViolation: the claim is refuted.
        DependentTrialsError: the trials are not independent, which leaves no verdict.
        DpassayError: as for `audit`.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> assert_private(Laplace(epsilon=1.0), trials=5_000, confidence=1 - 1e-6, seed=1).verdict.value
        'consistent'
    """
    __tracebackhide__ = True
    result = audit(mechanism, neighbours, **options)
    if result.verdict is Verdict.VIOLATION:
        raise PrivacyViolation(message(result.text()), result)
    if result.verdict is Verdict.DEPENDENT:
        raise DependentTrialsError(display_name(result.mechanism), result.dependence or "", INDEPENDENCE_ADVICE)
    return result


__all__ = ["assert_private", "audit", "audit_scores"]


class CallableModule(ModuleType):
    """Class of the module `dpassay.audit`, which can be called like the function `audit` that it holds."""

    __signature__ = signature(audit)

    def __call__(self, *args: Any, **options: Any) -> AuditResult:
        """Return `audit(*args, **options)`."""
        return audit(*args, **options)
