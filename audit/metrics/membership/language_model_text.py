"""The text of a language model: the verdict on its training first, then the attacks, exposure and extraction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....mechanisms.core import fixed, number, percent, percent_between
from ...results.result_text import ResultText, TextSection, TextTable, Tone
from .text import NO_BOUND, skipped_notes, skipped_section

if TYPE_CHECKING:
    from .language_models import LanguageModelResult


def describe(result: LanguageModelResult) -> ResultText:
    """Return one text: of the audit, if there are coins, with the table of the attacks; else of the attacks."""
    more = tuple(section for section in (_exposure(result), _extraction(result)) if section.table is not None)
    if result.membership is None:
        return ResultText(
            tone=Tone.PLAIN,
            headline=f"{len(result.ids):,} texts, signals {', '.join(result.signals)}",
            answer="There is no table of attacks, as no text has a known membership.",
            notes=(*skipped_notes(result.skipped, "signal"), *result.notes),
            details=(*more, skipped_section(result.skipped)),
        )
    attacks = result.membership.text()
    if result.audit is None:
        return replace(attacks, notes=(*attacks.notes, *result.notes), details=(*more, *attacks.details))
    verdict = result.audit.text()
    return replace(
        verdict,
        facts=(*verdict.facts, ("attack", attacks.answer), *attacks.facts),
        warnings=(*verdict.warnings, *attacks.warnings),
        table=attacks.table,
        notes=(*verdict.notes, *(note for note in attacks.notes if note != NO_BOUND), *result.notes),
        details=(*more, *attacks.details, *verdict.details),
    )


def _exposure(result: LanguageModelResult) -> TextSection:
    head = ("texts", "canaries", "mean", "largest", "possible", "without the canary")
    rows = tuple(
        (
            "",
            (
                row.texts,
                f"{row.n_canaries:,}",
                fixed(row.mean, 2),
                fixed(row.largest, 2),
                fixed(row.limit, 2),
                fixed(row.without, 2),
            ),
        )
        for row in result.exposure
    )
    title = "exposure of canaries in bits, a metric without coverage"
    return TextSection(title, table=TextTable(head, rows, 1) if rows else None)


def _extraction(result: LanguageModelResult) -> TextSection:
    rates = result.extraction
    if not rates:
        return TextSection("extraction")
    rows = tuple(
        (
            "",
            (
                rate.texts,
                f"n = {rate.n:,}",
                f"{rate.n_extractable:,} of {rate.n_texts:,}",
                percent(rate.share),
                percent_between(rate.lower, rate.upper),
            ),
        )
        for rate in rates
    )
    title = (
        "(n, p)-discoverable extraction: texts whose suffix occurs among n answers with probability >= "
        f"{number(rates[0].p)}"
    )
    return TextSection(title, table=TextTable(("texts", "answers", "extractable", "share", "interval"), rows, 2))
