"""The comparison of two results: which claims are newly refuted, and which audits have lost power.

Two things fail a comparison, and neither compares two random bounds.

**New violation.** The second result refutes a claim that the first one did not refute.

    null hypothesis       the claim holds
    test                  the verdict of the second result, at its own confidence, corrected for all of its audits
    fixed before looking  the first result: it decides which rejections count, and adds none

A new violation of a true claim is a rejection by the second result, whose probability is at most 1 - confidence for
every first result, whether or not both use the same seed. A violation is known, and passes, only if the first result
refuted the same guarantee of the same mechanism under the same relation and delta, or had a bound above the epsilon
that is claimed now. A violation that a test expects (`pytest.raises`) is not a known one.

**Lost power.** The minimum detectable epsilon (the smallest true epsilon that a perfect attack detects at power 90 %)
is a function of trials, bounds, claim, delta and confidence, and not of any outcome. With e the claimed epsilon of the
first result, m and m' the minimum detectable epsilons of the two, and r the allowed loss, power is lost if

    m' - e > (1 + r) (m - e) + m / 100

where the last term is the coarsest precision to which m is computed (`COARSE_PRECISION`). The excess m - e shrinks like
1 / sqrt(trials), so that r = 0.25 allows 36 % fewer trials, and more where m - e is about m / 100. A raised claim e'
counts as lost power: m' > e'. It is also lost if a claim is no longer tested: its audit is missing, has another delta
or relation, or ends without a verdict where the first result had one (dependent trials, or more than 90 % of the
outputs new to the attack; both depend on the trials, with limits far from what unchanged code gives).

A lower bound varies from run to run. It is shown, and no change of it fails a comparison, unless it crosses the claim.
A known violation may therefore become worse unnoticed: claim the larger epsilon to be warned. The power is that of a
perfect attack: a change to a weaker attack is listed among the differences, and lowers the bound only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...audit.evidence.verdict import Verdict
from ...audit.power.power import COARSE_PRECISION
from ...mechanisms.core import ParameterError, beside, confidence_text, number, plural
from .checked import SESSION, CheckedClaim, CheckedClaims

POWER_LOSS = 0.25
"""Largest accepted relative growth of the detectable excess over the claim; 36 % fewer trials."""
_COMPARED = {"mechanism": "mechanism", "claim_name": "claim", "attack": "attack", "method": "bound", "trials": "trials"}
"""Fields whose changes are listed, with their display names; confidences are compared separately."""
_REFUTED, _DEAF = Verdict.VIOLATION, (Verdict.UNDERPOWERED, Verdict.DEPENDENT)


class Change(StrEnum):
    """What became of a tested claim between two results."""

    NEW_VIOLATION = "new violation"
    LOST_POWER = "lost power"
    KNOWN_VIOLATION = "known violation"
    NOT_REFUTED = "no longer refuted"
    ADDED = "added"
    UNCHANGED = "unchanged"

    @property
    def fails(self) -> bool:
        """Whether this change fails a comparison."""
        return self in (Change.NEW_VIOLATION, Change.LOST_POWER)


@dataclass(frozen=True)
class ComparedClaim:
    """One claim in two results.

    Args:
        name: of the audit.
        before, after: the claim in each result; None where it has no such audit.
        change: what became of it.
        reason: the reason of a change that fails, a sentence; else empty.
        differences: changes of its settings, such as "trials: 1,000 -> 500".
    """

    name: str
    before: CheckedClaim | None
    after: CheckedClaim | None
    change: Change
    reason: str = ""
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """All claims of two results.

    Args:
        claims: those of the second result in its order, then those that only the first one has.
        power_loss: allowed relative growth of the detectable excess.
        false_alarm: largest probability that any true claim becomes a new violation.
    """

    claims: tuple[ComparedClaim, ...]
    power_loss: float
    false_alarm: float

    @property
    def failures(self) -> tuple[ComparedClaim, ...]:
        """New violations, and claims whose audit has lost power."""
        return tuple(claim for claim in self.claims if claim.change.fails)

    def headline(self) -> str:
        """Return the outcome in one sentence."""
        counts = {change: sum(claim.change is change for claim in self.claims) for change in Change}
        found = [
            plural(counts[Change.NEW_VIOLATION], "new violation"),
            plural(counts[Change.LOST_POWER], "audit") + " with less power",
        ]
        known = counts[Change.KNOWN_VIOLATION]
        also = f"; {plural(known, 'known violation')}" if known else ""
        return f"{' and '.join(found)}, of {plural(len(self.claims), 'claim')}{also}."

    def level(self) -> str:
        """Return a sentence on false alarms."""
        return (
            f"If all claims hold, the probability of any new violation is at most {number(self.false_alarm, 2)}. Power "
            "is a function of the settings, and bounds that change by chance never fail."
        )


def check_power_loss(power_loss: float, *, argument: str = "power_loss") -> float:
    """Return the allowed loss of power; raises `ParameterError` unless it is >= 0, or inf for any loss."""
    if not power_loss >= 0.0:
        raise ParameterError(
            argument=argument, value=power_loss, allowed="be a number >= 0, such as 0.25, or inf to allow any loss"
        )
    return power_loss


def compare(before: CheckedClaims, after: CheckedClaims, *, power_loss: float = POWER_LOSS) -> Comparison:
    """Compare two results, claim by claim.

    Audits are matched by name; a single audit, or a sweep of one, is matched with the other one whatever the names are.

    Args:
        before: the first result, such as a baseline.
        after: the second result.
        power_loss: allowed relative growth of the excess of the minimum detectable epsilon over the claim; inf allows
            any loss, of the audit of a claim too.

    Raises:
        ParameterError: `power_loss` is negative or NaN.
    """
    check_power_loss(power_loss)
    earlier = {claim.name: claim for claim in before.claims}
    single = len(before.claims) == len(after.claims) == 1 and SESSION not in (before.source, after.source)
    if single:
        earlier = {after.claims[0].name: before.claims[0]}
    compared = [compare_claim(earlier.get(claim.name), claim, power_loss=power_loss) for claim in after.claims]
    now = {claim.name for claim in after.claims}
    gone = [missing(claim, power_loss=power_loss) for name, claim in earlier.items() if name not in now]
    return Comparison((*compared, *gone), power_loss, false_alarm(after))


def false_alarm(checked: CheckedClaims) -> float:
    """Return the largest probability that a result refutes any true claim.

    The audits of a sweep are corrected for each other (Holm); the checks of a session add up (union bound).
    """
    levels = [1.0 - claim.confidence for claim in checked.claims]
    return min(1.0, math.fsum(levels)) if checked.source == SESSION else max(levels, default=0.0)


def compare_claim(before: CheckedClaim | None, after: CheckedClaim, *, power_loss: float = POWER_LOSS) -> ComparedClaim:
    """Compare one claim with its earlier audit, None for no such audit."""
    differences = () if before is None else _differences(before, after)
    change, reason = _change(before, after, power_loss)
    return ComparedClaim(after.name, before, after, change, reason, differences)


def missing(before: CheckedClaim, *, power_loss: float = POWER_LOSS) -> ComparedClaim:
    """Return the row of a claim that is no longer tested; it fails unless any loss is allowed."""
    change = Change.UNCHANGED if math.isinf(power_loss) else Change.LOST_POWER
    reason = "This claim is no longer tested. Restore its audit, or write a new baseline."
    return ComparedClaim(before.name, before, None, change, reason)


def _change(before: CheckedClaim | None, after: CheckedClaim, power_loss: float) -> tuple[Change, str]:
    """Return the change, and the reason of one that fails."""
    if after.verdict is _REFUTED:
        if before is not None and _already_refuted(before, after):
            return Change.KNOWN_VIOLATION, ""
        now, claimed = beside(after.bound, after.claim, 4)
        return Change.NEW_VIOLATION, f"epsilon >= {now} is shown, but {claimed} is claimed."
    if before is None:
        return Change.ADDED, ""
    lost = _lost(before, after, power_loss)
    if lost and not math.isinf(power_loss):
        return Change.LOST_POWER, lost
    return (Change.NOT_REFUTED if before.verdict is _REFUTED else Change.UNCHANGED), ""


def _already_refuted(before: CheckedClaim, after: CheckedClaim) -> bool:
    """Return whether the first result refuted this claim, of this mechanism."""
    same = before.mechanism == after.mechanism and _comparable(before, after)
    implied = before.claim_name == after.claim_name or before.bound > after.claim
    return same and implied and before.verdict is _REFUTED and not before.expected


def _comparable(before: CheckedClaim, after: CheckedClaim) -> bool:
    return (before.delta, before.relation) == (after.delta, after.relation)


def _lost(before: CheckedClaim, after: CheckedClaim, power_loss: float) -> str:
    """Return why the second audit has less power, a sentence; empty if it has not."""
    if not _comparable(before, after):
        changed = [
            f"{name} is now {b}, and was {a}"
            for name, a, b in (
                ("delta", number(before.delta), number(after.delta)),
                ("relation", before.relation, after.relation),
            )
            if a != b
        ]
        return f"The earlier claim is no longer tested: {'; '.join(changed)}. If this is wanted, write a new baseline."
    if after.verdict in _DEAF and before.verdict not in _DEAF:
        return f"The audit is now {after.verdict.value}, and can refute nothing."
    excess, now = before.detectable - before.claim, after.detectable - before.claim
    if not now > (1.0 + power_loss) * excess + COARSE_PRECISION * before.detectable:
        return ""
    raised = after.claim > before.claim
    claims = f" The claim was raised from {number(before.claim, 4)} to {number(after.claim, 4)}." if raised else ""
    return (
        f"The smallest epsilon detected in 9 of 10 audits is now {number(after.detectable, 4)}, and was "
        f"{number(before.detectable, 4)}.{claims}"
    )


def _differences(before: CheckedClaim, after: CheckedClaim) -> tuple[str, ...]:
    """Return the changed settings, in words."""
    texts = [
        f"{shown}: {_text(getattr(before, name))} -> {_text(getattr(after, name))}"
        for name, shown in _COMPARED.items()
        if getattr(before, name) != getattr(after, name)
    ]
    if not math.isclose(1 - before.confidence, 1 - after.confidence, rel_tol=1e-6):
        texts.append(f"confidence: {confidence_text(before.confidence)} -> {confidence_text(after.confidence)}")
    return tuple(texts)


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def common_differences(claims: Sequence[ComparedClaim]) -> list[str]:
    """Return the differences of the claims, each once, with the number of audits that have it."""
    texts = [text for claim in claims for text in claim.differences]
    return [f"{text} ({plural(texts.count(text), 'audit')})" for text in dict.fromkeys(texts)]
