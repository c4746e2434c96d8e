"""The text of a result: one model that the terminal, pages, cards, build servers and figures render.

ResultText    headline, answer, facts, evidence, next steps, and details of one result
Tone          what the headline says, for its sign and colour
TextTable     a table of text
TextSection       details under a heading

A result has one text. Renderers arrange it and add colours; they neither round a number again nor choose other words,
so that two forms of a result cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from ..evidence.verdict import Verdict

Row = tuple[str, str]
"""Name and text of a fact."""


class Tone(StrEnum):
    """What a headline says: the verdict, `weak` for a consistent one with little power, `plain` without a verdict."""

    VIOLATION = "violation"
    CONSISTENT = "consistent"
    WEAK = "weak"
    UNDERPOWERED = "underpowered"
    DEPENDENT = "dependent"
    PLAIN = "plain"

    @property
    def sign(self) -> str:
        """One character, so that colour is never the only sign."""
        return _SIGNS[self]

    @property
    def label(self) -> str:
        """The tone as the first words of a headline."""
        return _LABELS[self]


_SIGNS = {
    Tone.VIOLATION: "✖",
    Tone.CONSISTENT: "✓",
    Tone.WEAK: "~",
    Tone.UNDERPOWERED: "?",
    Tone.DEPENDENT: "–",
    Tone.PLAIN: "",
}
_LABELS = {
    Tone.VIOLATION: "Violation",
    Tone.CONSISTENT: "Consistent",
    Tone.WEAK: "Consistent, weak",
    Tone.UNDERPOWERED: "Underpowered",
    Tone.DEPENDENT: "No verdict",
    Tone.PLAIN: "",
}


def tone_of(verdict: Verdict, *, weak: bool = False) -> Tone:
    """Return the tone of a verdict; `weak` applies to a consistent one.

    >>> tone_of(Verdict.CONSISTENT), tone_of(Verdict.CONSISTENT, weak=True), tone_of(Verdict.VIOLATION, weak=True)
    (<Tone.CONSISTENT: 'consistent'>, <Tone.WEAK: 'weak'>, <Tone.VIOLATION: 'violation'>)
    """
    return Tone.WEAK if weak and verdict is Verdict.CONSISTENT else Tone(verdict.value)


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    Args:
        head: names of the columns.
        rows: tone of each row, which sets its colour ("" for none), and its cells.
        n_text: number of first columns that are text; the others are numbers and are aligned to the right.
        caption: what the table shows.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    n_text: int
    caption: str = ""


@dataclass(frozen=True)
class TextSection:
    """Details under a heading.

    Args:
        title: the heading.
        facts: name and text of each fact.
        paragraphs: sentences.
        table: a table below them; None without one.
        folded: whether a page shows the heading only, until it is opened.
    """

    title: str
    facts: tuple[Row, ...] = ()
    paragraphs: tuple[str, ...] = ()
    table: TextTable | None = None
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class ResultText:
    """The text of a result.

    Args:
        title: of the result among others, such as the parameters of an audit of a sweep; "" if it stands alone.
        tone: of the headline.
        headline: the result in a few words; follows from the verdicts alone.
        answer: the result in one to three sentences, with its error rate.
        conditions: what must be true for the numbers to hold, and what they do not show; before any number.
        facts: what was tested, and the main numbers.
        evidence: what shows a finding, enough to check it by hand.
        examples: datasets and outputs, which may be values of people: for terminal and report, never in a card, a
            badge, or a file for a build server.
        warnings: limits of the result that a reader must know, a sentence each.
        next_steps: what to do now, a sentence each; at most two.
        table: the numbers of all audits or attacks; None for a single audit.
        notes: how to read the table, and facts that are no findings.
        details: for a reader who checks: power, choices and corrections, assumptions, origin.
        parts: the texts of single audits.
    """

    title: str = ""
    tone: Tone
    headline: str
    answer: str
    conditions: tuple[str, ...] = ()
    facts: tuple[Row, ...] = ()
    evidence: tuple[Row, ...] = ()
    examples: tuple[Row, ...] = ()
    warnings: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    table: TextTable | None = None
    notes: tuple[str, ...] = ()
    details: tuple[TextSection, ...] = ()
    parts: tuple[ResultText, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield every text of the result once in the order of the page, for tests that compare its forms."""
        yield self.headline
        yield self.answer
        yield from chain(self.conditions, self.warnings, self.next_steps, self.notes)
        yield from (text for _, text in chain(self.facts, self.evidence, self.examples))
        if self.table is not None:
            yield from _cells(self.table)
        for section in self.details:
            yield from section.paragraphs
            yield from (text for _, text in section.facts)
            if section.table is not None:
                yield from _cells(section.table)
        for part in self.parts:
            yield from part.sentences()


def _cells(table: TextTable) -> Iterable[str]:
    return (cell for _, row in table.rows for cell in row)


__all__ = ["ResultText", "Row", "TextSection", "TextTable", "Tone", "tone_of"]
