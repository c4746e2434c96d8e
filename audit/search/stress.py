"""Audits on hostile data: pairs that broke released libraries, made from one example dataset.

    example, bounds -> pairs with hostile data -> a short audit of each -> one table, and one reported pair

Statistics. Null hypothesis of pair j: the claim holds for the function on this pair and its relation. If the claim is
true for the stated relations, all null hypotheses are true.

*Level.* The m pairs and their weights are functions of the example, the bounds and the relations: both are fixed before
any run. Pair j is audited at the significance a / m (equal weights), so that by a union bound all bounds hold
simultaneously with probability at least 1 - a, however the pairs depend on each other. The verdict on a pair needs no
further correction, and one refuted pair refutes the claim. Places of pairs that are not audited, since the code refuses
them or enough pairs are refuted, stay empty: this only lowers the probability of a false alarm.

*Looks.* Each audit stops as soon as its pair is refuted. Its bound holds at all numbers of trials simultaneously (a
test supermartingale, `dpassay.audit.bounds.pair.betting`), so that the stopping rule costs nothing. Which pairs are
left out because others are refuted depends on earlier audits only, and a union bound needs no independence.

*Choice by outputs.* One kind of pair depends on runs: the number of equal records from which on the code behaves
otherwise (raises, or returns no number) is found by bisection. Its places are counted in m before, and the runs of the
bisection come from a stream of their own: given the number that they find, the audit is an ordinary one. Values that
are not of the type of the records are audited only if the code accepts them in a few runs, which are not counted.

*What is reported.* All bounds hold simultaneously, so that any refuted pair may be reported: it is the one with the
shortest datasets, which is the easiest to repeat. Where no relation is stated, pairs of both are audited, and the
result says for which the claim is refuted.

A violation is pronounced by the same steps as in every audit: the test of independence, and fresh processes.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any

from ...attacks.catalogue import AttackChoice
from ...mechanisms.accounting import ApproximateDP, PureDP
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.guard import limit_calls
from ...mechanisms.adapters.functions.isolated_function import IsolatedFunction
from ...mechanisms.adapters.functions.target import style_of
from ...mechanisms.core import (
    AlwaysRaisesError,
    AttackError,
    Dataset,
    Guarantee,
    Mechanism,
    NeighboursError,
    NoAnswerError,
    ParameterError,
    Relation,
    ReleaseError,
    called_as,
    number,
    unit_interval,
)
from ..api import audit
from ..bounds.catalogue import BoundChoice
from ..evidence.statement import Statement
from ..games.setup import check_function
from ..results.audit_result import AuditResult
from ..results.refuting_event import NO_ANSWER
from ..trials.progress import Reporter
from ..trials.seeds import Stage, child_seed, root_seed, stream
from .fitted import fitted
from .hostile.forms import code_of, json_of
from .hostile.pairs import HostilePair, HostilePairs, edge_pairs, hostile_pairs, most_edge_pairs
from .relations import relations_of
from .stress_result import PairOutcome, StressedPair, StressResult, reported_index, with_pairs

DEFAULT_TRIALS = 1_000
"""Runs per side of a pair: at a claim of 1 they refute a true epsilon of about 2 for Laplace noise."""
SHARE_OF_TRIALS = {"ordinary": 4.0, "thousands": 0.5}
"""Factor on the runs of pairs of a family; 1 for the others."""
DEFAULT_TIMEOUT = 10.0
"""Seconds that one call may take."""
MAX_REFUTED = 6
"""Number of refuted pairs after which no further pair is audited."""
LARGEST_SIZE = 8_192
"""Largest number of equal records with which the code is called."""
N_PROBES = 2
"""Runs on each side that show whether the code accepts a foreign value."""


@called_as("stress(release, [0.2, 0.7, 0.5], claim=PureDP(1.0), bounds=(0, 1))")
def stress(
    mechanism: Mechanism | Callable[..., Any],
    example: Dataset = None,
    *,
    claim: Guarantee | None = None,
    bounds: Any = None,
    relation: str | Relation | None = None,
    records: bool = True,
    without: Sequence[str] = (),
    attack: AttackChoice = "auto",
    bound: BoundChoice = "auto",
    trials: int = DEFAULT_TRIALS,
    delta: float | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    n_jobs: int | None = 1,
    timeout: float | None = DEFAULT_TIMEOUT,
    progress: bool | Reporter = False,
) -> StressResult:
    """Audit a function on data that broke released libraries, made from one example dataset.

    NaN, infinities, no record, thousands of equal records, values at and outside of the bounds, new categories and
    others: `dpassay.audit.search.hostile.FAMILIES` lists them. Each pair gets a short audit, which stops as soon as its
    claim is refuted; all of them share one probability of a false alarm.

    Args:
        mechanism, claim, attack, bound, delta, n_jobs, progress: as for `dpassay.audit.audit`. A function with a
            parameter `bounds` receives the bounds, and is also audited with bounds far from 0.
        example: an ordinary dataset: a list, an array, a Series or a DataFrame of numbers, texts, or rows of these; or
            a single value (see records). None for the worst case of a mechanism.
        bounds: documented bounds of numbers, as (low, high); documented categories, as a list of texts; for rows one
            of these for each column, or a dict by column. None takes the extremes of the example.
        relation: of the pairs; None for that of the mechanism or of the claim, else both "add_remove" and
            "replace_one".
        records: False if the dataset is a single value, such as the answer of one user or a vector of parameters,
            which is replaced as a whole.
        without: families to leave out, because the documentation of the function excludes such data.
        trials: runs per side of each pair, pilot included, >= 60; four times as many for ordinary values, half as many
            for thousands of records.
        confidence: of all verdicts together.
        seed: of every random stream; None draws a fresh one and records it.
        timeout: seconds that one call may take, None for no limit. A function that answers on one side of a pair only
            is a violation, see `dpassay.audit.games.no_answer`; this is tested until it is found for one pair. A pair
            with longer calls on both sides has no answer.

    Returns:
        The outcome of each pair, and the audit of the reported one.

    Raises:
        ParameterError: an example, bounds or names that cannot be used.
        ReleaseError: no pair could be audited.

    Guarantees:
        * If the claim is true for the stated relations, the probability of a violation is at most 1 - confidence.
        * The same seed gives the same result, byte for byte.

    Example:
        >>> import numpy as np
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> def release(dataset, size, rng):
        ...     return dataset.clip(0, 1).sum() + rng.laplace(size=size)  # NaN passes clip
        >>> options = {"trials": 200, "without": ["sizes", "equal", "thousands"], "relation": "add_remove"}
        >>> result = stress(release, np.array([0.2, 0.7]), claim=PureDP(1.0), bounds=(0, 1), seed=0, **options)
        >>> result.verdict.value, {pair.family for pair in result.with_outcome(PairOutcome.VIOLATION)}
        ('violation', {'nan'})
    """
    seed = root_seed(seed)
    unit_interval(confidence=confidence)
    if not isinstance(mechanism, Mechanism):
        claim = check_function(mechanism, claim)
        style_of(mechanism)
    else:
        Statement.about(mechanism, claim, delta=delta, confidence=confidence)  # raises before anything runs
    if example is None:
        if not isinstance(mechanism, Mechanism):
            raise ParameterError("example must be given for a function: an ordinary dataset.", argument="example")
        example = mechanism.worst_case().d1
    relations = relations_of(mechanism, claim, relation, records=records)
    takes_bounds = not isinstance(mechanism, Mechanism) and _takes_bounds(mechanism)
    made = hostile_pairs(example, relations, bounds=bounds, records=records, takes_bounds=takes_bounds, without=without)
    if not made.pairs:
        raise ParameterError("no pair is left: leave out fewer kinds of data.", argument="without")
    searches_edge = made.form is not None and "thousands" not in without
    n_tests = len(made.pairs) + (most_edge_pairs(relations) if searches_edge else 0)
    run = _Stress(
        mechanism,
        made,
        relations,
        bounds if takes_bounds else None,
        claim,
        records=made.form is not None,
        trials=trials,
        confidence=_confidence((1.0 - confidence) / n_tests),
        seed=seed,
        options={
            "attack": attack, "bound": bound, "delta": delta, "n_jobs": n_jobs, "timeout": timeout, "progress": progress
        },
    )  # fmt: skip
    run.audit_all(searches_edge=searches_edge)
    index = reported_index(run.rows)
    if index is None:
        reasons = "; ".join(dict.fromkeys(f"{row.words}: {row.reason}" for row in run.rows[:3]))
        raise ReleaseError(f"no pair could be audited. {reasons}")
    total = f"union bound: significance {number(1.0 - confidence)} / {n_tests} for each pair"
    reported = with_pairs(run.results[index], index, n_tests, confidence, total)
    tested = claim or mechanism.guarantee()  # type: ignore[union-attr]
    return StressResult(
        tuple(run.rows),
        reported,
        index,
        confidence,
        n_tests,
        tuple(relation.value for relation in relations),
        seed,
        made.left_out,
        claim_options=_claim_options(tested),
        claim_code=repr(tested),
    )


@dataclass
class _Stress:
    """The audits of all pairs of one call."""

    mechanism: Mechanism | Callable[..., Any]
    made: HostilePairs
    relations: tuple[Relation, ...]
    bounds: Any
    claim: Guarantee | None
    records: bool
    trials: int
    confidence: float
    seed: int
    options: dict[str, Any]
    rows: list[StressedPair] = field(default_factory=list, init=False)
    results: dict[int, AuditResult] = field(default_factory=dict, init=False)

    def audit_all(self, *, searches_edge: bool) -> None:
        """Audit every pair, those at the edge of a change of behaviour last."""
        for pair in self.made.pairs:
            self._add(pair)
        if searches_edge and not self._enough("thousands", ""):
            n = self._edge()
            for pair in [] if n is None else edge_pairs(self.made, n, self.relations):
                self._add(pair)

    def _enough(self, family: str, relation: str) -> bool:
        """Return whether enough pairs are refuted, or one of this family and relation."""
        refuted = [row for row in self.rows if row.outcome is PairOutcome.VIOLATION]
        return len(refuted) >= MAX_REFUTED or any((row.family, row.relation) == (family, relation) for row in refuted)

    def _add(self, pair: HostilePair) -> None:
        """Audit one pair, and append its row."""
        index, neighbours = len(self.rows), pair.neighbours
        d0, d1 = neighbours.d0, neighbours.d1
        given = self.bounds if pair.bounds is None else pair.bounds
        row = StressedPair(
            pair.family,
            pair.words,
            neighbours.relation.value,
            PairOutcome.SKIPPED,
            trials=max(60, int(self.trials * SHARE_OF_TRIALS.get(pair.family, 1.0))),
            d0=json_of(d0) if given is None and json_of(d1) else "",
            d1=json_of(d1) if given is None and json_of(d0) else "",
            code0=code_of(d0),
            code1=code_of(d1),
            bounds="" if given is None else repr(given),
        )
        if not self._enough(row.family, row.relation):
            row = self._audited(pair, row, index)
        self.rows.append(row)

    def _audited(self, pair: HostilePair, row: StressedPair, index: int) -> StressedPair:
        """Return the row of a pair with the outcome of its audit, which is kept."""
        try:
            mechanism = self._fitted(pair)
            unanswered = _unanswered(mechanism)
            if unanswered and any(one.attack.startswith(NO_ANSWER) for one in self.results.values()):
                return replace(row, outcome=PairOutcome.NO_ANSWER, reason=unanswered)
            if pair.foreign and self._raises(mechanism, pair, index):
                reason = "the code raises on a value that is not of the type of the records"
                return replace(row, outcome=PairOutcome.REFUSED, reason=reason)
            result = audit(
                mechanism,
                pair.neighbours,
                trials=row.trials,
                stop="anytime",
                confidence=self.confidence,
                seed=child_seed(self.seed, Stage.SEARCH, index),
                **self.options,
            )
        except NoAnswerError as error:
            return replace(row, outcome=PairOutcome.NO_ANSWER, reason=str(error))
        except (AlwaysRaisesError, NeighboursError) as error:
            return replace(row, outcome=PairOutcome.REFUSED, reason=str(error))
        except (AttackError, ReleaseError) as error:
            return replace(row, outcome=PairOutcome.FAILED, reason=str(error))
        except ParameterError as error:
            if not isinstance(self.mechanism, Mechanism):
                raise
            return replace(row, outcome=PairOutcome.REFUSED, reason=str(error))
        self.results[index] = result
        outcome = PairOutcome(result.verdict.value)
        return replace(row, outcome=outcome, bound=result.bound.epsilon, detectable=result.detectable)

    def _fitted(self, pair: HostilePair) -> Mechanism:
        """Return the mechanism for a pair; a function with a parameter `bounds` gets those of the pair."""
        mechanism, given = self.mechanism, self.bounds if pair.bounds is None else pair.bounds
        if given is not None:
            assert callable(mechanism)
            add = mechanism.with_options if isinstance(mechanism, IsolatedFunction) else partial(partial, mechanism)
            mechanism = add(bounds=given)
        timeout = self.options["timeout"]
        return fitted(mechanism, pair.neighbours, claim=self.claim, records=self.records, timeout=timeout)

    def _raises(self, mechanism: Mechanism, pair: HostilePair, index: int) -> bool:
        """Return whether each of a few runs raises on a side, from a stream of their own."""
        if _unanswered(mechanism):
            return False
        rng = stream(self.seed, Stage.SEARCH, 1, index)
        with limit_calls(self.options["timeout"]):
            sides = [mechanism.release(pair.neighbours.side(side), N_PROBES, rng).labels for side in (0, 1)]
        return any(all(label.startswith("raised ") for label in labels) for labels in sides)

    def _edge(self) -> int | None:
        """Return the smallest number of equal records found with which the code behaves otherwise; None for none.

        The number is doubled until the outcome is an ordinary number on one side and exceptional on the other; then it
        is found by bisection.
        """
        kind, form = self.made.kind, self.made.form
        if not isinstance(self.mechanism, FunctionMechanism) and isinstance(self.mechanism, Mechanism):
            return None
        mechanism = next((self._fitted_or_none(pair) for pair in self.made.pairs if not pair.bounds), None)
        if mechanism is None:
            return None
        assert kind is not None
        assert form is not None
        rng = stream(self.seed, Stage.SEARCH, 1, len(self.rows))

        def behaviour(n: int) -> str:
            with limit_calls(self.options["timeout"]):
                label = str(mechanism.release(form.build([kind.middle] * n), 1, rng).labels[0])
            return label if label.startswith("raised ") else label and "exceptional"

        try:
            below, above, usual = 2, 2, behaviour(2)
            while above < LARGEST_SIZE:
                above = 2 * below
                if behaviour(above) != usual:
                    break
                below = above
            else:
                return None
            while above - below > 1:
                between = (below + above) // 2
                below, above = (between, above) if behaviour(between) == usual else (below, between)
        except (ReleaseError, ValueError, TypeError):
            return None
        return above

    def _fitted_or_none(self, pair: HostilePair) -> Mechanism | None:
        try:
            mechanism = self._fitted(pair)
        except (ReleaseError, ParameterError):
            return None
        return None if _unanswered(mechanism) else mechanism


def _unanswered(mechanism: Mechanism) -> str:
    """Return why the first runs of a function gave no answer; "" if they did."""
    return mechanism.unanswered if isinstance(mechanism, FunctionMechanism) else ""


def _takes_bounds(function: Callable[..., Any]) -> bool:
    """Return whether a function has a parameter `bounds`."""
    try:
        return "bounds" in signature(function).parameters
    except (ValueError, TypeError):
        return False


def _confidence(significance: float) -> float:
    """Return the least float c with 1 - c <= significance: rounding never exceeds the share."""
    confidence = 1.0 - significance
    return confidence if 1.0 - confidence <= significance else math.nextafter(confidence, 2.0)


def _claim_options(claim: Guarantee) -> str:
    """Return the claim as options of the command line; "" where it has no such form."""
    if type(claim) is PureDP:
        return f"--epsilon {claim.nominal_epsilon!r}"
    if type(claim) is ApproximateDP:
        return f"--epsilon {claim.nominal_epsilon!r} --delta {claim.nominal_delta!r}"
    return ""


def default_timeout() -> float | None:
    """Return the default time limit of a call; None where the system has no alarm clock."""
    return DEFAULT_TIMEOUT if hasattr(signal, "setitimer") else None
