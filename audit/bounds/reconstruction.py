"""The bound from reconstruction: the success rate of guesses of a secret, with and without the output.

Null at a trade-off curve f: the mechanism is f-DP for the pairs named below. Fixed before any counted round: the prior,
the tolerance, the prior success, the attack, the number of rounds. Each round draws a fresh secret Z, runs once, and
guesses once, so that the number of successes is Bin(n, gamma). Then **gamma <= 1 - f(x)**, where

    x = prior success                   every D_z is a neighbour of one reference dataset (the record removed, or any
                                        fixed record in its place)
    x = (m - gamma) / (K - 1)           Z is uniform on K candidates whose datasets are neighbours of each other, and
                                        a guess is close enough to at most m = K * prior success of them

*Proof.* Let A_z be the outputs on which the guess is close to z. First case: on the reference dataset the guess does
not depend on Z, so that E q_Z is at most the prior success, with q_z = Pr_ref[A_z]; each z obeys
Pr_z[A_z] <= 1 - f(q_z), and 1 - f is concave and increasing (Jensen). Second case: the same for each of the K (K - 1)
ordered pairs, with q = Pr_z'[A_z]; their mean is (m - gamma) / (K - 1) at most, because sum_z Pr_z'[A_z] <= m for
each z'.

So (x, 1 - gamma) is a point on or above f, exactly like (FPR, FNR) of a test; gamma is replaced by its exact lower
limit (Clopper and Pearson 1934), which moves the point up and right. Neither x grows with gamma: the nulls are nested,
and one limit is valid for the whole curve, every delta included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import special

from ...mechanisms.core import number
from ...mechanisms.core.constraints import at_least
from ...mechanisms.core.errors import ParameterError, RelationError, plural
from ...mechanisms.core.guarantee import Guarantee
from ...mechanisms.core.relation import Relation
from ...mechanisms.core.root_finding import bisect
from ...mechanisms.core.validation import one_of, open_unit, unit_interval, whole
from ..evidence.scores import Successes
from ..evidence.statement import Statement
from .base import Bound, Evidence, FixedBound, LedgerEntry, LowerBound
from .curve import CurveViolation, refute
from .families import CurveFamily, checked_family, epsilon_of, family_for, least_member
from .numerics.binomial import SMALLEST_P_VALUE, lower, upper
from .numerics.rectangle import Rectangle

CLAIM = "claim"


@dataclass(frozen=True)
class Reconstruction(Bound[Successes]):
    """Exact lower bound on epsilon from the success of reconstructions (Balle, Cherubin and Hayes 2022).

    With gamma the lower limit of the success rate and x as above,

        epsilon >= max(ln((gamma - delta) / x), ln((1 - delta - x) / (1 - gamma)), 0).

    Args:
        candidates: None compares every dataset with one reference dataset, under whichever relation the claim has.
            A number K states that the secret is uniform on K candidates and that their datasets are neighbours of each
            other (`replace_one`). The bound is then larger, at a prior success of 1 / K by about ln(1 / (1 - gamma)).
            Not for `add_remove` and `zero_out`, where two candidates are two steps apart.
        curve_family: None makes no assumption on the trade-off curve. A family of `dpassay.audit.bounds.families`,
            which must be the family of the claim, assumes that the curve belongs to it: the bound is the epsilon at
            delta of the smallest member that allows gamma. "claim": the family of the claim.

    Guarantees:
        * exact at every number of rounds; holds for all delta simultaneously;
        * without a family and without candidates, the first term never exceeds ln(1 / prior success);
        * many records reconstructed from one output are not independent rounds, and must be counted as one.

    Raises:
        ParameterError: candidates not a whole number >= 2, an unknown family; evidence that is not `Successes`; a
            prior success that is no multiple of 1 / candidates, or a secret that is not uniform on the candidates; a
            delta at which no member of the family has a finite epsilon.
        AccountingError: a family is required, and the claim belongs to none.
        RelationError: a claim under another relation than `replace_one` together with `candidates`.

    Example:
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> guessed, stated = Successes(n_success=60, n_runs=100, prior_success=0.1), Statement(PureDP(1.0), delta=0.0)
        >>> round(Reconstruction().fix(stated, None, (100,)).lower_bound(guessed).epsilon, 6)
        1.635059
        >>> round(Reconstruction(candidates=10).fix(stated, None, (100,)).lower_bound(guessed).epsilon, 3)
        2.249

    References:
        Balle, Cherubin and Hayes (2022), arXiv:2201.04845; Hayes, Mahloujifar and Balle (2023), arXiv:2302.07225;
        Kaissis et al. (2023), arXiv:2307.03928 (the f-DP form). The form for candidates is derived above.
    """

    name: ClassVar[str] = "reconstruction"
    reads: ClassVar[type[Evidence]] = Successes

    candidates: Annotated[int, at_least(2)] | None = None
    curve_family: CurveFamily | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.curve_family, str):
            one_of([CLAIM], curve_family=self.curve_family)
        else:
            checked_family(self.curve_family)

    def fix(self, statement: Statement, pilot: Successes | None, sizes: tuple[int, ...]) -> FixedReconstruction:
        """Return the bound with the family of the claim, if `curve_family` is set."""
        _check_relation(statement.claim, self.candidates)
        if self.curve_family is None:
            return FixedReconstruction(statement, self.candidates, None)
        family = None if isinstance(self.curve_family, str) else self.curve_family
        return FixedReconstruction(statement, self.candidates, family_for(statement.claim, family))


@dataclass(frozen=True)
class FixedReconstruction(FixedBound[Successes]):
    """The reconstruction bound for one statement, with or without candidates and a family of curves."""

    candidates: int | None
    family: CurveFamily | None

    def lower_bound(self, evidence: Successes) -> LowerBound:
        successes = _successes(evidence)
        perfect = Successes(successes.n_runs, successes.n_runs, successes.prior_success)
        return LowerBound(
            epsilon=self._epsilon(successes),
            delta=self.statement.delta,
            confidence=self.statement.confidence,
            method=Reconstruction.name,
            n_trials=successes.n_runs,
            ceiling=self._epsilon(perfect),
            ledger=self._ledger(successes),
            assumptions=self._assumptions(),
        )

    def p_value(self, evidence: Successes) -> float:
        """Return the largest probability, if the claim holds, of at least this many successes.

        The p-value tests the whole claimed curve. It is at most `significance` if the lower limit of the success rate
        exceeds the rate that the claim allows. No family is assumed.

        >>> from dpassay.mechanisms.accounting import GaussianDP
        >>> fixed = Reconstruction().fix(Statement(GaussianDP(1.0), delta=1e-5), None, (100,))
        >>> round(fixed.p_value(Successes(60, 100, prior_success=0.1)), 9)
        1.6185e-05
        """
        successes = _successes(evidence)
        allowed = allowed_success(self.statement.claim, successes.prior_success, candidates=self.candidates)
        return _tail(successes, allowed)

    def curve_test(self, evidence: Successes) -> CurveViolation | None:
        """Test the point (x, 1 - gamma), which lies on or above the curve of a true claim."""
        corner = self._corner(_successes(evidence))
        sides = (corner.fpr_upper, corner.fnr_upper, corner.tnr_lower, corner.tpr_lower)
        return refute(Rectangle(*map(np.atleast_1d, sides)), self.statement.claim, method=Reconstruction.name)

    def mu_lower(self, evidence: Successes) -> float:
        """Return the smallest mu >= 0 whose Gaussian curve allows the success rate.

        This is a lower bound on mu if the trade-off curve is Gaussian.

        >>> from dpassay.mechanisms.accounting import PureDP
        >>> fixed = Reconstruction().fix(Statement(PureDP(1.0), delta=0.0), None, (100,))
        >>> round(fixed.mu_lower(Successes(60, 100, prior_success=0.1)), 6)
        1.314083
        """
        corner = self._corner(_successes(evidence))
        tpr = _normal_quantile(float(corner.tpr_lower), float(corner.fnr_upper))
        return max(0.0, tpr - _normal_quantile(float(corner.fpr_upper), float(corner.tnr_lower)))

    def _epsilon(self, successes: Successes) -> float:
        corner, family = self._corner(successes), self.family
        if family is None:
            return float(corner.epsilon_lower(self.statement.delta))
        x, failure_upper = float(corner.fpr_upper), float(corner.fnr_upper)
        theta = least_member(family, lambda member: float(member.tradeoff(x)) <= failure_upper, start=family.claimed)
        return epsilon_of(family, theta, self.statement.delta)

    def _corner(self, successes: Successes) -> Rectangle:
        """Return the point (x, 1 - gamma) at the lower limit of gamma, as limits on the rates of a test."""
        confidence = self.statement.confidence
        gamma = _limit(successes, confidence)
        failure_upper = float(upper(successes.n_runs - successes.n_success, successes.n_runs, 1.0 - confidence))
        if self.candidates is None:
            x, rest = successes.prior_success, 1.0 - successes.prior_success
        else:
            _check_uniform(successes, self.candidates)
            covered, others = _covered(successes.prior_success, self.candidates), self.candidates - 1
            x = min(1.0, (covered - 1 + failure_upper) / others)
            rest = max(0.0, (others - covered + gamma) / others)
        return Rectangle(*map(np.asarray, (x, failure_upper, rest, gamma)))

    def _ledger(self, successes: Successes) -> tuple[LedgerEntry, ...]:
        rounds = plural(successes.n_runs, "round")
        observed = f"{successes.n_success} of {rounds}, prior success {number(successes.prior_success)}"
        entries = (
            LedgerEntry("success", observed, "one exact binomial limit; prior, tolerance and attack fixed beforehand"),
            LedgerEntry("direction", "both", "one limit is valid for both directions and every delta"),
        )
        if self.candidates is None:
            return entries
        secret = f"uniform on {self.candidates} candidates, whose datasets are neighbours of each other (replace_one)"
        return (*entries, LedgerEntry("secret", secret, "fixed beforehand, like the prior"))

    def _assumptions(self) -> tuple[str, ...]:
        return () if self.family is None else (f"the trade-off curve is that of {self.family.title}",)


def success_lower(successes: Successes, *, confidence: float) -> float:
    """Return the lower limit of the success rate, below the true rate with this confidence (Clopper, Pearson 1934).

    >>> round(success_lower(Successes(60, 100, prior_success=0.1), confidence=0.95), 6)
    0.512976
    """
    open_unit(confidence=confidence)
    return _limit(_successes(successes), confidence)


def allowed_success(claim: Guarantee, prior_success: float, *, candidates: int | None = None) -> float:
    """Return the largest success rate that `claim` allows.

    Args:
        claim: any guarantee.
        prior_success: success probability of a guess without the output, in (0, 1].
        candidates: as in `Reconstruction`.

    Returns:
        1 - f(prior_success); with candidates, the largest gamma with gamma <= 1 - f((m - gamma) / (K - 1)), rounded up.

    Raises:
        RelationError: candidates, and a claim under a relation other than `replace_one`.

    Example:
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> round(allowed_success(PureDP(1.0), 0.1), 6), round(allowed_success(PureDP(1.0), 0.1, candidates=10), 6)
        (0.271828, 0.231969)
    """
    unit_interval(prior_success=prior_success)
    if candidates is None:
        return 1.0 - float(claim.tradeoff(prior_success))
    whole(2, candidates=candidates)
    _check_relation(claim, candidates)
    covered = _covered(prior_success, candidates)

    def exceeds(rate: float) -> bool:
        return rate > 1.0 - float(claim.tradeoff((covered - rate) / (candidates - 1)))

    return bisect(exceeds, covered / candidates, 1.0)[1]


def _check_relation(claim: Guarantee, candidates: int | None) -> None:
    if candidates is None or claim.relation in (None, Relation.REPLACE_ONE):
        return
    raise RelationError(
        f"candidates = {candidates} compares datasets that differ by replacing a record, but the claim {claim} "
        f"holds for relation {claim.relation.value!r}, under which they are not neighbours. Leave candidates out."
    )


def _check_uniform(successes: Successes, candidates: int) -> None:
    if successes.uniform_on in (None, candidates):
        return
    actual = f"uniform on {successes.uniform_on}" if successes.uniform_on else "not uniform on neighbours of each other"
    raise ParameterError(
        f"candidates is {candidates}, but the secret is {actual}. Leave candidates out, or draw the secret uniformly.",
        argument="candidates",
    )


def _successes(scores: object) -> Successes:
    if isinstance(scores, Successes):
        return scores
    raise ParameterError(
        f"reconstruction reads Successes(n_success, n_runs, prior_success), but was given {type(scores).__name__}. "
        "For the scores of a pair use another bound, such as 'clopper-pearson'.",
        argument="bound",
    )


def _limit(successes: Successes, confidence: float) -> float:
    return float(lower(successes.n_success, successes.n_runs, 1.0 - confidence))


def _tail(successes: Successes, rate: float) -> float:
    """Return Pr[Bin(n, rate) >= successes], clipped to [1e-12, 1]."""
    w, n = successes.n_success, successes.n_runs
    tail = 1.0 if w == 0 or rate >= 1.0 else float(special.betainc(w, n - w + 1.0, rate))
    return min(1.0, max(SMALLEST_P_VALUE, tail))


def _covered(prior_success: float, candidates: int) -> int:
    """Return the number of candidates that one guess is close to."""
    covered = round(prior_success * candidates)
    if covered < 1 or not math.isclose(prior_success * candidates, covered, rel_tol=1e-9):
        raise ParameterError(
            f"prior_success must be a multiple of 1 / candidates = 1 / {candidates} when the secret is uniform on "
            f"them, but is {prior_success!r}. Give it exactly, or leave candidates out.",
            argument="prior_success",
        )
    return covered


def _normal_quantile(p: float, rest: float) -> float:
    """Return Phi^-1(p), accurate at both ends; `rest` = 1 - p."""
    return float(special.ndtri(p) if p < rest else -special.ndtri(rest))
