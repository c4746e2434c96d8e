"""The interface of a lower bound on epsilon: read this first.

Null hypothesis at epsilon: every event S that the bound uses satisfies

    Pr[in S | side 1] <= e^epsilon Pr[in S | side 0] + delta     and the same with the sides swapped.

The nulls are nested (they grow with epsilon), so the first epsilon, going up from 0, that the data do not reject is a
lower bound at the confidence of a single test. A bound is asked in two steps, as an attack is fitted and then scores:

    Bound         options, plain data
      name            in the catalogue
      reads           the type of evidence that it reads
      anytime         whether its bounds after any number of trials hold together, so that one may look and stop
      fix             everything chosen, from the statement and the pilot, before any evidence
    FixedBound    chosen
      lower_bound     the bound from evidence
      p_value         the smallest significance at which the evidence contradicts the claim
      exceeds_claim   whether the bound exceeds the claimed epsilon: found in less time than the bound
      curve_test      where the whole claimed curve is contradicted; None where it is not, or cannot be judged
      thresholds      events that a grid of counts must hold

The ledger of each bound lists what was fixed beforehand, and what was not, with its correction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import Options
from ..evidence.scores import BitScores, PairScores, Scores, Successes
from ..evidence.statement import Statement
from .curve import CurveViolation

SMALLEST_P_VALUE = 1e-12
Evidence = Scores | BitScores | Successes
E = TypeVar("E", bound=Evidence)


@dataclass(frozen=True)
class LedgerEntry:
    """A choice that could depend on the data, and the correction that keeps the confidence valid.

    Args:
        what: such as "threshold", "direction", "bounds", "sweep".
        looked_at: what was tried or chosen, and how many.
        correction: why the level holds, such as "chosen on pilot trials only" or "Bonferroni over 2".
    """

    what: str
    looked_at: str
    correction: str


@dataclass(frozen=True)
class LowerBound:
    """A number below the true epsilon with probability at least `confidence`.

    Args:
        epsilon: the bound, >= 0, in natural logarithms; 0 says nothing about the mechanism.
        delta: the delta of the statement "not (e, delta)-DP for any e < epsilon".
        confidence: the bound does not exceed the true epsilon with at least this probability over the trials.
        method: name of the bound in the catalogue.
        n_trials: evaluation trials that were counted, both sides together.
        ceiling: the largest bound that this number of trials could ever give.
        ledger: the choices that went into it, with their corrections.
        assumptions: beyond independent trials, such as a family of curves; empty for most bounds.
        threshold: the event {score >= threshold} that gave the bound; None if it is not one event.
        hits: (false positives, true positives) of that event.
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

    @property
    def significance(self) -> float:
        return 1.0 - self.confidence


class PilotMissingError(ParameterError):
    """A bound is to choose something on the pilot, and there is none."""


class Bound(Generic[E], metaclass=Options):
    """A method that turns evidence into a lower bound on epsilon. Subclasses are frozen dataclasses of its options.

    Attributes:
        name: in the catalogue.
        reads: type of the evidence: `PairScores`, `BitScores` or `Successes`.
        anytime: whether the bounds after every number of trials hold together, so that one may look and stop.
    """

    name: ClassVar[str]
    reads: ClassVar[type[Evidence]]
    anytime: ClassVar[bool] = False

    @abstractmethod
    def fix(self, statement: Statement, pilot: E | None, sizes: tuple[int, ...]) -> FixedBound[E]:
        """Chooses, before the evidence is seen, everything that a choice is left for, such as a threshold.

        Args:
            statement: the claim that is tested, with delta and confidence of the bound.
            pilot: evidence that is not counted afterwards; None for none.
            sizes: of the evidence to come: `(n_out, n_in)` of a pair, `(n_bits,)`, or `(n_runs,)` of successes.

        Raises:
            PilotMissingError: an option is to be chosen on the pilot, and there is none; raised after all checks that
                need none.
            ParameterError: an option does not fit the claim.
            AccountingError: a family of curves is needed, and the claim belongs to none.
        """


class PairBound(Bound[Scores]):
    """A bound for the scores of runs on a pair, whose events may be chosen on pilot scores."""

    reads: ClassVar[type[Evidence]] = PairScores

    @property
    def needs_pilot(self) -> bool:
        """Whether `fix` needs pilot scores; where neither bounds nor attack need any, every trial counts."""
        return False


class FixedBound(ABC, Generic[E]):
    """A bound with everything chosen. Subclasses are frozen dataclasses, whose first field is the statement.

    Guarantees, for evidence as its class describes it:
        * `lower_bound(...).epsilon` exceeds the true epsilon at delta with probability at most 1 - confidence;
        * it never decreases when the confidence falls or delta falls.
    """

    statement: Statement

    @abstractmethod
    def lower_bound(self, evidence: E) -> LowerBound:
        """The bound, at the delta and the confidence of the statement."""

    @abstractmethod
    def p_value(self, evidence: E) -> float:
        """Smallest significance at which the claim is contradicted, at delta or on its curve; down to 1e-12.

        At whatever significance it is asked, p <= significance where `lower_bound` would exceed the claimed epsilon or
        `curve_test` would find something: these come from the same limits, nested in the significance.
        """

    def exceeds_claim(self, evidence: E) -> bool:
        """Whether the bound is larger than the claimed epsilon. Overridden where that is cheaper than the bound."""
        return self.lower_bound(evidence).epsilon > self.statement.epsilon

    def curve_test(self, evidence: E) -> CurveViolation | None:
        """Where the same limits contradict the claimed curve, at whatever delta.

        The bound and the violation hold together at the confidence of the statement: they come from the same limits.
        """
        return None

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds of the events that are read, where these are few."""
        return ()


__all__ = [
    "SMALLEST_P_VALUE",
    "Bound",
    "Evidence",
    "FixedBound",
    "LedgerEntry",
    "LowerBound",
    "PairBound",
    "PilotMissingError",
]
