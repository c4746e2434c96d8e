"""What the trials of a pair show besides their scores: witnesses, dependence, and what a reader should know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ...mechanisms.base import Mechanism, Outputs
from ...mechanisms.external.first_runs import FirstRuns
from ...mechanisms.external.function import FunctionMechanism
from ...mechanisms.label import label
from ..bounds.base import LedgerEntry
from ..trials.guards.independence import SHARE, Dependence, Independence
from ..trials.reduction import EvaluationScores
from ..witness.base import Witness
from ..witness.datasets import as_json
from ..witness.impossible import impossible_outputs
from ..witness.no_randomness import EXPLAIN, EXPLAIN_POOL, Replayed, doubt, doubt_of_a_pool, no_randomness, replay
from .question import Question


@dataclass(frozen=True, eq=False)
class Observed:
    """What was seen while a question was answered.

    Args:
        question: that was asked.
        evaluation: what was kept of the evaluation trials.
        n_runs: of them, on each side.
        independence: the test of their independence; None where they are independent by construction.
    """

    question: Question
    evaluation: EvaluationScores
    n_runs: int
    independence: Independence | None

    def witnesses(self, seed: int) -> tuple[Witness, ...]:
        """Outputs that the other side never gives, and outputs without any noise."""
        impossible = impossible_outputs(
            self.evaluation.impossible,
            self.question.statement.claim,
            mechanism=label(self.question.mechanism),
            n_runs=self.n_runs,
            seed=seed,
            datasets=as_json(self.question.neighbours),
        )
        name, datasets = label(self.question.mechanism), as_json(self.question.neighbours)
        claim = self.question.statement.claim
        return (
            *impossible,
            *no_randomness(self._replayed, claim, mechanism=name, n_runs=self.n_runs, datasets=datasets),
        )

    def dependence(self) -> Dependence | None:
        """Why these trials are not independent; None where nothing says so."""
        if self.independence is None:
            return None
        level = self.question.guard_significance
        return self._replayed.dependence(self.n_runs, level) or self.independence.dependence(level)

    def doubted(self, refuted_by_copies: Callable[[Outputs, Outputs], bool]) -> Dependence | None:
        """Why a claim that a bound refutes may not be refuted: the trials could be few runs that are remembered.

        Args:
            refuted_by_copies: whether fresh runs, as outputs of both sides, refute the claim by themselves.
        """
        mechanism = self.question.mechanism
        if self.independence is None or not isinstance(mechanism, FunctionMechanism):
            return None
        if self.evaluation.unvarying.differs:
            found, what = doubt(_first_runs(mechanism), self._replayed), EXPLAIN
        elif self.independence.repeats():
            found, what = doubt_of_a_pool(_first_runs(mechanism), lambda: self._copies), EXPLAIN_POOL
        else:
            return None
        if found is None or (found.copies_count and refuted_by_copies(*self._copies.outputs())):
            return None
        return Dependence("memory", None, 0.0, f"{what}: {found.what}")

    def warnings(self) -> tuple[str, ...]:
        """Randomness from elsewhere, outputs that never vary, a law that is not theirs."""
        mechanism, unvarying = self.question.mechanism, self.evaluation.unvarying.sides
        found = list(_first_runs(mechanism).warnings)
        if unvarying:
            where = "on both sides" if len(unvarying) == 2 else f"on side {unvarying[0]}"
            found.append(
                f"the output never varied {where}: no noise was added there, or an earlier result was given again."
            )
        if self.evaluation.impossible.broken:
            found.append(
                f"the output law of {label(mechanism)} finds some of its own outputs impossible: it is not the law of "
                "these runs. (Bounds do not lean on it.)"
            )
        if self.evaluation.impossible.error:
            found.append(
                f"the output law of {label(mechanism)} raised {self.evaluation.impossible.error}: outputs that the "
                "other side never gives were not looked for everywhere."
            )
        return tuple(found)

    def notes(self) -> tuple[str, ...]:
        """What the first runs showed that is nothing against the claim."""
        mechanism = self.question.mechanism
        found = _first_runs(mechanism).compared.notes
        if isinstance(mechanism, FunctionMechanism) and mechanism.style == "one-at-a-time":
            found += ("each run is a call of its own, with size=1: calls of many runs raise, or repeat each other.",)
        return found

    def looks(self) -> tuple[LedgerEntry, ...]:
        """The test of independence, and how it is paid for."""
        if self.independence is None:
            return ()
        looked_at = f"tested on these trials, p {self.independence.p_value():.2g}"
        share = f"{SHARE:.0%} of the significance, {self.question.guard_significance:.2g}; the bounds have the rest"
        return (LedgerEntry("independence", looked_at, share),)

    @cached_property
    def _replayed(self) -> Replayed:
        """Fresh runs, where they may show why outputs do not vary."""
        unvarying = self.evaluation.unvarying
        asked = unvarying.differs or (unvarying.sides and _first_runs(self.question.mechanism).changed)
        return self._copies if asked else Replayed((), unvarying)

    @cached_property
    def _copies(self) -> Replayed:
        return replay(self.question.mechanism, self.question.neighbours, self.evaluation.unvarying)


def _first_runs(mechanism: Mechanism) -> FirstRuns:
    """What was seen when a function was first run; nothing of any other mechanism."""
    seen = mechanism.first_runs if isinstance(mechanism, FunctionMechanism) else None
    return FirstRuns() if seen is None else seen
