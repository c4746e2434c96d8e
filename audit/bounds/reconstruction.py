"""The bound from reconstruction: how often a secret is guessed from the output, against how often without it.

Null at a trade-off curve f: the mechanism is f-DP for the pairs named below. Fixed before any counted round: the prior,
the tolerance, kappa, the attack, the number of rounds. Each round draws a fresh secret Z, runs once, and guesses once,
so that the successes are Bin(n, gamma). Then **gamma <= 1 - f(x)**, where

    x = kappa                           every D_z is a neighbour of one reference dataset (the record removed, or any
                                        fixed record in its place)
    x = (m - gamma) / (K - 1)           Z is uniform on K candidates whose datasets are neighbours of each other, and
                                        a guess is close enough to at most m = kappa K of them

*Proof.* Let A_z be the outputs on which the guess is close to z. First case: on the reference dataset the guess does
not depend on Z, so that E q_Z <= kappa with q_z = Pr_ref[A_z]; each z obeys Pr_z[A_z] <= 1 - f(q_z), and 1 - f is
concave and increasing (Jensen). Second case: the same for each of the K (K - 1) ordered pairs, with
q = Pr_z'[A_z]; their mean is (m - gamma) / (K - 1) at most, because sum_z Pr_z'[A_z] <= m for each z'.

So (x, 1 - gamma) is a point on or above f, exactly like (FPR, FNR) of a test; gamma is replaced by its exact lower
limit (Clopper and Pearson 1934), which moves the point up and right. Neither x grows with gamma: the nulls are nested,
and one limit serves the whole curve, every delta included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import special

from ...mechanisms.errors import ParameterError, RelationError
from ...mechanisms.guarantees.approximate import ApproximateDP
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.relation import Relation
from ...mechanisms.validation import non_negative, one_of, open_unit, unit_interval, whole
from ..evidence.scores import Scores, Successes
from .base import SMALLEST_P_VALUE, Bound, LedgerEntry, LowerBound, check_level
from .binomial import lower, upper
from .families import CurveFamily, epsilon_of, family_for, least_member
from .rectangle import Rectangle


@dataclass(frozen=True)
class Reconstruction(Bound):
    """Exact lower bound on epsilon from the success of reconstructions (Balle, Cherubin and Hayes 2022).

    With gamma the lower limit of the success rate and x as above,

        epsilon >= max(ln((gamma - delta) / x), ln((1 - delta - x) / (1 - gamma)), 0).

    Args:
        candidates: None compares every dataset with one reference dataset, under whichever relation the claim has.
            A number K says that the secret is uniform on K candidates and that their datasets are neighbours of each
            other (`replace_one`): stronger, at kappa = 1 / K by about ln(1 / (1 - gamma)). Not for `add_remove` and
            `zero_out`, where two candidates are two steps apart.
        family: None makes no assumption on the trade-off curve. A family of `dpassay.audit.bounds.families` takes it
            to be one of that: the least member that allows gamma, and its epsilon at delta. "claim": the family of the
            claim, which `against` tells.

    Guarantees:
        * exact at every number of rounds; holds for all delta at once;
        * with family=None and candidates=None never above ln(1 / kappa) from the first line: a success that is bound to
          happen, or kappa = 1, shows nothing;
        * many records reconstructed from one output are not independent rounds, and must be counted as one.

    Raises:
        ParameterError: candidates not a whole number >= 2, an unknown family; scores that are not `Successes`; a kappa
            that is no multiple of 1 / candidates; a delta at which no member of the family has a finite epsilon.
        AccountingError: family "claim", and the claim belongs to none.
        RelationError: a claim under another relation than `replace_one` beside `candidates`.

    Example:
        >>> guessed = Successes(n_success=60, n_runs=100, kappa=0.1)
        >>> bound = Reconstruction().lower_bound(guessed, delta=0.0, confidence=0.95)
        >>> round(bound.epsilon, 6)
        1.635059
        >>> round(Reconstruction(candidates=10).lower_bound(guessed, delta=0.0, confidence=0.95).epsilon, 3)
        2.249

    References:
        Balle, Cherubin and Hayes (2022), arXiv:2201.04845; Hayes, Mahloujifar and Balle (2023), arXiv:2302.07225;
        Kaissis et al. (2023), arXiv:2307.03928 (the f-DP form). The form for candidates is derived above.
    """

    name: ClassVar[str] = "reconstruction"
    accepts: ClassVar[tuple[type, ...]] = (Successes,)

    candidates: int | None = None
    family: CurveFamily | str | None = None

    def __post_init__(self) -> None:
        if self.candidates is not None:
            whole(2, candidates=self.candidates)
        if isinstance(self.family, str):
            one_of(["claim"], family=self.family)

    def against(self, claim: Guarantee) -> Reconstruction:
        """With the family of `claim` where "claim" was asked for."""
        _check_relation(claim, self.candidates)
        if self.family is None:
            return self
        return replace(self, family=family_for(claim, None if isinstance(self.family, str) else self.family))

    def lower_bound(self, scores: Scores | Successes, *, delta: float, confidence: float) -> LowerBound:
        check_level(delta=delta, confidence=confidence)
        successes = _successes(scores)
        return LowerBound(
            epsilon=self._epsilon(successes, delta=delta, confidence=confidence),
            delta=delta,
            confidence=confidence,
            method=self.name,
            n_trials=successes.n_runs,
            ceiling=self.success_ceiling(successes.n_runs, successes.kappa, delta=delta, confidence=confidence),
            ledger=self._ledger(successes),
            assumptions=self._assumptions(),
        )

    def mu_lower(self, successes: Successes, *, confidence: float) -> float:
        """Least mu >= 0 whose Gaussian trade-off curve allows the success; certifies mu if the curve is Gaussian.

        >>> round(Reconstruction().mu_lower(Successes(60, 100, kappa=0.1), confidence=0.95), 6)
        1.314083
        """
        open_unit(confidence=confidence)
        corner = self._corner(_successes(successes), confidence)
        tpr = _normal_quantile(float(corner.tpr_lower), float(corner.fnr_upper))
        return max(0.0, tpr - _normal_quantile(float(corner.fpr_upper), float(corner.tnr_lower)))

    def ceiling(self, n_out: int, n_in: int, *, delta: float, confidence: float) -> float:
        """As `success_ceiling`, at the smallest kappa there is: 1 / candidates; without candidates none, hence inf.

        A `LowerBound` reports the ceiling at its own kappa.
        """
        check_level(delta=delta, confidence=confidence)
        if self.candidates is None:
            return math.inf
        return self.success_ceiling(n_out + n_in, 1.0 / self.candidates, delta=delta, confidence=confidence)

    def success_ceiling(self, n_runs: int, kappa: float, *, delta: float, confidence: float) -> float:
        """The largest epsilon that `n_runs` rounds could show: the value if every guess were right."""
        check_level(delta=delta, confidence=confidence)
        return self._epsilon(Successes(n_runs, n_runs, kappa), delta=delta, confidence=confidence)

    def p_value(self, scores: Scores | Successes, *, epsilon: float, delta: float) -> float:
        """Smallest significance at which the bound exceeds `epsilon`: without a family, a binomial tail."""
        non_negative(epsilon=epsilon)
        if self.family is not None:
            return super().p_value(scores, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
        return self.curve_p_value(scores, ApproximateDP(epsilon, delta))

    def curve_p_value(self, scores: Scores | Successes, claim: Guarantee) -> float:
        """Probability of at least so many successes, at most, if `claim` holds: tests the whole promised curve.

        The claim is refuted at significance a when this is <= a, that is when the lower limit of the success rate
        exceeds what the claim allows. No family is assumed: the claim is tested as it stands.

        >>> from dpassay.mechanisms.guarantees import GaussianDP
        >>> round(Reconstruction().curve_p_value(Successes(60, 100, kappa=0.1), GaussianDP(1.0)), 9)
        1.6185e-05
        """
        successes = _successes(scores)
        return _tail(successes, allowed_success(claim, successes.kappa, candidates=self.candidates))

    def refutes(self, scores: Scores | Successes, claim: Guarantee, *, confidence: float) -> bool:
        """Whether the success is more than `claim` allows; wrong with probability at most 1 - confidence."""
        open_unit(confidence=confidence)
        return self.curve_p_value(scores, claim) <= 1.0 - confidence

    def _epsilon(self, successes: Successes, *, delta: float, confidence: float) -> float:
        corner = self._corner(successes, confidence)
        if self.family is None:
            return float(corner.epsilon_lower(delta))
        family, x, missed = self._family, float(corner.fpr_upper), float(corner.fnr_upper)
        theta = least_member(family, lambda member: float(member.tradeoff(x)) <= missed, start=family.claimed)
        return epsilon_of(family, theta, delta)

    @property
    def _family(self) -> CurveFamily:
        if isinstance(self.family, CurveFamily):
            return self.family
        raise ParameterError(
            'family is "claim", and no claim has been seen: call against(claim) and use the bound that it returns.'
        )

    def _corner(self, successes: Successes, confidence: float) -> Rectangle:
        """The point (x, 1 - gamma) at the lower limit of gamma, as limits on the rates of a test."""
        gamma = _limit(successes, confidence)
        missed = float(upper(successes.n_runs - successes.n_success, successes.n_runs, 1.0 - confidence))
        if self.candidates is None:
            x, rest = successes.kappa, 1.0 - successes.kappa
        else:
            covered, others = _covered(successes.kappa, self.candidates), self.candidates - 1
            x = min(1.0, (covered - 1 + missed) / others)
            rest = max(0.0, (others - covered + gamma) / others)
        return Rectangle(*map(np.asarray, (x, missed, rest, gamma)))

    def _ledger(self, successes: Successes) -> tuple[LedgerEntry, ...]:
        seen = f"{successes.n_success} of {successes.n_runs} rounds, kappa {successes.kappa:.6g}"
        return (
            LedgerEntry("success", seen, "one exact binomial limit; prior, tolerance and attack fixed beforehand"),
            LedgerEntry("direction", "both", "one limit serves both, and every delta"),
        )

    def _assumptions(self) -> tuple[str, ...]:
        found = []
        if self.candidates is not None:
            found.append(
                f"the secret is uniform on {self.candidates} candidates whose datasets are neighbours of each other "
                "(replace_one)"
            )
        if self.family is not None:
            found.append(f"the trade-off curve is that of {self._family.title}")
        return tuple(found)


def success_lower(successes: Successes, *, confidence: float) -> float:
    """Lower limit of the success rate (Clopper and Pearson 1934), exceeded by the truth with this confidence.

    >>> round(success_lower(Successes(60, 100, kappa=0.1), confidence=0.95), 6)
    0.512976
    """
    open_unit(confidence=confidence)
    return _limit(_successes(successes), confidence)


def allowed_success(claim: Guarantee, kappa: float, *, candidates: int | None = None) -> float:
    """The largest success rate that `claim` allows, where a blind guess succeeds with probability `kappa`.

    Args:
        claim: any guarantee.
        kappa: in (0, 1].
        candidates: as in `Reconstruction`.

    Returns:
        1 - f(kappa); with candidates, the largest gamma with gamma <= 1 - f((m - gamma) / (K - 1)), rounded up.

    Raises:
        RelationError: candidates, and a claim under a relation other than `replace_one`.

    Example:
        >>> from dpassay.mechanisms.guarantees import PureDP
        >>> round(allowed_success(PureDP(1.0), 0.1), 6), round(allowed_success(PureDP(1.0), 0.1, candidates=10), 6)
        (0.271828, 0.231969)
    """
    unit_interval(kappa=kappa)
    if candidates is None:
        return 1.0 - float(claim.tradeoff(kappa))
    whole(2, candidates=candidates)
    _check_relation(claim, candidates)
    covered = _covered(kappa, candidates)
    low, high = covered / candidates, 1.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        fits = middle <= 1.0 - float(claim.tradeoff((covered - middle) / (candidates - 1)))
        low, high = (middle, high) if fits else (low, middle)


def _check_relation(claim: Guarantee, candidates: int | None) -> None:
    if candidates is None or claim.relation in (None, Relation.REPLACE_ONE):
        return
    raise RelationError(
        f"candidates = {candidates} compares datasets that differ by replacing a record, but the claim {claim} "
        f"speaks of relation {claim.relation.value!r}, under which they are not neighbours. Leave candidates out."
    )


def _successes(scores: object) -> Successes:
    if isinstance(scores, Successes):
        return scores
    raise ParameterError(
        f"reconstruction reads Successes(n_success, n_runs, kappa), but was given {type(scores).__name__}. For the "
        "scores of a pair use another bound, such as 'clopper-pearson'."
    )


def _limit(successes: Successes, confidence: float) -> float:
    return float(lower(successes.n_success, successes.n_runs, 1.0 - confidence))


def _tail(successes: Successes, rate: float) -> float:
    """Pr[Bin(n, rate) >= successes], within [1e-12, 1]."""
    w, n = successes.n_success, successes.n_runs
    tail = 1.0 if w == 0 or rate >= 1.0 else float(special.betainc(w, n - w + 1.0, rate))
    return min(1.0, max(SMALLEST_P_VALUE, tail))


def _covered(kappa: float, candidates: int) -> int:
    """How many of the candidates one guess is close to."""
    covered = round(kappa * candidates)
    if covered < 1 or not math.isclose(kappa * candidates, covered, rel_tol=1e-9):
        raise ParameterError(
            f"kappa must be a multiple of 1 / candidates = 1 / {candidates} when the secret is uniform on them, but is "
            f"{kappa!r}. Give kappa exactly, or leave candidates out."
        )
    return covered


def _normal_quantile(p: float, rest: float) -> float:
    """Phi^-1(p), accurate at both ends; `rest` = 1 - p."""
    return float(special.ndtri(p) if p < rest else -special.ndtri(rest))
