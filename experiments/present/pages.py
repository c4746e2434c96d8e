"""Report pages of an experiment, report.html and report.md, and the figures inside all pages.

A figure is one SVG element, in the theme of the page, with a caption.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ...audit.results.result_text import ResultText, Row, TextSection, Tone
from ...audit.trials.folder import Folder, write_atomically
from ...mechanisms.core import fenced, html, markdown, typeset
from .plots.style import AMBER, BLUE, GREEN, INK, MUTED, NARROW, OLIVE, PAGE, RULE, VERMILION, dark_rules, described
from .results.provenance import environment
from .terms import TONES, terms_in

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = "page.js"
"""The only script of a page, which its security policy allows by its hash: tips under the pointer, sorted tables."""
TIED = re.compile(r"(?<=\d) (?=%)|(?<=^[✖✓~?–]) ")
"""Spaces at which no line of a page may end."""
CI_ROWS = 20
"""Number of rows of the table in the Markdown summary; violations come first."""
CI_EVIDENCE = 3
"""Number of violations with evidence in the Markdown summary."""
PART_DETAILS = 3
"""Number of sections of details of each audit of a page; assumptions and choices stand once, for all audits."""
FITS_A_TELEPHONE = 400.0
"""Width in points; wider figures scroll on a narrow screen, where their text would otherwise be too small to read."""
_THEME = {
    "ink": INK,
    "muted": MUTED,
    "rule": RULE,
    "violation": VERMILION,
    "consistent": GREEN,
    "weak": OLIVE,
    "underpowered": AMBER,
    "dependent": AMBER,
    "link": BLUE,
}


@dataclass(frozen=True)
class Figure:
    """Figure of a report.

    Args:
        name: name of the file, such as "bound-claim" or "audit-01-scores".
        svg: the SVG element for a page.
        title, caption: title and explanation of the figure.
    """

    name: str
    svg: Markup
    title: str
    caption: str


@dataclass(frozen=True)
class Drawn:
    """Figures of a page, and where each stands.

    Args:
        overviews: each with its narrow form for small screens, or None.
        figures: the same, in two columns below them.
        of_parts: figures of each part of the text, in the same order.
    """

    overviews: tuple[tuple[Figure, Figure | None], ...] = ()
    figures: tuple[tuple[Figure, Figure | None], ...] = ()
    of_parts: tuple[tuple[Figure, ...], ...] = ()

    @classmethod
    def of_sweep(cls, files: Iterable[Path], n_parts: int) -> Drawn:
        """Return the figures of a sweep by the names of their files, without repeated captions."""
        drawn = load_figures(files)
        names = [name for name in ("bound-claim", "success", "breakdown") if name in drawn]
        of_parts = _without_repeated_captions([_of_audit(drawn, number) for number in range(1, n_parts + 1)])
        return cls(overviews=with_narrow(drawn, names), of_parts=tuple(map(tuple, of_parts)))


def write(
    text: ResultText,
    directory: Path,
    drawn: Drawn,
    *,
    title: str,
    command: str,
    description: str = "",
    settings: Sequence[Row] = (),
    origin: Sequence[Row] = (),
    checks: Sequence[str] = (),
    config: str | None = None,
    summarised: Sequence[TextSection] = (),
) -> list[Path]:
    """Write `report.html` and `report.md` into a run directory.

    Args:
        text: the text of the result.
        directory: the run directory. The page shows the versions in its `environment.json`, else the installed ones.
        drawn: figures of the page.
        title: heading of the page.
        command: command line that reproduces the numbers.
        description: paragraphs below the headline.
        settings: names and values for the list of settings.
        origin: seed, digest and the like, below the command.
        checks: descriptions of the test of a guarantee; empty for metrics.
        summarised: details whose tables the Markdown summary has too.
        config: text of the config.toml that the command reads, printed in full; None if it reads none.

    Returns:
        The two files. The page is self-contained and needs no network.
    """
    head = text.table.head if text.table is not None else ()
    names = [*head, *(name for part in (text, *text.parts) for s in part.details for name, _ in s.facts)]
    of_parts = drawn.of_parts or ((),) * len(text.parts)
    numbered = list(zip(range(1, len(text.parts) + 1), text.parts, of_parts, strict=True))
    page_text = page(
        "result.html.j2",
        text=text,
        title=title,
        overviews=drawn.overviews,
        figures=drawn.figures,
        pictured=[part for part in numbered if part[2]] or numbered,
        part_details=PART_DETAILS,
        paragraphs=[" ".join(part.split()) for part in description.split("\n\n") if part.strip()],
        settings=tuple(settings),
        terms=terms_in(names),
        tones=list(TONES.items()),
        checks=checks,
        config="" if config is None else Markup(escape(html(config))),
        command=Markup(escape(html(command))),
        origin=[*origin, ("versions", _versions_of(directory))],
    )
    rows = () if text.table is None else sorted(text.table.rows, key=lambda row: row[0] != Tone.VIOLATION)
    findings = [(part.title, part.evidence) for part in text.parts if part.tone is Tone.VIOLATION][:CI_EVIDENCE]
    summary = _markdown_page(
        "result.md.j2",
        text=text,
        title=title,
        rows=rows[:CI_ROWS],
        n_hidden=max(0, len(rows) - CI_ROWS),
        notes=text.notes,
        summarised=[section for section in summarised if section.table is not None],
        settings=tuple(settings),
        findings=[("", (*text.facts, *text.evidence)), *findings],
    )
    files = {directory / "report.html": page_text, directory / "report.md": summary}
    for path, written in files.items():
        write_atomically(path, written.encode())
    return list(files)


def page(template: str, **shown: Any) -> str:
    """Return a page in the style of all reports, from a template that extends `page.html.j2` and its variables."""
    theme = {name: (colour.light, colour.dark) for name, colour in _THEME.items()} | {"page": PAGE}
    figure_rules = dark_rules(".dpassay-figure")
    script = (TEMPLATES / SCRIPT).read_text(encoding="utf-8")
    allowed = f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
    shared = {"theme": theme, "figure_rules": figure_rules, "script": Markup(script), "script_hash": Markup(allowed)}
    return _environment(html=True).get_template(template).render(**shared, **shown)


def _markdown_page(template: str, **shown: Any) -> str:
    """Return a summary in Markdown, from a template and its variables."""
    return _environment(html=False).get_template(template).render(**shown)


def _environment(*, html: bool) -> Environment:
    environment_ = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=html,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=_tied if html else _shown,
    )
    environment_.filters["cell"] = lambda text: markdown(typeset(text))
    environment_.filters["fenced"] = fenced
    environment_.filters["code"] = _code
    return environment_


def _shown(value: Any) -> Any:
    """Return a printable value; strings are cleaned here and escaped by autoescape."""
    return html(value) if type(value) is str else value


def _tied(value: Any) -> Any:
    """Return a printable value as `_shown`; no line ends between a number and "%", or after the sign of a verdict."""
    return TIED.sub("\u00a0", typeset(html(value))) if type(value) is str else value


def _code(text: str) -> Markup:
    """Return text for HTML in which words between backticks are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(_tied(text)))))


def versions_text(known: dict[str, Any]) -> str:
    """Return the versions and the commit of an `environment()` in one line."""
    versions, commit = dict(known["versions"]), known.get("commit")
    parts = [f"{name} {version}" for name, version in versions.items() if version]
    return ", ".join([*parts, f"commit {commit}"] if commit else parts)


def _versions_of(directory: Path) -> str:
    """Return the versions that the run recorded, else the installed versions."""
    try:
        return versions_text(json.loads(Folder(directory).read("environment.json")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return versions_text(environment())


def load_figures(files: Iterable[Path]) -> dict[str, Figure]:
    """Return the figures in the SVG files among `files`, by name."""
    return {path.stem: _figure(path) for path in files if path.suffix == ".svg"}


def with_narrow(drawn: Mapping[str, Figure], names: Iterable[str]) -> tuple[tuple[Figure, Figure | None], ...]:
    """Return figures by their names, each with its narrow form; a caption that occurs again stands once."""
    (figures,) = _without_repeated_captions([[drawn[name] for name in names]])
    return tuple((figure, drawn.get(f"{figure.name}-{NARROW}")) for figure in figures)


def _of_audit(figures: dict[str, Figure], number: int) -> list[Figure]:
    """Return the figures of audit `number`, counted from 1."""
    return [figure for name, figure in figures.items() if re.match(rf"audit-0*{number}-", name)]


def _without_repeated_captions(groups: Iterable[Iterable[Figure]]) -> list[list[Figure]]:
    """Return the figures without captions that already occur further up the page."""
    captions: set[str] = set()
    figures: list[list[Figure]] = []
    for group in groups:
        figures.append([])
        for figure in group:
            figures[-1].append(replace(figure, caption="") if figure.caption in captions else figure)
            captions.add(figure.caption)
    return figures


def _figure(path: Path) -> Figure:
    """Return the element without styles, title and size, which the page sets; its ids begin with the file's name."""
    text = path.read_text(encoding="utf-8")
    title, caption = described(text)
    opening, _, body = text.partition(">")
    body = re.sub(r"<(title|desc|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    body = re.sub(r"""(\bid="|url\(#|href="#)""", rf"\g<1>{path.stem}-", body)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)
    label = Markup.escape(title)
    width = f' style="--width:{box[1]}"' if box and float(box[1]) > FITS_A_TELEPHONE else ""
    size = f'viewBox="0 0 {box[1]} {box[2]}"{width}' if box else ""
    marks = re.search(r' data-marks="[^"]*"', opening)
    size += marks[0] if marks else ""
    head = f'<svg {size} class="dpassay-figure" role="img" aria-label="{label}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return Figure(path.stem, Markup(head + body), title, caption)
