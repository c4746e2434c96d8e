"""What a search looked at, and what it confirmed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ...mechanisms.base import Dataset, Neighbours
from ...mechanisms.errors import plural
from ..bounds.base import LedgerEntry, LowerBound
from ..evidence.verdict import Verdict
from ..results import consistency
from ..results.audit_result import AuditResult, check_audit
from ..results.saved import Saved

CHOSEN = "chosen by the search, before these trials"
CONFIRMED = "the best one confirmed on fresh trials, from streams of their own"
SHOWN = 5
"""Looks that the ledger of a search in a domain lists, the best ones; the result has all of them."""
LONGEST = 10_000
"""Characters of a dataset that a result keeps."""
CUT = 200
"""Characters of a dataset that the ledger shows."""


@dataclass(frozen=True)
class Look:
    """One candidate under one attack, on screening trials; decides who wins and is counted in no bound.

    Args:
        candidate: place of the pair among the candidates, from 0.
        pair: the pair, for people.
        attack: name of the attack.
        epsilon: the bound at confidence 0.75, which the looks are ranked by; that of a witness, where one was found.
        p_value: against the claim, from the same trials; breaks ties. 0 with a witness.
        trials: runs per side, pilot included; looks with more trials than others are between finalists.
        seed: root of its random streams.
    """

    candidate: int
    pair: str
    attack: str
    epsilon: float
    p_value: float
    trials: int
    seed: int


@dataclass(frozen=True)
class SearchResult(Saved):
    """Everything that was looked at, and the confirmation of the winner.

    Args:
        looks: in the order in which they were made; empty where there was nothing to choose from.
        winner: place of the winner among the looks; None where there are none.
        confirmed: the audit of the winner on fresh trials; its bound and verdict are those of the search, and its
            ledger begins with the looks.
        seed: root of all seeds.
        domain: what was searched, for people; empty where the candidates were given.
        skipped: pairs of the domain that were not looked at, by the reason.
        d0, d1: the datasets of the confirmed pair as JSON, as `dpassay check --d0 --d1` takes them; empty where the
            candidates were given.
    """

    FORMAT: ClassVar[str] = "dpassay.search-result"
    VERSION: ClassVar[int] = 3

    looks: tuple[Look, ...]
    winner: int | None
    confirmed: AuditResult
    seed: int
    domain: str = ""
    skipped: dict[str, int] = field(default_factory=dict)
    d0: str = ""
    d1: str = ""

    @property
    def bound(self) -> LowerBound:
        """Valid at the confidence that was asked for, over the whole search."""
        return self.confirmed.bound

    @property
    def verdict(self) -> Verdict:
        return self.confirmed.verdict

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """What was looked at, and how it is paid for."""
        return self.confirmed.ledger

    @property
    def candidate(self) -> int:
        """Place of the confirmed pair among the candidates."""
        return 0 if self.winner is None else self.looks[self.winner].candidate

    def summary(self) -> str:
        """The table that a person reads: that of the confirmation, whose ledger has the looks."""
        return self.confirmed.summary()

    def check(self) -> None:
        """Raises `ResultError` where the confirmation contradicts itself, or another look has the largest bound."""
        check_audit(self.confirmed, "confirmed")
        consistency.require(self.winner == best_look(self.looks), "winner", "another look has the largest bound")


def best_look(looks: Sequence[Look]) -> int | None:
    """Place of the winner: of the looks with the most trials the one with the largest bound; of equal ones, that with
    the least p-value, then the first."""
    return max(range(len(looks)), key=lambda i: (*_rank(looks[i]), -i), default=None)


def _rank(look: Look) -> tuple[int, float, float]:
    return look.trials, look.epsilon, -look.p_value


def as_json(dataset: Dataset) -> str:
    """A dataset in the form in which the command line takes it; cut where it is very long."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)

    text = json.dumps(dataset, default=plain)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def in_words(pair: Neighbours) -> str:
    """A pair for people: both datasets, cut where they are long."""
    shown = (text if len(text) <= CUT else f"{text[:CUT]}..." for text in (as_json(pair.d0), as_json(pair.d1)))
    return "d0 = {}, d1 = {}".format(*shown)


def entries_of_candidates(looks: tuple[Look, ...], winner: int | None, n_pairs: int, n_attacks: int) -> Entries:
    """What a search among given candidates looked at, look by look."""
    if winner is None:
        return ()
    size = f"{plural(len(looks), 'look')}: {plural(n_pairs, 'pair')} x {plural(n_attacks, 'attack')}"
    size = f"{size}, {plural(looks[0].trials, 'trial')} a side each"
    listed = (
        _entry(look, place, winner, f"pair {look.candidate + 1} [{look.pair}]") for place, look in enumerate(looks)
    )
    pair = LedgerEntry("pair", f"{looks[winner].candidate + 1} of {n_pairs}", CHOSEN)
    return (LedgerEntry("search", size, CONFIRMED), *listed, pair)


def entries_of_domain(
    looks: tuple[Look, ...], winner: int, pair: Neighbours, domain: str, skipped: dict[str, int]
) -> Entries:
    """How much a search in a domain looked at, and its best looks."""
    fewest = min(look.trials for look in looks)
    n_pairs, n_again = len({look.candidate for look in looks}), sum(look.trials > fewest for look in looks)
    size = f"{plural(n_pairs, 'pair')} of {domain}: {plural(len(looks) - n_again, 'look')} of {fewest:,} trials a side"
    if n_again:
        size += f", then {n_again} of {max(look.trials for look in looks):,} between the best"
    if skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(skipped.items()))
        size += f"; skipped: {reasons}"
    order = sorted(range(len(looks)), key=lambda place: _rank(looks[place]), reverse=True)[:SHOWN]
    order = [winner, *(place for place in order if place != winner)][:SHOWN]
    listed = (_entry(looks[place], place, winner, looks[place].pair) for place in order)
    chosen = LedgerEntry("pair", f"{looks[winner].candidate + 1} of {n_pairs}: {in_words(pair)}", CHOSEN)
    return (LedgerEntry("search", size, CONFIRMED), *listed, chosen)


Entries = tuple[LedgerEntry, ...]


def _entry(look: Look, place: int, winner: int, pair: str) -> LedgerEntry:
    found = f"{pair} under {look.attack}: epsilon >= {look.epsilon:.4g} at confidence {SCREENING_CONFIDENCE:g}"
    counted = "the winner; these trials are not counted" if place == winner else "not counted"
    return LedgerEntry(f"look {place + 1}", found, counted)


SCREENING_CONFIDENCE = 0.75
"""At which the looks are compared: low enough to tell candidates apart on few trials, high enough to punish luck."""


def with_looks(confirmed: AuditResult, entries: Iterable[LedgerEntry], n_attacks: int) -> AuditResult:
    """The audit with the search in its ledger, in the place of "the pair was fixed beforehand"."""
    found = tuple(entries)
    if not found:
        return confirmed
    kept = (_searched(entry, n_attacks) for entry in confirmed.ledger if entry.what != "pair")
    return replace(confirmed, ledger=(*found, *kept))


def _searched(entry: LedgerEntry, n_attacks: int) -> LedgerEntry:
    """The entry; that of the attack with what it was chosen from."""
    if entry.what != "attack" or n_attacks == 1:
        return entry
    chosen = f"{entry.looked_at} of {n_attacks}"
    return replace(entry, looked_at=chosen, correction=f"{CHOSEN}; {entry.correction}")


__all__ = ["Look", "SearchResult"]
