"""The result of a search: its screening audits (looks), and the confirmation of the winner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ...mechanisms.core import Dataset, Neighbours, number, plural
from ..bounds.base import LedgerEntry, LowerBound
from ..evidence.verdict import Verdict
from ..results.audit_result import AuditResult
from ..results.found_pair import CHOSEN, RELATION, WINNER
from ..results.result_text import ResultText
from ..results.saved import Saved, require
from .relations import refuted_relations, which_relations

CONFIRMED = "the best one confirmed on fresh trials, from separate random streams"
MAX_LOOKS_SHOWN = 5
"""Number of looks, the best ones, in the ledger of a search in a domain; the result has all of them."""
MAX_DATASET_LENGTH = 10_000
"""Largest number of characters of a dataset in a result."""
MAX_LEDGER_LENGTH = 200
"""Largest number of characters of a dataset in the ledger."""


@dataclass(frozen=True)
class Look:
    """A short audit of one candidate under one attack, on screening trials: ranks candidates, enters no bound.

    Args:
        candidate: index of the pair among the candidates, from 0.
        pair: readable text of the pair.
        attack: name of the attack.
        epsilon: the bound at confidence 0.75, by which the looks are ranked; that of a witness, if there is one.
        p_value: against the claim, from the same trials; breaks ties. 0 with a witness.
        trials: runs per side, pilot included; looks with more trials than others are those of the finalists.
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
    """All looks of a search, and the confirmation of the winner.

    Args:
        looks: in the order in which they were made; empty with a single candidate.
        winner: index of the winner among the looks; None without looks.
        confirmed: the audit of the winner on fresh trials; its bound and verdict are those of the search, and its
            ledger begins with the looks.
        seed: root of all seeds.
        domain: readable text of the domain; empty for a list of candidates.
        skipped: numbers of skipped pairs of the domain, by the reason.
        d0, d1: the datasets of the confirmed pair as JSON, as `dpassay check --d0 --d1` accepts them; empty for a list
            of candidates.
        relations: where none was stated, whether the claim is refuted for each; the rest is about one of them.
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
    relations: dict[str, bool] = field(default_factory=dict)

    @property
    def bound(self) -> LowerBound:
        """Bound of the confirmation; valid at the required confidence over the whole search."""
        return self.confirmed.bound

    @property
    def verdict(self) -> Verdict:
        return self.confirmed.verdict

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """Ledger of the confirmation, with the looks and their correction."""
        return self.confirmed.ledger

    @property
    def candidate(self) -> int:
        """Index of the confirmed pair among the candidates."""
        return 0 if self.winner is None else self.looks[self.winner].candidate

    def text(self) -> ResultText:
        """Return the text of the confirmation, whose ledger has the looks."""
        return self.confirmed.text()

    def check(self, at: str = "") -> None:
        """Raise `ResultError` if the confirmation contradicts itself, or another look has the largest bound."""
        self.confirmed.check("confirmed")
        require(self.winner == best_look(self.looks), "winner", "another look has the largest bound")


def best_look(looks: Sequence[Look]) -> int | None:
    """Return the index of the winner among the looks with the most trials.

    The winner has the largest bound; ties are broken by the least p-value, then by the order.
    """
    return max(range(len(looks)), key=lambda i: (*_rank(looks[i]), -i), default=None)


def _rank(look: Look) -> tuple[int, float, float]:
    return look.trials, look.epsilon, -look.p_value


def as_json(dataset: Dataset) -> str:
    """Return a dataset in the form that the command line accepts; truncated if it is very long."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)

    text = json.dumps(dataset, default=plain)
    return text if len(text) <= MAX_DATASET_LENGTH else f"{text[:MAX_DATASET_LENGTH]}..."


def in_words(pair: Neighbours) -> str:
    """Return a readable text of a pair: both datasets, truncated if they are long."""
    texts = (
        text if len(text) <= MAX_LEDGER_LENGTH else f"{text[:MAX_LEDGER_LENGTH]}..."
        for text in (as_json(pair.d0), as_json(pair.d1))
    )
    return "d0 = {}, d1 = {}".format(*texts)


def entries_of_candidates(looks: tuple[Look, ...], winner: int | None, n_pairs: int, n_attacks: int) -> Entries:
    """Return the ledger entries of a search in a list of candidates, one per look."""
    if winner is None:
        return ()
    size = f"{plural(len(looks), 'look')}: {plural(n_pairs, 'pair')} x {plural(n_attacks, 'attack')}"
    size = f"{size}, {plural(looks[0].trials, 'trial')} a side each"
    listed = (
        _entry(look, index, winner, f"pair {look.candidate + 1} [{look.pair}]") for index, look in enumerate(looks)
    )
    pair = LedgerEntry("pair", f"{looks[winner].candidate + 1} of {n_pairs}", CHOSEN)
    return (LedgerEntry("search", size, CONFIRMED), *listed, pair)


def entries_of_domain(
    looks: tuple[Look, ...], winner: int, pair: Neighbours, domain: str, skipped: dict[str, int]
) -> Entries:
    """Return the ledger entries of a search in a domain: its size, and its best looks."""
    fewest = min(look.trials for look in looks)
    n_pairs, n_final = len({look.candidate for look in looks}), sum(look.trials > fewest for look in looks)
    size = f"{plural(n_pairs, 'pair')} of {domain}: {plural(len(looks) - n_final, 'look')} of {fewest:,} trials a side"
    if n_final:
        size += f", then {n_final} of {max(look.trials for look in looks):,} between the best"
    if skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(skipped.items()))
        size += f"; skipped: {reasons}"
    order = sorted(range(len(looks)), key=lambda index: _rank(looks[index]), reverse=True)[:MAX_LOOKS_SHOWN]
    order = [winner, *(index for index in order if index != winner)][:MAX_LOOKS_SHOWN]
    listed = (_entry(looks[index], index, winner, looks[index].pair) for index in order)
    chosen = LedgerEntry("pair", f"{looks[winner].candidate + 1} of {n_pairs}: {in_words(pair)}", CHOSEN)
    return (LedgerEntry("search", size, CONFIRMED), *listed, chosen)


Entries = tuple[LedgerEntry, ...]


def _entry(look: Look, index: int, winner: int, pair: str) -> LedgerEntry:
    bound = (
        f"{pair} under {look.attack}: epsilon >= {number(look.epsilon)} at confidence {number(SCREENING_CONFIDENCE)}"
    )
    counted = WINNER if index == winner else "not counted"
    return LedgerEntry(f"look {index + 1}", bound, counted)


SCREENING_CONFIDENCE = 0.75
"""Confidence at which the looks are ranked: low enough to separate candidates on few trials, yet limits luck."""


def with_looks(confirmed: AuditResult, entries: Iterable[LedgerEntry], n_attacks: int) -> AuditResult:
    """Return the audit with the search in its ledger, which replaces the entry "the pair was fixed beforehand"."""
    search_entries = tuple(entries)
    if not search_entries:
        return confirmed
    others = (_searched(entry, n_attacks) for entry in confirmed.ledger if entry.what != "pair")
    return replace(confirmed, ledger=(*search_entries, *others))


def of_relations(found: Mapping[str, SearchResult], significance: float, seed: int) -> SearchResult:
    """Return the search to report of those for each relation: with the smallest p-value, dependent trials first.

    Its confirmation says for which relations the claim is refuted.

    Args:
        found: searches with confirmations at equal shares of the significance, at least one, by relation.
        significance: of all of them together.
        seed: root of all seeds.
    """
    refuted = refuted_relations({name: one.confirmed for name, one in found.items()}, significance)
    order = [Verdict.VIOLATION, Verdict.DEPENDENT, Verdict.CONSISTENT, Verdict.UNDERPOWERED]
    reported = min(found, key=lambda name: (order.index(found[name].verdict), found[name].confirmed.p_value))
    audit = found[reported].confirmed
    texts = (f"{name} {'refuted' if known else 'not refuted'}" for name, known in refuted.items())
    entry = LedgerEntry(RELATION, f"{reported}; none stated: {', '.join(texts)}", "Holm over the relations")
    said = which_relations(refuted)
    warnings = (*([f"No relation is stated. {said}"] if said else []), *audit.warnings)
    confirmed = replace(audit, ledger=(*audit.ledger, entry), warnings=warnings)
    return replace(found[reported], confirmed=confirmed, seed=seed, relations=refuted)


def _searched(entry: LedgerEntry, n_attacks: int) -> LedgerEntry:
    """Return the entry; for the attack, with the number of attacks that it was chosen from."""
    if entry.what != "attack" or n_attacks == 1:
        return entry
    chosen = f"{entry.looked_at} of {n_attacks}"
    return replace(entry, looked_at=chosen, correction=f"{CHOSEN}; {entry.correction}")
