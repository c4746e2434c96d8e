"""What is stated: a claim at delta, with a confidence. Checked here and nowhere else.

Statement.about(mechanism, None, delta=None, confidence=0.95)     what audit() asks, defaults filled in
statement.epsilon                                                 the claimed epsilon at delta
statement.shared(2)                                               the part of each of two bounds (Bonferroni)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

from ...mechanisms.base import Mechanism
from ...mechanisms.errors import AccountingError, ParameterError, RelationError
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.relation import Relation
from ...mechanisms.validation import delta_range, open_unit, whole

SMALLEST_SIGNIFICANCE = 1e-11
"""What a confidence must leave to certainty: p-values are computed down to a tenth of this."""


@dataclass(frozen=True)
class Statement:
    """A claim, and how surely it is judged.

    Args:
        claim: the guarantee that is tested; finite at `delta`.
        delta: of claim and bound, in [0, 1).
        confidence: of what is stated, strictly between 0 and 1, and at most 1 - 1e-11 over all hypotheses.
        n_hypotheses: how many statements are corrected together (Holm), this one included; >= 1.

    Raises:
        ParameterError: one of these out of range, or no claim.
        AccountingError: a claim that is infinite at `delta`.

    Example:
        >>> from dpassay.mechanisms.guarantees import ApproximateDP
        >>> stated = Statement(ApproximateDP(1.0, 1e-5), delta=1e-5)
        >>> stated.epsilon, round(stated.significance, 6), round(stated.shared(5).confidence, 6)
        (1.0, 0.05, 0.99)
    """

    claim: Guarantee
    delta: float
    confidence: float = 0.95
    n_hypotheses: int = 1

    def __post_init__(self) -> None:
        check_claim(self.claim, self.delta)
        delta_range(delta=self.delta)
        open_unit(confidence=self.confidence)
        whole(1, n_hypotheses=self.n_hypotheses)
        if not math.isfinite(self.epsilon):
            raise AccountingError(
                f"delta is {self.delta:g}, where the claim {self.claim} is infinite. Choose a larger one, such as 1e-5."
            )

    @classmethod
    def about(
        cls,
        mechanism: Mechanism | None,
        claim: Guarantee | None,
        *,
        delta: float | None,
        confidence: float,
        n_hypotheses: int = 1,
        relation: Relation | None = None,
    ) -> Statement:
        """The statement with its defaults, for evidence under `relation`; None where the evidence has none.

        Args:
            mechanism: whose own claim is tested where `claim` is None, at the delta that it is calibrated to.
            claim: what is tested instead, at its own delta.
            delta: None for that one.
            confidence, n_hypotheses: as above.
            relation: of the evidence; a claim that names one must name the same.

        Raises:
            ParameterError: no claim, no delta, or something out of range.
            RelationError: the claim holds for another relation than the evidence.
        """
        if claim is not None:
            check_claim(claim, delta)
        claim = _claimed(mechanism, claim)
        if None not in (relation, claim.relation) and claim.relation is not relation:
            assert relation is not None
            raise RelationError(
                f"the claim {claim} holds for relation {str(claim.relation)!r}, the evidence is of {relation.value!r}. "
                "An epsilon means different things under the two; give both the same relation."
            )
        delta = claim.default_delta if delta is None else delta
        if delta is None:
            raise ParameterError(
                f"delta must be given: the claim {claim} promises a whole curve. Try delta=1e-5.", argument="delta"
            )
        stated = cls(claim, delta, confidence, n_hypotheses)
        if stated.significance / n_hypotheses < SMALLEST_SIGNIFICANCE:
            raise ParameterError(
                f"confidence must be at most 1 - {SMALLEST_SIGNIFICANCE * n_hypotheses:g} over {n_hypotheses} "
                f"hypotheses, but is {confidence!r}: p-values are computed down to 1e-12, and have to share what is "
                "left to certainty.",
                argument="confidence",
            )
        return stated

    @cached_property
    def epsilon(self) -> float:
        """The claimed epsilon at `delta`."""
        return float(self.claim.epsilon(self.delta))

    @property
    def significance(self) -> float:
        """1 - confidence: the probability that what is stated is wrong, at most."""
        return 1.0 - self.confidence

    def shared(self, n: int, part: float = 1.0) -> Statement:
        """The same with the confidence of each of `n` bounds, which together spend `part` of the significance."""
        return replace(self, confidence=1.0 - self.significance * part / n)


def check_claim(claim: object, delta: float | None = None) -> None:
    """Raise `ParameterError` for a claim that is no guarantee; a number is taken for its epsilon in the advice."""
    if isinstance(claim, Guarantee):
        return
    meant = "PureDP(1.0)"
    if isinstance(claim, Real) and not isinstance(claim, bool):
        meant = f"ApproximateDP({claim!r}, {delta!r})" if delta else f"PureDP({claim!r})"
    raise ParameterError(
        f"claim must be a guarantee, such as {meant}, but is {claim!r}.", argument="claim", value=claim
    )


def _claimed(mechanism: Mechanism | None, claim: Guarantee | None) -> Guarantee:
    """The claim that is tested."""
    if claim is not None:
        return claim
    if mechanism is None:
        raise ParameterError(
            "claim must be given where only scores are known, for example claim=GaussianDP(1.0).", argument="claim"
        )
    return mechanism.guarantee()


__all__ = ["SMALLEST_SIGNIFICANCE", "Statement", "check_claim"]
