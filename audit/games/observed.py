"""What the trials of a pair show besides their scores: witnesses, dependence, and what a reader should know of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...mechanisms.base import Mechanism
from ...mechanisms.external.first_runs import FirstRuns
from ...mechanisms.external.function import FunctionMechanism
from ...mechanisms.label import label
from ..bounds.base import LedgerEntry
from ..trials.guards.independence import SHARE, Dependence, Independence
from ..trials.reduction import EvaluationScores
from ..witness.base import Witness
from ..witness.datasets import as_json
from ..witness.impossible import impossible_outputs
from ..witness.no_randomness import Replayed, no_randomness, replay
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
        return (*impossible, *self._no_noise)

    def dependence(self) -> Dependence | None:
        """Why these trials are not independent; None where nothing says so, or where there was nothing random."""
        if self._no_noise or self.independence is None:
            return None
        sides = self.evaluation.unvarying.sides
        if self._replayed.remembered:
            what = "every run in one process gave the same output, but a run in a fresh one gives another"
            return Dependence("memory", None, 0.0, what)
        remembered = _first_runs(self.question.mechanism).changed
        if remembered and sides:
            what = f"{' and '.join(remembered)} changed in the first runs, and every run gave the same output"
            return Dependence("memory", sides[0] if len(sides) == 1 else None, 0.0, what)
        return self.independence.dependence(self.question.guard_significance)

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
        return replay(self.question.mechanism, self.question.neighbours, self.evaluation.unvarying)

    @cached_property
    def _no_noise(self) -> tuple[Witness, ...]:
        ask = self.question
        name, datasets = label(ask.mechanism), as_json(ask.neighbours)
        return no_randomness(self._replayed, ask.statement.claim, mechanism=name, n_runs=self.n_runs, datasets=datasets)


def _first_runs(mechanism: Mechanism) -> FirstRuns:
    """What was seen when a function was first run; nothing of any other mechanism."""
    seen = mechanism.first_runs if isinstance(mechanism, FunctionMechanism) else None
    return FirstRuns() if seen is None else seen
