"""The pair that a search found, from the ledger of its confirmation, and the options that audit it again."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable

from ..bounds.base import LedgerEntry

CHOSEN = "chosen by the search, before these trials"
"""Correction of the pair, and of the attack, that a search chose."""
WINNER = "the winner; these trials are not counted"
"""Correction of the look that the search confirmed."""
RELATION = "relation"
"""Name of the entry on the relation of the pair, where none is stated; it begins with the relation."""
_PAIR = re.compile(r"d0 = (.*), d1 = (.*)", re.DOTALL)
_LOOK = re.compile(r"(?:(?P<number>pair \d+) \[(?P<listed>.*)\]|(?P<pair>.*)) under (?P<attack>.*)", re.DOTALL)
"""A look at a pair; the last " under " is before the attack, whose name has no datasets."""


def found_rows(ledger: Iterable[LedgerEntry]) -> list[tuple[str, str]]:
    """Return rows of a table: the pair that a search found, and options that repeat it; none without a search.

    Example:
        >>> found = LedgerEntry("pair", "1 of 46: d0 = [], d1 = [10.0]", CHOSEN)
        >>> for row in found_rows([found]):
        ...     print(*row)
        found d0 = [], d1 = [10.0]
        keep it --d0 '[]' --d1 '[10.0]'
    """
    ledger = list(ledger)
    pair = _found(ledger)
    if not pair:
        return []
    relation = "".join(f" --relation {one.looked_at.partition(';')[0]}" for one in ledger if one.what == RELATION)
    rows, datasets = [("found", pair)], _PAIR.match(pair)
    if datasets is not None and all(map(_is_whole, datasets.groups())):
        d0, d1 = map(shlex.quote, datasets.groups())
        rows.append(("keep it", f"--d0 {d0} --d1 {d1}{relation}"))
    return rows


def without_pairs(ledger: Iterable[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """Return the ledger without the datasets of the pairs of a search.

    >>> without_pairs([LedgerEntry("pair", "1 of 46: d0 = [], d1 = [10.0]", CHOSEN)])[0].looked_at
    '1 of 46'
    """
    return tuple(
        LedgerEntry(entry.what, _without_pair(entry), entry.correction)
        if entry.what == "pair" or entry.what.startswith("look ")
        else entry
        for entry in ledger
    )


def _found(entries: list[LedgerEntry]) -> str:
    """Return the text of the pair: that of the entry of a domain, or of the best look at a list of candidates."""
    for entry in entries:
        if (entry.what, entry.correction) == ("pair", CHOSEN) and (pair := _PAIR.search(entry.looked_at)):
            return pair.group()
    for entry in entries:
        look = _LOOK.fullmatch(entry.looked_at) if entry.correction == WINNER else None
        text = "" if look is None else look["listed"] or look["pair"]
        if "d0" in text:
            return text
    return ""


def _without_pair(entry: LedgerEntry) -> str:
    """Return the text of an entry without datasets."""
    if entry.what == "pair":
        return entry.looked_at.partition(": d0 = ")[0]
    look = _LOOK.fullmatch(entry.looked_at)
    return "a pair" if look is None else f"{look['number'] or 'a pair'} under {look['attack']}"


def _is_whole(dataset: str) -> bool:
    """Return whether the text of a dataset is complete JSON: long ones are cut."""
    try:
        json.loads(dataset)
    except ValueError:
        return False
    return True
