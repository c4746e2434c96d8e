"""Looks at one set of coins: the audits of different scores, claims or bounds with the same coins.

Null hypothesis of look j: its training satisfies its claim. The bound of look j is wrong with probability at most its
significance s_j. All looks share the coins, and are dependent in an unknown way. By a union bound all of them are right
with probability at least 1 - sum s_j, if each set of scores was chosen without the result of an earlier look. A look
that is repeated counts once, with its largest significance. Claims that differ in epsilon only are one look: they are
nested, and the p-value does not decrease in epsilon, so that the smallest epsilon that is true decides whether any of
them is refuted by mistake.

Looks at coins in a file are recorded next to it, one JSON object in each line, so that later processes count them.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...mechanisms.core import Floats, Guarantee, ParameterError, confidence_text, number
from ..bounds.base import LedgerEntry
from ..results.audit_result import AuditResult
from ..trials.array_files import read_text

LOOKS_SUFFIX = ".looks"
"""Ending that the name of a file of looks adds to that of its coins."""


@dataclass(frozen=True)
class LookAtCoins:
    """One audit with a set of coins.

    Args:
        coins: digest of the coins.
        question: digest of the scores, the family of the claim and the bounds.
        significance: largest probability that the bound of the look is wrong.
        time: of the first such audit, ISO 8601, UTC.
        source: where the scores are from, such as a file; may be empty.
        claim, verdict: of the result.
    """

    coins: str
    question: str
    significance: float
    time: str
    source: str
    claim: str
    verdict: str

    def __str__(self) -> str:
        return f"{self.source or 'other scores'}, {self.time[:16]} UTC, {self.verdict} for {self.claim}"


@dataclass(eq=False)
class Looks:
    """All looks at one set of coins.

    Args:
        coins: digest of the coins.
        file: the file of the coins; None keeps the looks in memory.

    Raises:
        ParameterError: the record next to `file` cannot be read.
    """

    coins: str
    file: Path | None
    _seen: list[LookAtCoins] = field(default_factory=list)

    @property
    def record(self) -> Path | None:
        """File of the looks; None in memory."""
        return None if self.file is None else self.file.with_name(self.file.name + LOOKS_SUFFIX)

    def keep_in(self, file: Path) -> None:
        """Record later looks, and those so far, next to the file in which the coins are sealed now."""
        earlier, self.file = self._seen, file
        self._seen = []
        for look in earlier:
            self._add(look)

    def before(self) -> list[LookAtCoins]:
        """Return the looks so far, in order."""
        return [*self._seen, *(look for look in self._recorded() if look not in self._seen)]

    def count(self, result: AuditResult, question: str, *, source: str, significance: float) -> AuditResult:
        """Record an audit, and return its result with the number of looks, and a warning if they exceed the plan.

        Args:
            result: at its share of the significance.
            question: see `look_digest`.
            source: where the scores are from.
            significance: planned for all looks together.
        """
        before = self.before()
        same = [look.significance for look in before if look.question == question]
        earlier = tuple({look.question: look for look in before if look.question != question}.values())
        share, now = 1.0 - result.confidence, datetime.now(UTC).isoformat(timespec="seconds")
        claim = f"epsilon <= {number(result.claim)} at delta = {number(result.delta)}"
        look = LookAtCoins(self.coins, question, share, now, source, claim, str(result.verdict))
        unrecorded = self._add(look) if share > max(same, default=0.0) else ""
        largest = {previous.question: 0.0 for previous in before} | {question: share}
        for previous in before:
            largest[previous.question] = max(largest[previous.question], previous.significance)
        return _with_looks(result, earlier, min(sum(largest.values()), 1.0), significance, unrecorded)

    def _add(self, look: LookAtCoins) -> str:
        """Keep a look; return the reason if it cannot be recorded."""
        self._seen.append(look)
        if self.record is None:
            return ""
        try:
            with self.record.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(look)) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _recorded(self) -> list[LookAtCoins]:
        """Return the looks at these coins in the file next to them."""
        if self.record is None or not self.record.exists():
            return []
        try:
            lines = read_text(self.record).splitlines()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ParameterError(
                f"{self.record} cannot be read: {reason}. It counts the audits with these coins.", argument="coins"
            ) from error
        looks = [self._parsed(number, line) for number, line in enumerate(lines, 1)]
        return [look for look in looks if look.coins == self.coins]

    def _parsed(self, number: int, line: str) -> LookAtCoins:
        try:
            content = json.loads(line)
            return LookAtCoins(**{field.name: _typed(content[field.name], field.name) for field in fields(LookAtCoins)})
        except (ValueError, LookupError, TypeError, RecursionError):
            raise ParameterError(
                f"line {number} of {self.record} must be a look at coins, as an audit wrote it, but is not. Restore "
                "the file: it counts the audits with these coins.",
                argument="coins",
            ) from None


def look_digest(scores: Floats, claim: Guarantee, delta: float | None, bound: Any, relation: str) -> str:
    """Return a digest of everything that tells two looks apart, without epsilon of the claim."""
    names = [field.name for field in fields(claim) if field.name != "nominal_epsilon"]  # type: ignore[arg-type]
    options = {name: getattr(claim, name) for name in names}
    described = repr([type(claim).__name__, options, delta, bound, relation])
    return hashlib.sha256(scores.tobytes() + described.encode()).hexdigest()


def _typed(value: Any, name: str) -> Any:
    """Return an entry of a record; raise `TypeError` for another type."""
    if isinstance(value, bool) or not isinstance(value, (int, float) if name == "significance" else str):
        raise TypeError(name)
    if not isinstance(value, str) and not 0.0 < value < 1.0:
        raise ValueError(name)
    return value


def _with_looks(
    result: AuditResult, earlier: tuple[LookAtCoins, ...], spent: float, planned: float, unrecorded: str
) -> AuditResult:
    """Return the result with the number of looks in its ledger, and warnings."""
    n, warnings, ledger = len(earlier) + 1, list(result.warnings), list(result.ledger)
    if spent > planned * (1.0 + 1e-9):
        warnings.append(
            f"These coins were judged before: {'; '.join(map(str, earlier))}. Other scores, another delta or another "
            f"bound are another look at the same coins. Together the {n} looks have {confidence_text(1.0 - spent)} "
            f"confidence, not {confidence_text(1.0 - planned)}, and only if all scores were chosen before the first "
            "look. Toss new coins for each training run; for several scores of one run, plan the number of looks "
            f"before the first: `looks={n}`, or `--looks {n}`."
        )
    if unrecorded:
        warnings.append(
            f"This look at the coins cannot be recorded next to them ({unrecorded}): later audits will not count it."
        )
    if n > 1 or result.confidence > 1.0 - planned * (1.0 - 1e-9):
        together = f"union bound: {confidence_text(1.0 - spent)} confidence together"
        ledger.append(LedgerEntry("looks at the coins", f"{n} so far", together))
    return replace(result, ledger=tuple(ledger), warnings=tuple(warnings))


__all__ = ["LookAtCoins", "Looks", "look_digest"]
