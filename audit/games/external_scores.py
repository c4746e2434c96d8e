"""Audits of scores from external code: the runs were made on other machines, or in another language.

    PairScores, BitScores or Successes -> bounds -> verdict

A bound holds under these assumptions, which no library can test from scores alone:

    PairScores    each score comes from an independent run, with fresh randomness, on one dataset of one pair; the
                  attack that gave the scores was fixed before these runs, or trained on others
    BitScores     each bit is an independent fair coin, tossed before its run; a score may depend on the output of its
                  run and on public data, never on the bit; a bit states whether a canary is present, or which of two
                  values a record has. Bits that cannot be such coins are refused (`dpassay.audit.evidence.fair_coins`)
    Successes     each round draws a fresh secret from a known prior, runs once, and guesses once; the tolerance was
                  fixed beforehand
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...mechanisms.core import number, plural
from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.base import Mechanism
from ...mechanisms.core.errors import ParameterError, RelationError
from ...mechanisms.core.fingerprint import describe, fingerprint
from ...mechanisms.core.guarantee import Guarantee
from ...mechanisms.core.printable import display_name
from ...mechanisms.core.relation import Relation
from ...mechanisms.core.validation import called_as, whole
from ...mechanisms.tiers import tier_of
from ..bounds.base import Evidence, LedgerEntry
from ..bounds.bits.guessing import n_shares
from ..bounds.catalogue import BoundChoice, choose_bounds
from ..bounds.pair.orientation import Exchanged
from ..evidence.fair_coins import STATED_COINS_LEVEL, UNSTATED_COINS_LEVEL, check_coins
from ..evidence.game import Game, Trials
from ..evidence.scores import BitScores, PairScores, Successes
from ..evidence.statement import Statement
from ..evidence.verdict import Verdict
from ..results.audit_result import AuditResult
from ..results.recovery import recovery_of
from ..trials.plan import plan_trials
from ..trials.seeds import Stage, stream
from .conclude import AuditContext, conclude

UNKNOWN_MECHANISM = "scores from elsewhere"
"""Name of the mechanism if only its scores are known."""
CONDITIONS: dict[type[Evidence], str] = {
    PairScores: "The bound is valid only if each row is an independent run with fresh randomness, and the attack that "
    "scored it was fixed beforehand or trained on other runs. Records of one model are no runs.",
    BitScores: "The bound is valid only if each bit was an independent fair coin, tossed before its run, and no score "
    "was computed from its bit. Records of one model that no coin put in or left out, such as a training and a test "
    "set, have no such bits.",
    Successes: "The bound is valid only if each row is a fresh secret from the known prior, a fresh run and one guess, "
    "and the tolerance was fixed beforehand.",
}
"""Conditions of the bound on scores of other code, which cannot be verified from the scores."""
MIN_DISTINCT_VALUES = 50
"""Number of distinct values at which scores that are equal, in the same order, or repeated cannot be a coincidence."""
INVERTED_LEVEL = 1e-4
"""p-value at which scores are called inverted, and leave no verdict."""
UNKNOWN_RELATION = "the relation of the claim"
"""Name of the relation if it is unknown."""


@called_as("audit_scores(PairScores(out, in_), claim=PureDP(1.0))")
def audit_scores(
    evidence: PairScores | BitScores | Successes,
    *,
    mechanism: Mechanism | None = None,
    claim: Guarantee | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    bound: BoundChoice = "auto",
    pilot: PairScores | None = None,
    relation: Relation | str | None = None,
    attack: str = "from elsewhere",
    n_hypotheses: int = 1,
    seed: int = 0,
    tossed: bool = False,
) -> AuditResult:
    """Audit a claim from attack scores that external code has computed.

    Args:
        evidence: `PairScores(out, in_)` of runs on the two datasets of a pair, side 1 scoring higher (or lower: the
            pilot decides, if there is one);
            `BitScores(bits, scores)` of canaries, shape `(n_runs, n_canaries)`, each in or out by a coin toss, or, with
            relation="replace_one", of records that have one of two values by a coin toss; or
            `Successes(n_success, n_runs, prior_success)` of reconstruction attacks.
        mechanism: the mechanism that was run, for its claim and its name; None if only scores are known.
        claim: the guarantee under test; None takes `mechanism.guarantee()`. Required without a mechanism.
        delta, confidence, n_hypotheses: see `dpassay.audit.audit`.
        bound: a bound that reads this evidence, its name, or several, which share the significance. "auto" is
            "joint-exact" for pairs, "one-run-fdp" (if the claim belongs to a family) and "one-run" for bits,
            "reconstruction" for successes.
        pilot: pilot scores, on which thresholds are chosen and which are not counted; pairs only. If a bound needs a
            pilot and this is None, a random share of `evidence`, drawn with `seed`, is the pilot.
        relation: relation of the pair, or of the secrets; None takes that of the mechanism, or of the claim.
            `BitScores` have their own.
        attack: name of the attack in the result.
        seed: seed that draws the pilot, and is recorded; a whole number >= 0. For scores of a game of this library,
            the seed of the game.
        tossed: the statement that an independent fair coin decided each bit of `BitScores`. Without it, bits that
            such coins give with probability 1e-3 or less, such as 800 of 1,800, are refused.

    Returns:
        A result as from `audit`: the same bounds, tables, plots and JSON form. With `BitScores`, n_trials counts bits.

    Raises:
        ParameterError: no evidence of a known type, no claim, no delta, a bound that reads another type, too few scores
            for a pilot, duplicated scores, bits that cannot be independent fair coins, or scores that are lower where
            they must be higher (p <= 1e-4) and show no violation. Bounds on pairs with a threshold from a pilot, or
            learned online, find the direction themselves.
        RelationError: the claim holds for another relation.
        AccountingError: the claimed epsilon is infinite at delta.

    Guarantees:
        * if the evidence satisfies the assumptions of its type (independent runs; coins tossed before the run; fresh
          secrets), then `result.bound.epsilon` exceeds the true epsilon with probability at most 1 - `confidence`. The
          assumptions are not tested: scores do not show how they were made.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> scores = PairScores(out=rng.laplace(0.0, 1.0, 20_000), in_=rng.laplace(1.0, 1.0, 20_000))
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> result = audit_scores(scores, claim=PureDP(1.0))
        >>> result.verdict.value, 0.8 < result.bound.epsilon <= 1.0
        ('consistent', True)
        >>> audit_scores(scores, claim=PureDP(0.5)).verdict.value
        'violation'
    """
    reads = _type_of(evidence)
    whole(0, seed=seed)
    _check_mechanism(mechanism)
    game, evidence_relation = _game(evidence), _relation(evidence, mechanism, relation)
    statement = Statement.about(
        mechanism, claim, delta=delta, confidence=confidence, n_hypotheses=n_hypotheses, relation=evidence_relation
    )
    bounds = choose_bounds(bound, reads=reads, claim=statement.claim)
    description = {"mechanism": describe(mechanism), "scores": describe(evidence), "seed": seed}
    counted: Evidence = evidence
    set_aside = False
    if isinstance(evidence, BitScores):
        check_coins(evidence, tossed=tossed)
    if isinstance(evidence, PairScores):
        _check_copies(evidence, pilot)
        counted, pilot, set_aside = _with_pilot(evidence, pilot, bounds, seed)
        description |= {"pilot": describe(pilot)}
    elif pilot is not None:
        raise ParameterError("pilot must be None: only bounds on the scores of a pair use a pilot.", argument="pilot")
    shared = statement.shared(n_shares(bounds))
    context = AuditContext(
        game=game,
        mechanism=UNKNOWN_MECHANISM if mechanism is None else display_name(mechanism),
        tier=None if mechanism is None else tier_of(mechanism, claim),
        attack=attack,
        relation=str(evidence_relation or statement.claim.relation or UNKNOWN_RELATION),
        trials=_trials(counted, pilot),
        seed=seed,
        fingerprint=fingerprint(description),
        looks=_looks(counted, pilot, set_aside, tossed),
        recovery=recovery_of(counted, statement.claim, bounds, confidence),
        warnings=_constant(counted),
        valid_if=CONDITIONS[reads] if mechanism is None else "",
    )
    fixed = [bound.fix(shared, pilot, counted.sizes) for bound in bounds]
    result = conclude(statement, bounds, fixed, counted, context)
    if result.verdict is not Verdict.VIOLATION and not _oriented(bounds, fixed):
        _refuse_inverted(counted)
    return result


_KINDS: tuple[type[Evidence], ...] = (PairScores, BitScores, Successes)


def _game(evidence: Evidence) -> Game:
    if isinstance(evidence, BitScores):
        return Game.RECONSTRUCTION_OF_BITS if evidence.relation is Relation.REPLACE_ONE else Game.MEMBERSHIP
    return Game.RECONSTRUCTION if isinstance(evidence, Successes) else Game.DISTINGUISHING


def _type_of(evidence: object) -> type[Evidence]:
    for kind in _KINDS:
        if isinstance(evidence, kind):
            return kind
    known = ", ".join(kind.__name__ for kind in _KINDS)
    raise ParameterError(
        f"evidence must be one of {known} of dpassay.audit, but is {type(evidence).__name__}. Try PairScores(out, in_) "
        "for scores of runs without and with the record.",
        argument="evidence",
    )


def _check_mechanism(mechanism: Any) -> None:
    if mechanism is not None and not isinstance(mechanism, Mechanism):
        raise ParameterError(argument="mechanism", value=mechanism, allowed="be a Mechanism, or None with a claim")


def _relation(evidence: Evidence, mechanism: Mechanism | None, relation: Relation | str | None) -> Relation | None:
    """Return the relation of the evidence, None if it is unknown; `BitScores` have their own."""
    named = None if relation is None else Relation.of(relation)
    guaranteed = None if mechanism is None else mechanism.relation
    expected = evidence.relation if isinstance(evidence, BitScores) else named or guaranteed
    for source, actual in (("relation", named), ("the guarantee of the mechanism", guaranteed)):
        if None not in (actual, expected) and actual is not expected:
            raise RelationError(
                f"{source} is of {str(actual)!r}, but the evidence of {str(expected)!r}: an epsilon has a different "
                "meaning under each. A canary that is in or out is 'add_remove'; a bit that is one of the two values "
                "of a record is BitScores(..., relation='replace_one')."
            )
    return expected


def _with_pilot(
    scores: PairScores, pilot: PairScores | None, bounds: tuple[Any, ...], seed: int
) -> tuple[PairScores, PairScores | None, bool]:
    """Return the evaluation scores, the pilot, and True if the pilot was split off at random positions drawn by `seed`.

    Runs are exchangeable, so that a choice of positions independent of the scores leaves both parts independent.
    """
    if pilot is not None and not isinstance(pilot, PairScores):
        raise ParameterError(
            f"pilot must be PairScores of runs that are not counted, but is {type(pilot).__name__}.", argument="pilot"
        )
    if pilot is not None or not any(bound.needs_pilot for bound in bounds):
        return scores, pilot, False
    size = plan_trials(
        min(scores.sizes), bytes_per_run=8, learns=False, chooses=True, vectorised=True, anytime=False
    ).pilot
    rng = stream(seed, Stage.PILOT)
    in_pilot = [np.isin(np.arange(n), rng.permutation(n)[:size]) for n in scores.sizes]
    evaluation = PairScores(scores.out[~in_pilot[0]], scores.in_[~in_pilot[1]])
    return evaluation, PairScores(scores.out[in_pilot[0]], scores.in_[in_pilot[1]]), True


def _check_copies(scores: PairScores, pilot: Any) -> None:
    """Raise `ParameterError` if a side has no scores, or if some occur twice: on one or both sides, or in the pilot.

    The numbers of times that the values of independent runs occur have no common factor, but with a probability of
    about 2^(1 - number of values), which is below 1e-14 for `MIN_DISTINCT_VALUES`.
    """
    if not scores.n_out or not scores.n_in:
        side = "in_" if scores.n_out else "out"
        n = int(side == "in_")
        raise ParameterError(f"{side} must hold scores of runs on side {n}, but is empty.", argument=side)
    if _copied(scores.out, scores.in_):
        raise ParameterError(
            f"in_ holds the same {scores.n_in:,} scores as out, in the same order. Give scores of separate runs on "
            "each side, with separate seeds.",
            argument="in_",
        )
    for side, part in (("out", scores.out), ("in_", scores.in_)):
        counts = np.unique(part, return_counts=True)[1]
        times = int(np.gcd.reduce(counts))
        if times > 1 and len(counts) >= MIN_DISTINCT_VALUES:
            raise ParameterError(
                f"{side} must hold the score of each run once, but each of its {plural(len(counts), 'value')} occurs "
                f"{times:,} times, or a multiple of it. Runs that are counted several times are not independent, and "
                "the bound would be too large.",
                argument=side,
            )
    if isinstance(pilot, PairScores):
        for side, part, whole_side in (("out", pilot.out, scores.out), ("in_", pilot.in_, scores.in_)):
            n = len(part)
            if _copied(part, whole_side[:n]) or _copied(part, whole_side[len(whole_side) - n :]):
                raise ParameterError(
                    f"pilot holds scores that are counted too, those of `{side}`. Give scores of other runs, or None "
                    "to split off a pilot.",
                    argument="pilot",
                )


def _copied(first: Any, second: Any) -> bool:
    """Return True if the scores are equal and have too many distinct values for a coincidence."""
    return np.array_equal(first, second) and len(np.unique(first)) >= MIN_DISTINCT_VALUES


def _by_side(evidence: Evidence) -> tuple[Floats, Floats]:
    """Return the scores that must be lower, and those that must be higher; empty for successes."""
    if isinstance(evidence, BitScores):
        return evidence.scores[~evidence.bits], evidence.scores[evidence.bits]
    return (evidence.out, evidence.in_) if isinstance(evidence, PairScores) else (np.empty(0), np.empty(0))


def _constant(evidence: Evidence) -> tuple[str, ...]:
    """Return a warning if two or more scores are all equal."""
    scores = np.concatenate(_by_side(evidence))
    if len(scores) < 2 or (scores != scores[0]).any():
        return ()
    return (
        f"All {len(scores):,} scores are {number(scores[0])}, so that they show nothing about the claim. Check how "
        "they were computed, and that they are of different outputs.",
    )


def _oriented(bounds: Sequence[Any], fixed: Sequence[Any]) -> bool:
    """Return True if a bound has found the direction of the scores, on a pilot or on earlier scores."""
    return any(isinstance(bound, Exchanged) for bound in fixed) or any(b.anytime and b.orients for b in bounds)


def _refuse_inverted(evidence: Evidence) -> None:
    """Raise `ParameterError` if scores that must be higher are lower than the others, by more than chance.

    No bound reads them in this direction, so that "consistent" would only mean that the sign is wrong. If nothing
    leaks, the bits or sides are independent of the scores, and the test of Mann and Whitney is valid: for bits, for any
    dependence between scores. It then refuses with probability about `INVERTED_LEVEL`, and more rarely where scores
    leak in the right direction. A refusal is no violation, so the level of the verdict needs no correction.
    """
    out, in_ = _by_side(evidence)
    if not len(out) or not len(in_):
        return
    from scipy import stats

    test = stats.mannwhitneyu(in_, out, alternative="less", method="auto")
    if not test.pvalue <= INVERTED_LEVEL:
        return
    auc = float(test.statistic) / (len(in_) * len(out))
    if isinstance(evidence, PairScores):
        which, of, advice = "Runs on side 1", "runs on side 0", "Give scores with the opposite sign"
    else:
        which, of = "Canaries that were in", "those that were out"
        advice = "Give losses with the opposite sign, or as `losses` of Coins"
    raise ParameterError(
        f"{which} have lower scores than {of} (AUC {auc:.2f}, p = {test.pvalue:.1g}), but a higher score must mean "
        f"{'side 1' if isinstance(evidence, PairScores) else 'in'}. These bounds read no leak in the other direction, "
        f"so there is no verdict. {advice}, and set n_hypotheses=2, because the direction was changed after a look at "
        "the scores.",
        argument="evidence",
    )


def _trials(counted: Evidence, pilot: PairScores | None) -> Trials:
    if isinstance(counted, BitScores):
        return Trials(counted.n_runs, 0, counted.n_runs, counted.n_canaries)
    if isinstance(counted, Successes):
        return Trials(counted.n_runs, 0, counted.n_runs)
    n_pilot, n = (0 if pilot is None else min(pilot.sizes)), min(counted.sizes)
    return Trials(n_pilot + n, n_pilot, n)


def _looks(counted: Evidence, pilot: PairScores | None, set_aside: bool, tossed: bool) -> tuple[LedgerEntry, ...]:
    """Return the ledger entries on the evidence and its assumptions."""
    if isinstance(counted, BitScores):
        runs = "1 run" if counted.n_runs == 1 else f"each of {counted.n_runs:,} runs"
        unit = "canaries" if counted.relation is Relation.ADD_REMOVE else "records"
        coins = f"{int(counted.bits.sum()):,} of {counted.n_bits:,} are 1, and other exact tests of fair coins"
        level = STATED_COINS_LEVEL if tossed else UNSTATED_COINS_LEVEL
        correction = (
            f"none needed: a refusal states no bound; fair coins are refused with probability <= {number(level)}"
        )
        size = LedgerEntry(unit, f"{counted.n_canaries:,} in {runs}", "fixed beforehand")
        return (size, LedgerEntry("coins", coins, correction))
    if isinstance(counted, Successes):
        return (LedgerEntry("rounds", f"{counted.n_runs}", "independent: assumed, not tested"),)
    entry = LedgerEntry(
        "scores", "{:,} on side 0, {:,} on side 1".format(*counted.sizes), "independent runs: assumed, not tested"
    )
    if pilot is None:
        return (entry,)
    source = "split off by the seed, independently of the scores" if set_aside else "given separately"
    return (entry, LedgerEntry("pilot", "{:,} + {:,} scores, {}".format(*pilot.sizes, source), "not counted"))
