"""HTML page of a certificate: texts and tables, which the template arranges."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...audit.calibration.cell import CertificateCell
from ...audit.calibration.certificate import Certificate
from ...audit.calibration.methods import BOUND, PEER, PUBLISHED, UNCORRECTED
from ...audit.results.result_text import TextTable
from ...audit.trials.folder import write_atomically
from ...mechanisms.core import confidence_text, fixed, number, percent, plural
from .pages import load_figures, page, without_repeated_captions

KIND_WORDS = {BOUND: "bound", UNCORRECTED: "no correction", PUBLISHED: "published rule", PEER: "another library"}
"""Display names of the kinds of methods."""
GOOD, BAD, UNDECIDED = "consistent", "violation", "underpowered"
"""Names of colours in the style sheet."""
Place = tuple[str, float, int, int]


def write_certificate(
    certificate: Certificate, directory: Path, figures: Iterable[Path], *, command: str, versions: str
) -> Path:
    """Write `certificate.html` into `directory`: a self-contained page that needs no network.

    Args:
        certificate: the measured miss rates and means.
        directory: an existing directory.
        figures: files that `draw_certificate` returned.
        command: command line that reproduces the numbers.
        versions: versions of the software on which the numbers depend.
    """
    drawn = load_figures(figures)
    misses = [figure for name, figure in drawn.items() if name.startswith("misses")]
    power = [figure for name, figure in drawn.items() if name.startswith("power")]
    text = page(
        "certificate.html.j2",
        verdict=BAD if certificate.failures else GOOD if certificate.decides else UNDECIDED,
        headline=_headline(certificate),
        answer=_answer(certificate),
        contrast=_contrast(certificate),
        confidence=confidence_text(max(_confidences(certificate))),
        significance=percent(1.0 - max(_confidences(certificate))),
        summary=summary_table(certificate),
        failures=_failures(certificate),
        misses=without_repeated_captions([misses])[0],
        power=without_repeated_captions([[figure] for figure in power]),
        means=mean_tables(certificate),
        places=[(confidence_text(c), place_table(certificate, c)) for c in _confidences(certificate)],
        n_audits=f"{sum(_audits(certificate).values()):,}",
        repeats=_range({cell.repeats for cell in certificate.cells}),
        n_bounds=len(certificate.bounds),
        false_alarm=number(certificate.false_alarm),
        plan=certificate.plan,
        seed=certificate.seed,
        command=command,
        versions=versions,
    )
    target = directory / "certificate.html"
    write_atomically(target, text.encode())
    return target


def summary_table(certificate: Certificate) -> TextTable:
    """Return one row per method: its worst miss rate at each confidence, and the verdict."""
    confidences = _confidences(certificate)
    rows = []
    for name in certificate.methods:
        cells = certificate.of(name)
        worst = []
        for confidence in confidences:
            at = [cell for cell in cells if cell.confidence == confidence]
            worst.append(_with_interval(max(at, key=_evidence)) if at else "–")
        failed = sum(not cell.holds for cell in cells)
        within_limit = f"{len(cells) - failed} of {len(cells)}"
        word, colour = _word(cells[0].kind, failed, decides=any(cell.decides for cell in cells))
        rows.append((colour, (name, KIND_WORDS[cells[0].kind], *worst, within_limit, word)))
    allowed = [f"worst miss rate at {confidence_text(c)}" for c in confidences]
    return TextTable(("method", "kind", *allowed, "settings within the limit", "verdict"), tuple(rows), 2)


def place_table(certificate: Certificate, confidence: float) -> TextTable:
    """Return one row per distribution, delta and sizes: the miss rate of each method, marked where too high."""
    cells = {(*_place(c), c.method): c for c in certificate.cells if c.confidence == confidence}
    places = list(dict.fromkeys(key[:4] for key in cells))
    rows = []
    for law, delta, n_out, n_in in places:
        texts = []
        for name in certificate.methods:
            cell = cells.get((law, delta, n_out, n_in, name))
            texts.append("–" if cell is None else f"{'' if cell.holds else '✖ '}{_share(cell.miss_rate)}")
        row_cells = [cells[key] for key in cells if key[:4] == (law, delta, n_out, n_in)]
        exact = number(row_cells[0].exact_epsilon)
        broken = any(not cell.holds for cell in row_cells if cell.kind == BOUND)
        size = f"{n_out:,}" if n_out == n_in else f"{n_out:,} / {n_in:,}"
        rows.append((BAD if broken else "", (law, number(delta), exact, size, *texts)))
    return TextTable(
        ("distribution", "delta", "exact epsilon", "trials per side", *certificate.methods), tuple(rows), 1
    )


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
        tables.append((title, TextTable(("method", *(f"{size:,} per side" for size in sizes)), rows, 1)))
    return tables


def too_few_audits(certificate: Certificate) -> str:
    """Return a sentence on the cells of bounds that cannot fail; empty if there are none."""
    if not certificate.undecided:
        return ""
    measured = plural(len(certificate.bounds), "measurement")
    return (
        f"{len(certificate.undecided)} of {measured} had too few audits to detect even a bound that always misses: "
        "give more --repeats."
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
        f"{confidence_text(confidence)}, up to {_share(worst.miss_rate)} of the audits exceed the exact epsilon "
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
             _share(c.allowed / c.repeats)),
        )
        for c in certificate.failures
    )  # fmt: skip
    head = ("bound", "distribution", "delta", "trials per side", "confidence", "miss rate", "limit")
    return TextTable(head, rows, 2)


def _evidence(cell: CertificateCell) -> tuple[float, float]:
    """Return the strength of the evidence for a high miss rate: its lower confidence limit, then the rate."""
    return cell.interval[0], cell.miss_rate


def _word(kind: str, failed: int, *, decides: bool) -> tuple[str, str]:
    """Return the verdict on a method, and its colour."""
    if failed:
        return "✖ misses too often" if kind == BOUND else "✖ not a bound", BAD
    if not decides:
        return "– too few audits", UNDECIDED
    return ("– within the limit", UNDECIDED) if kind in (UNCORRECTED, PUBLISHED) else ("✓ keeps its level", GOOD)


def _with_interval(cell: CertificateCell) -> str:
    low, high = cell.interval
    return f"{_share(cell.miss_rate)} ({_share(low).removesuffix(' %')} to {_share(high)})"


def _share(rate: float) -> str:
    """Return a rate in percent, to one decimal."""
    return percent(rate)


def _mean(cell: CertificateCell | None) -> str:
    return "–" if cell is None else f"{fixed(cell.mean)} ± {fixed(cell.deviation)}"


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


__all__ = ["mean_tables", "place_table", "summary_table", "too_few_audits", "write_certificate"]
