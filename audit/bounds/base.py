"""The interface of a lower bound on epsilon: read this first.

Null hypothesis at epsilon: every event S that the bound uses satisfies

    Pr[in S | side 1] <= e^epsilon Pr[in S | side 0] + delta     and the same with the sides swapped.

The null hypotheses are nested (they grow with epsilon), so the smallest epsilon that the data do not reject is a lower
bound at the confidence of a single test. A bound is computed in two steps, as an attack is fitted and then scores:

    Bound         options, plain data
      name            name in the catalogue
      reads           the type of evidence that the bound reads
      anytime         whether the bounds after every number of trials hold simultaneously (early stopping is valid)
      condition       an assumption that no test can check, under which alone the bound refutes a claim; mostly empty
      fix             make all choices, from the statement and the pilot, before any evidence is seen
    FixedBound    a bound with all choices made
      lower_bound     the bound from evidence
      p_value         the smallest significance at which the evidence contradicts the claim
      exceeds_claim   whether the bound exceeds the claimed epsilon; may be faster than computing the bound
      curve_test      the point at which the whole claimed curve is contradicted; None if it is not, or cannot be judged
      refutes         whether the bound or the curve test contradicts the claim
      thresholds      thresholds that a grid of counts must contain

The ledger of each bound lists what was fixed beforehand, and each data-dependent choice with its correction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from ...mechanisms.core import Options, ParameterError
from ..evidence.scores import BitScores, PairScores, Scores, Successes
from ..evidence.statement import Statement
from .curve import CurveViolation

Evidence = Scores | BitScores | Successes
E = TypeVar("E", bound=Evidence)


@dataclass(frozen=True)
class LedgerEntry:
    """A choice that could depend on the data, and the correction that keeps the confidence valid.

    Args:
        what: the choice, such as "threshold", "direction", "bounds", "sweep".
        looked_at: the candidates, or the value that was chosen.
        correction: why the confidence remains valid, such as "chosen on pilot trials only" or "Bonferroni over 2".
    """

    what: str
    looked_at: str
    correction: str


@dataclass(frozen=True)
class LowerBound:
    """A number below the true epsilon with probability at least `confidence`.

    Args:
        epsilon: the bound, >= 0, in natural logarithms; 0 is the trivial bound.
        delta: the delta of the statement "not (e, delta)-DP for any e < epsilon".
        confidence: the bound does not exceed the true epsilon with at least this probability over the trials.
        method: name of the bound in the catalogue.
        n_trials: number of evaluation trials, both sides together.
        ceiling: the largest bound that this number of trials could ever give.
        ledger: the data-dependent choices behind the bound, with their corrections.
        assumptions: assumptions beyond independent trials, such as a family of curves; empty for most bounds.
        threshold: the event {score >= threshold} that gave the bound; None if the bound comes from several events.
        hits: (false positives, true positives) of that event.
        guesses: numbers of guesses "in", for the highest scores, and "out", for the lowest, that gave the bound; None
            for other bounds, and for guesses that are not by rank.
        condition: `Bound.condition`; such a bound refutes no claim.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    n_trials: int
    ceiling: float
    ledger: tuple[LedgerEntry, ...] = ()
    assumptions: tuple[str, ...] = ()
    threshold: float | None = None
    hits: tuple[int, int] | None = None
    guesses: tuple[int, int] | None = None
    condition: str = ""

    @property
    def significance(self) -> float:
        """Significance level, 1 - confidence."""
        return 1.0 - self.confidence


class PilotMissingError(ParameterError):
    """A bound needs pilot evidence to make a choice, and there is none."""


class Bound(Options, Generic[E]):
    """A method that turns evidence into a lower bound on epsilon. Subclasses are frozen dataclasses of its options.

    Attributes:
        name: name in the catalogue.
        reads: type of the evidence: `PairScores`, `BitScores` or `Successes`.
        anytime: whether the bounds after every number of trials hold simultaneously, so that early stopping is valid.
        condition: an assumption that no test of the evidence can check, as a clause; empty for most bounds. A bound
            with a condition refutes no claim: the verdict, the p-value and the power are those of the other bounds.
    """

    name: ClassVar[str]
    reads: ClassVar[type[Evidence]]
    anytime: ClassVar[bool] = False
    condition: ClassVar[str] = ""

    @abstractmethod
    def fix(self, statement: Statement, pilot: E | None, sizes: tuple[int, ...]) -> FixedBound[E]:
        """Make every choice that is left open, such as a threshold, before the evidence is seen.

        Args:
            statement: the claim under test, with the delta and the confidence of the bound.
            pilot: pilot evidence, which is not counted in the bound; None if there is none.
            sizes: sizes of the future evidence: `(n_out, n_in)` of a pair, `(n_bits,)`, or `(n_runs,)` of successes.

        Raises:
            PilotMissingError: an option is to be chosen on the pilot, and there is none; raised after all checks that
                need no pilot.
            ParameterError: an option does not fit the claim.
            AccountingError: a family of curves is needed, and the claim belongs to none.
        """


class PairBound(Bound[Scores]):
    """A bound that reads the scores of runs on a pair, with events that may be chosen on pilot scores."""

    reads: ClassVar[type[Evidence]] = PairScores

    @property
    def needs_pilot(self) -> bool:
        """True if `fix` needs pilot scores; if neither the bounds nor the attack need any, no pilot trials are run."""
        return False

    @property
    def orients(self) -> bool:
        """True if scores that are not counted decide whether higher scores mean side 1 or side 0."""
        return False


@dataclass(frozen=True)
class FixedBound(ABC, Generic[E]):
    """A bound with all choices made. Subclasses are frozen dataclasses, whose first field is the statement.

    Guarantees, for evidence that satisfies the assumptions of its class:
        * `lower_bound(...).epsilon` exceeds the true epsilon at delta with probability at most 1 - confidence;
        * it never decreases when the confidence falls or delta falls.
    """

    statement: Statement

    @abstractmethod
    def lower_bound(self, evidence: E) -> LowerBound:
        """Return the bound at the delta and the confidence of the statement."""

    @abstractmethod
    def p_value(self, evidence: E) -> float:
        """Return the smallest significance at which the claim is contradicted, at delta or on its curve; >= 1e-12.

        For every significance level, p <= significance if `lower_bound` exceeds the claimed epsilon or `curve_test`
        reports a violation at that level: all three come from the same limits, nested in the significance.
        """

    def exceeds_claim(self, evidence: E) -> bool:
        """Return True if the bound exceeds the claimed epsilon. Subclasses override this where a faster test exists."""
        return self.lower_bound(evidence).epsilon > self.statement.epsilon

    def curve_test(self, evidence: E) -> CurveViolation | None:
        """Return the point at which the same limits contradict the claimed curve, at any delta; None if there is none.

        The bound and the violation hold simultaneously at the confidence of the statement: they use the same limits.
        """
        return None

    def refutes(self, evidence: E) -> bool:
        """Return True if the bound exceeds the claimed epsilon, or the same limits contradict the claimed curve."""
        return self.exceeds_claim(evidence) or self.curve_test(evidence) is not None

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds of the events that the bound reads, if these are few; otherwise empty."""
        return ()
