"""The text of a certificate: whether every bound keeps its level, how often each misses, and how close it comes."""

from __future__ import annotations

from typing import Any

from ...mechanisms.core import confidence_text, fixed, number, percent, percent_between, plural
from ..results.result_text import ResultText, TextSection, TextTable, Tone, tone_of
from .cell import CertificateCell
from .certificate import Certificate
from .methods import BOUND, PEER, PUBLISHED, UNCORRECTED

KIND_WORDS = {BOUND: "bound", UNCORRECTED: "no correction", PUBLISHED: "published rule", PEER: "another library"}
"""Display names of the kinds of methods."""
GOOD, BAD, UNDECIDED = Tone.CONSISTENT.value, Tone.VIOLATION.value, Tone.UNDERPOWERED.value
"""Tones of rows."""
Place = tuple[str, float, int, int]


def describe(certificate: Certificate) -> ResultText:
    """Return the text of a certificate."""
    failures = _failures(certificate)
    means = [
        TextSection(title, table=table, folded=place > 0)
        for place, (title, table) in enumerate(mean_tables(certificate))
    ]
    places = [
        TextSection(
            f"Miss rates at {confidence_text(c)} confidence", table=place_table(certificate, c), folded=place > 0
        )
        for place, c in enumerate(_confidences(certificate))
    ]
    return ResultText(
        tone=tone_of(certificate.verdict),
        headline=_headline(certificate),
        answer=" ".join(filter(None, (_answer(certificate), _contrast(certificate)))),
        facts=(
            ("plan", certificate.plan),
            ("audits", f"{sum(_audits(certificate).values()):,} simulated, {_repeats(certificate)} in a setting"),
            ("seed", str(certificate.seed)),
        ),
        warnings=(text,) if certificate.decides and (text := too_few_audits(certificate)) else (),
        next_steps=_next_steps(certificate),
        table=summary_table(certificate),
        notes=(
            f"The {len(certificate.bounds)} measurements of bounds share the error probability "
            f"{number(certificate.false_alarm)}: a valid bound fails anywhere with at most this probability.",
        ),
        details=(
            *([] if failures is None else [TextSection("Settings with too many misses", table=failures)]),
            *means,
            *places,
        ),
    )


def _next_steps(certificate: Certificate) -> tuple[str, ...]:
    if certificate.failures:
        return ("Do not use a bound that misses too often; look for the first setting in which it does.",)
    if not certificate.decides or certificate.undecided:
        return ("Give more `--repeats`.",)
    return ()


def _repeats(certificate: Certificate) -> str:
    return _range({cell.repeats for cell in certificate.cells})


def summary_table(certificate: Certificate) -> TextTable:
    """Return one row per method: its worst miss rate at each confidence, and the verdict."""
    confidences = _confidences(certificate)
    rows = []
    for name in certificate.methods:
        cells = certificate.of(name)
        worst = []
        for confidence in confidences:
            at = [cell for cell in cells if cell.confidence == confidence]
            worst.append(_with_interval(max(at, key=_evidence)) if at else "-")
        failed = sum(not cell.holds for cell in cells)
        within_limit = f"{len(cells) - failed} of {len(cells)}"
        word, colour = _word(cells[0].kind, failed, decides=any(cell.decides for cell in cells))
        rows.append((colour, (name, KIND_WORDS[cells[0].kind], *worst, within_limit, word)))
    allowed = [f"worst miss rate at {confidence_text(c)}" for c in confidences]
    caption = (
        "Each method in its worst setting, with the exact 95 % interval of the miss rate there, and the number of "
        "settings in which its misses stayed within the limit."
    )
    return TextTable(("method", "kind", *allowed, "settings within the limit", "verdict"), tuple(rows), 2, caption)


def place_table(certificate: Certificate, confidence: float) -> TextTable:
    """Return one row per distribution, delta and sizes: the miss rate of each method, marked where too high."""
    cells = {(*_place(c), c.method): c for c in certificate.cells if c.confidence == confidence}
    places = list(dict.fromkeys(key[:4] for key in cells))
    rows = []
    for law, delta, n_out, n_in in places:
        texts = []
        for name in certificate.methods:
            cell = cells.get((law, delta, n_out, n_in, name))
            texts.append("-" if cell is None else f"{'' if cell.holds else '✖ '}{percent(cell.miss_rate)}")
        row_cells = [cells[key] for key in cells if key[:4] == (law, delta, n_out, n_in)]
        exact = number(row_cells[0].exact_epsilon)
        broken = any(not cell.holds for cell in row_cells if cell.kind == BOUND)
        size = f"{n_out:,}" if n_out == n_in else f"{n_out:,} / {n_in:,}"
        rows.append((BAD if broken else "", (law, number(delta), exact, size, *texts)))
    caption = "Share of audits above the exact epsilon; ✖: more than the limit; -: not applicable, or not measured."
    head = ("distribution", "delta", "exact epsilon", "trials per side", *certificate.methods)
    return TextTable(head, tuple(rows), 1, caption)


def mean_tables(certificate: Certificate) -> list[tuple[str, TextTable]]:
    """Return mean and standard deviation of each method by trials, for each distribution and delta with epsilon > 0."""
    confidence = max(_confidences(certificate))
    cells = [c for c in certificate.cells if c.confidence == confidence and c.n_out == c.n_in and c.exact_epsilon > 0]
    tables = []
    for law, delta in dict.fromkeys((cell.law, cell.delta) for cell in cells):
        group = [cell for cell in cells if (cell.law, cell.delta) == (law, delta)]
        sizes = sorted({cell.n_out for cell in group})
        by = {(cell.method, cell.n_out): cell for cell in group}
        rows = tuple(
            ("", (name, *(_mean(by.get((name, size))) for size in sizes)))
            for name in certificate.methods
            if any((name, size) in by for size in sizes)
        )
        at = f", at delta {number(delta)}" if delta else ""
        title = f"{law}{at}: exact epsilon {number(group[0].exact_epsilon)}"
        caption = f"Mean and standard deviation of the bound at {confidence_text(confidence)} confidence."
        tables.append((title, TextTable(("method", *(f"{size:,} per side" for size in sizes)), rows, 1, caption)))
    return tables


def too_few_audits(certificate: Certificate) -> str:
    """Return a sentence on the cells of bounds that cannot fail; empty if there are none."""
    if not certificate.undecided:
        return ""
    measured = plural(len(certificate.bounds), "measurement")
    return (
        f"{len(certificate.undecided)} of {measured} had too few audits to detect even a bound that always misses: "
        "more are needed."
    )


def _headline(certificate: Certificate) -> str:
    if not certificate.decides:
        return "Too few audits to judge a bound" if certificate.bounds else "No bound was measured"
    return "Every bound keeps its significance level" if certificate.holds else "A bound misses too often"


def _answer(certificate: Certificate) -> str:
    bounds = {cell.method for cell in certificate.bounds}
    if not certificate.decides:
        return too_few_audits(certificate)
    if certificate.holds:
        word = "The bound exceeds" if len(bounds) == 1 else f"All {len(bounds)} bounds on epsilon exceed"
        often = f"{word} the exact value no more often than stated, in all of {len(certificate.bounds)} measurements."
        return f"{often} {too_few_audits(certificate)}".rstrip()
    failed = {cell.method for cell in certificate.failures}
    return (
        f"{', '.join(sorted(failed))}: more misses than its confidence allows, in {len(certificate.failures)} of "
        f"{len(certificate.bounds)} measurements, beyond sampling error."
    )


def _contrast(certificate: Certificate) -> str:
    """Return a sentence on the miss rate without correction, at the largest confidence."""
    confidence = max(_confidences(certificate))
    cells = [c for c in certificate.cells if c.kind == UNCORRECTED and c.confidence == confidence]
    if not cells:
        return ""
    worst = max(cells, key=_evidence)
    return (
        f"Without corrections, with the best of all thresholds at a nominal confidence of "
        f"{confidence_text(confidence)}, up to {percent(worst.miss_rate)} of the audits exceed the exact epsilon "
        f"({worst.method}; {worst.law}, {worst.n_out:,} trials per side)."
    )


def _failures(certificate: Certificate) -> TextTable | None:
    if certificate.holds:
        return None
    rows = tuple(
        (
            BAD,
            (c.method, c.law, number(c.delta), f"{c.n_out:,} / {c.n_in:,}", confidence_text(c.confidence),
             _with_interval(c),
             percent(c.allowed / c.repeats)),
        )
        for c in certificate.failures
    )  # fmt: skip
    head = ("bound", "distribution", "delta", "trials per side", "confidence", "miss rate", "limit")
    return TextTable(head, rows, 2, "The settings in which a bound missed too often.")


def _evidence(cell: CertificateCell) -> tuple[float, float]:
    """Return the strength of the evidence for a high miss rate: its lower confidence limit, then the rate."""
    return cell.interval[0], cell.miss_rate


def _word(kind: str, failed: int, *, decides: bool) -> tuple[str, str]:
    """Return the verdict on a method, and its colour."""
    if failed:
        return "✖ misses too often" if kind == BOUND else "✖ not a bound", BAD
    if not decides:
        return "- too few audits", UNDECIDED
    return ("- within the limit", UNDECIDED) if kind in (UNCORRECTED, PUBLISHED) else ("✓ keeps its level", GOOD)


def _with_interval(cell: CertificateCell) -> str:
    low, high = cell.interval
    return f"{percent(cell.miss_rate)} ({percent_between(low, high)})"


def _mean(cell: CertificateCell | None) -> str:
    return "-" if cell is None else f"{fixed(cell.mean)} +/- {fixed(cell.deviation)}"


def _place(cell: CertificateCell) -> Place:
    return cell.law, cell.delta, cell.n_out, cell.n_in


def _audits(certificate: Certificate) -> dict[Any, int]:
    """Return the number of simulated audits of each distribution and sizes; slow methods share the first of them."""
    audits: dict[Any, int] = {}
    for cell in certificate.cells:
        place = cell.law, cell.n_out, cell.n_in
        audits[place] = max(cell.repeats, audits.get(place, 0))
    return audits


def _confidences(certificate: Certificate) -> list[float]:
    return sorted({cell.confidence for cell in certificate.cells}, reverse=True)


def _range(values: set[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


__all__ = ["describe", "mean_tables", "place_table", "summary_table"]
