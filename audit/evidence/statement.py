"""The statement of an audit: a claim at delta, with a confidence. All checks of these are in this module.

Statement.about(mechanism, None, delta=None, confidence=0.95)     the statement of audit(), with defaults filled in
statement.epsilon                                                 the claimed epsilon at delta
statement.shared(2)                                               the statement for each of two bounds (Bonferroni)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

from ...mechanisms.core.base import Mechanism
from ...mechanisms.core.constraints import Delta, OpenUnit, PositiveInt, check_fields
from ...mechanisms.core.errors import AccountingError, ParameterError, RelationError
from ...mechanisms.core.guarantee import Guarantee
from ...mechanisms.core.relation import Relation

MIN_SIGNIFICANCE = 1e-11
"""Smallest significance per hypothesis: p-values are computed down to a tenth of this."""


@dataclass(frozen=True)
class Statement:
    """A claim, with the delta and the confidence at which it is tested.

    Args:
        claim: the guarantee under test; finite at `delta`.
        delta: delta of the claim and the bound, in [0, 1).
        confidence: confidence of the statement, strictly between 0 and 1, at most 1 - 1e-11 over all hypotheses.
        n_hypotheses: number of statements that are corrected together (Holm), including this one; >= 1.

    Raises:
        ParameterError: an argument is out of range, or the claim is not a guarantee.
        AccountingError: the claim is infinite at `delta`.

    Example:
        >>> from dpassay.mechanisms.accounting import ApproximateDP
        >>> stated = Statement(ApproximateDP(1.0, 1e-5), delta=1e-5)
        >>> stated.epsilon, round(stated.significance, 6), round(stated.shared(5).confidence, 6)
        (1.0, 0.05, 0.99)
    """

    claim: Guarantee
    delta: Delta
    confidence: OpenUnit = 0.95
    n_hypotheses: PositiveInt = 1

    def __post_init__(self) -> None:
        check_fields(self)
        check_claim(self.claim, self.delta)
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
        """Return the statement with its defaults filled in.

        Args:
            mechanism: mechanism whose guarantee is the claim if `claim` is None.
            claim: the guarantee under test; None takes the guarantee of the mechanism.
            delta: None takes the default delta of the claim.
            confidence, n_hypotheses: see `Statement`.
            relation: relation of the evidence, None if it has none; a claim with a relation must have the same one.

        Raises:
            ParameterError: no claim, no delta, or an argument out of range.
            RelationError: the claim holds for another relation than the evidence.
        """
        if claim is not None:
            check_claim(claim, delta)
        elif mechanism is not None:
            claim = mechanism.guarantee()
        else:
            raise ParameterError(
                "claim must be given if there are only scores, for example claim=GaussianDP(1.0).", argument="claim"
            )
        if None not in (relation, claim.relation) and claim.relation is not relation:
            assert relation is not None
            raise RelationError(
                f"the claim {claim} holds for relation {str(claim.relation)!r}, the evidence is of {relation.value!r}. "
                "An epsilon has a different meaning under each; give both the same relation.",
                argument="claim",
            )
        delta = claim.default_delta if delta is None else delta
        if delta is None:
            raise ParameterError(
                f"delta must be given: the claim {claim} promises a whole curve. Try delta=1e-5.", argument="delta"
            )
        stated = cls(claim, delta, confidence, n_hypotheses)
        if stated.significance / n_hypotheses < MIN_SIGNIFICANCE:
            raise ParameterError(
                f"confidence must be at most 1 - {MIN_SIGNIFICANCE * n_hypotheses:g} over {n_hypotheses} "
                f"hypotheses, but is {confidence!r}: p-values are computed down to 1e-12, and the hypotheses share the "
                "significance.",
                argument="confidence",
            )
        return stated

    @cached_property
    def epsilon(self) -> float:
        """The claimed epsilon at `delta`."""
        return float(self.claim.epsilon(self.delta))

    @property
    def significance(self) -> float:
        """Significance, 1 - confidence: the largest probability that the statement is wrong."""
        return 1.0 - self.confidence

    def shared(self, n: int, significance_share: float = 1.0) -> Statement:
        """Return the statement for each of `n` bounds, which together use `significance_share` of the significance."""
        return replace(self, confidence=1.0 - self.significance * significance_share / n)


def check_claim(claim: object, delta: float | None = None) -> None:
    """Raise `ParameterError` if the claim is not a guarantee; the message reads a number as an epsilon."""
    if isinstance(claim, Guarantee):
        return
    example = "PureDP(1.0)"
    if isinstance(claim, Real) and not isinstance(claim, bool):
        example = f"ApproximateDP({claim!r}, {delta!r})" if delta else f"PureDP({claim!r})"
    raise ParameterError(argument="claim", value=claim, allowed=f"be a guarantee, such as {example}")
