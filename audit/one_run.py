"""From the bits of one run to a verdict: many canaries, each in or out by the toss of a coin.

    BitScores -> bounds -> verdict

`audit` runs a mechanism thousands of times on a pair. Here one run, or a few, give thousands of bits:
`audit.membership.gradient_canary_game` and `membership_game` play the game, and this judges the claim by what came out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from audit.bounds.base import Bound, LedgerEntry, LowerBound, check_level
from audit.claim_curve import claim_curve
from audit.games import BitScores, PairScores
from audit.power import detectable_in_bits
from audit.question import as_bounds
from audit.results import AuditResult, Trials
from audit.run import KEPT
from audit.verdict import judge
from mechanisms.base import Mechanism, Relation
from mechanisms.describe import describe, fingerprint, label
from mechanisms.errors import AccountingError, ParameterError, RelationError
from mechanisms.guarantees.base import Guarantee
from mechanisms.validation import whole

ELSEWHERE = "scores from elsewhere"
"""What stands for the mechanism where only its scores are known."""


def audit_one_run(
    mechanism: Mechanism | None,
    scores: BitScores,
    *,
    attack: str = "one run with many canaries",
    bound: str | Bound | Sequence[str | Bound] = "auto",
    delta: float | None = None,
    confidence: float = 0.95,
    claim: Guarantee | None = None,
    family: int = 1,
    seed: int = 0,
) -> AuditResult:
    """Judges the claim of `mechanism` by the canaries of one run, or of a few.

    Args:
        mechanism: what was run; its relation must be add_remove: a canary was in the run, or not there. None where
            only the scores are known; `claim` must be given then.
        scores: the bits, tossed as fair coins before the run, and what the attack gave each canary.
        attack: what made the scores, for people.
        bound: a bound that reads bits, its name, or several, which share the significance; "auto" is "one-run-fdp",
            which assumes a curve of the claim's family, and "one-run", which assumes nothing.
        delta: of the statement; None takes the delta at which the claim is usually quoted.
        confidence: strictly between 0 and 1.
        claim: what is tested, under add_remove; None takes `mechanism.guarantee()`.
        family: of how many audits this is one, as for `audit.audit`.
        seed: of the game, to be told in the result.

    Returns:
        A result like that of `audit`. Its counts are those of bits, not of runs: `tally` holds the scores of canaries
        that were out (side 0) and in (side 1), which one run makes together, so that bounds for independent runs
        must not be read from them.

    Raises:
        ParameterError: scores that are not bits, a bound that does not read bits, a level out of range, or no delta.
        RelationError: another relation than add_remove.
        AccountingError: a claim that is infinite at delta.

    Guarantees:
        * with probability at least `confidence`, `result.bound.epsilon` does not exceed the true epsilon, under what
          `result.bound.assumptions` says; `one-run` assumes nothing.

    Example:
        >>> import numpy as np
        >>> from audit.membership import gradient_canary_game
        >>> from mechanisms.learning.dp_sgd import DPSGD
        >>> from mechanisms.learning.models import LogisticRegression
        >>> mechanism = DPSGD(LogisticRegression(499), steps=10, noise_multiplier=4.0, sampling="full-batch",
        ...                   batch_size=500)
        >>> game = gradient_canary_game(mechanism, np.eye(500), seed=0)
        >>> result = audit_one_run(mechanism, game, delta=1e-5)
        >>> result.verdict.value, 1.0 < result.bound.epsilon < result.claim
        ('consistent', True)
    """
    if not isinstance(scores, BitScores):
        raise ParameterError(
            f"scores must be BitScores, such as those of audit.membership.gradient_canary_game, but is "
            f"{type(scores).__name__}. For a pair of datasets use audit."
        )
    whole(0, seed=seed)
    given, claim = claim, _claim(mechanism, claim)
    if mechanism is not None and mechanism.relation is not Relation.ADD_REMOVE:
        raise RelationError(
            f"a canary that is in or out is 'add_remove', but the guarantee of {label(mechanism)} speaks of "
            f"{mechanism.relation.value!r}. Audit a mechanism under add_remove."
        )
    if claim.relation not in (None, Relation.ADD_REMOVE):
        raise RelationError(f"the claim {claim} speaks of {claim.relation.value!r}, the coins of 'add_remove'.")
    if delta is None:
        delta = claim.default_delta if mechanism is None or given is not None else mechanism.quoted_delta
    if delta is None:
        raise ParameterError(f"delta must be given: {claim} promises a whole curve. Try delta=1e-5.")
    check_level(delta=delta, confidence=confidence)
    whole(1, family=family)
    epsilon = float(claim.epsilon(delta))
    if not math.isfinite(epsilon):
        raise AccountingError(f"the claim {claim} is infinite at delta = {delta:g}; choose a larger one, such as 1e-5.")
    bounds = tuple(one.against(claim) for one in as_bounds(bound, None, reads=BitScores))
    share, strictest = (1.0 - (1.0 - confidence) / (len(bounds) * n) for n in (1, family))
    bits: Any = scores  # each of these bounds reads bits
    found = tuple(one.lower_bound(bits, delta=delta, confidence=share) for one in bounds)
    best = max(found, key=lambda one: one.epsilon)
    ceiling = max(one.ceiling for one in found)
    p_value = min(one.p_value(bits, epsilon=epsilon, delta=delta) for one in bounds) * len(bounds)
    sides = PairScores(out=scores.scores[~scores.bits], in_=scores.scores[scores.bits])
    power = detectable_in_bits(bounds, claim=claim, delta=delta, confidence=strictest, n_bits=scores.bits.size)
    return AuditResult(
        mechanism=ELSEWHERE if mechanism is None else label(mechanism),
        relation=Relation.ADD_REMOVE.value,
        attack=attack,
        claim=epsilon,
        claim_name=str(claim),
        truth=None,
        delta=delta,
        confidence=confidence,
        bounds=found,
        p_value=min(1.0, p_value),
        detectable=power.epsilon,
        detectable_family=power.family,
        trials=Trials(scores.n_runs, pilot=0, evaluation=scores.n_runs, n_canaries=scores.n_canaries),
        seed=seed,
        verdict=judge(bound=best.epsilon, claim=epsilon, ceiling=ceiling),
        ledger=_ledger(scores, found, best),
        tally=sides.thinned(KEPT),
        claim_curve=claim_curve(claim, epsilon),
        events={},
        fingerprint=fingerprint({"mechanism": describe(mechanism), "scores": describe(scores), "seed": seed}),
    )


def _claim(mechanism: Mechanism | None, claim: Guarantee | None) -> Guarantee:
    """The claim that is tested; raises `ParameterError` where neither argument has one."""
    if mechanism is not None and not isinstance(mechanism, Mechanism):
        raise ParameterError(
            f"mechanism must be a Mechanism, or None with a claim beside the scores, but is {mechanism!r}."
        )
    if claim is not None and not isinstance(claim, Guarantee):
        raise ParameterError(f"claim must be a guarantee, such as GaussianDP(1.0), but is {claim!r}.")
    if claim is not None:
        return claim
    if mechanism is None:
        raise ParameterError("claim must be given where mechanism is None, for example claim=GaussianDP(1.0).")
    return mechanism.guarantee()


def _ledger(scores: BitScores, found: tuple[LowerBound, ...], best: LowerBound) -> tuple[LedgerEntry, ...]:
    """What was looked at, and how each look is paid for."""
    entries = [LedgerEntry("canaries", f"{scores.n_canaries} in each of {scores.n_runs} run(s)", "fixed beforehand")]
    if len(found) > 1:
        names = ", ".join(one.method for one in found)
        entries.append(LedgerEntry("bounds", f"{len(found)}: {names}", f"Bonferroni over {len(found)}"))
    return (*entries, *best.ledger)


__all__ = ["audit_one_run"]
