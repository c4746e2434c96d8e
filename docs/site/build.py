"""Build the site: `make site`. Writes docs/_build/html.

docs/*/*.md  ->  docs/_build/pages  (links to files outside docs become text; gallery and demos are executed; the
                 catalogues, the reference and the lists of each section are written)  ->  Sphinx
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import api
import executed

from dpassay.experiments.present.plots.style import dark_rules

SITE = Path(__file__).parent
DOCS = SITE.parent
ROOT = DOCS.parent
BUILD = DOCS / "_build"
PAGES, HTML, STATIC = BUILD / "pages", BUILD / "html", BUILD / "static"
SECTIONS = {
    "tutorials": ("Tutorials", "Learn step by step: from a first audit to a check in every build."),
    "how-to": ("How-to", "Do one task: a page for each."),
    "explanation": ("Explanations", "Understand what a bound is, what it assumes, and what it does not show."),
    "demos": ("Demos", "See a leak, and its cure, in a minute."),
    "gallery": ("Gallery", "Figures with the call that draws each, and audits of other libraries."),
    "attacks": ("Attacks", "Choose an attack on models, tables, texts and answers, and read its success."),
    "mechanisms": ("Mechanisms", "Choose a mechanism, and know its claim, its noise and its bugs."),
    "results": ("Results", "Compare published tables with ours."),
    "reference": ("Reference", "Look up names, options, systems and terms."),
    "decisions": ("Decisions", "See why the code is as it is, and what it costs."),
}
"""Folder -> title and line of its card, in the order of the front page."""
FIRST = {
    "tutorials": (
        "first-audit",
        "your-function",
        "your-trainer",
        "your-scores",
        "your-synthetic-table",
        "your-build",
        "computer-lab",
        "course",
    ),
    "explanation": (
        "what-a-bound-is",
        "independence",
        "relations",
        "one-run",
        "below-the-truth",
        "composition",
        "limits",
    ),
    "reference": ("glossary", "config", "command-line", "catalogue", "systems"),
}
"""Folder -> pages that are listed before the others."""
LINK = re.compile(r"\[([^\]]*)\]\((\.\.?/[^)\s#]*|[\w-]+\.\w+)(#[^)]*)?\)")


def main() -> int:
    """Stage all pages, and run Sphinx on them; 0 if it had nothing to complain about."""
    staged = {path.relative_to(DOCS).as_posix(): path.read_text() for path in written()}
    staged |= {f"reference/{name}": text for name, text in generated().items()}
    staged |= gallery() | demo_pages()
    staged |= {f"reference/api/{package}.md": text for package, text in api.pages(staged).items()}
    staged["reference/command-line.md"] = api.command_line()
    staged |= {f"{folder}/index.md": section(folder, staged) for folder in SECTIONS}
    staged["reference/api/index.md"] = api_index(staged)
    staged["index.md"] = (SITE / "index.md").read_text().replace("CARDS", cards())
    write({path: without_outside_links(path, text, staged) for path, text in staged.items()})
    options = ["-b", "html", "-W", "--keep-going", "-n", "-q", "-j", "auto", "-c", SITE, "-d", BUILD / "doctrees"]
    return subprocess.run([sys.executable, "-m", "sphinx", *options, PAGES, HTML], check=False).returncode


def written() -> list[Path]:
    """Return the pages of the repository; demos are executed, see `demo_pages`."""
    return [path for path in sorted(DOCS.glob("[!_]*/*.md")) if path.parent.name not in ("demos", "site")]


def generated() -> dict[str, str]:
    """Return the pages that are written from the catalogues."""
    made = runpy.run_path(str(DOCS / "build.py"))
    return {f"{name}.md": made[f"{name}_page"]() for name in ("catalogue", "systems")}


def gallery() -> dict[str, str]:
    """Return the executed pages of the gallery, and the table of other libraries."""
    figures = [path for path in sorted((DOCS / "gallery").glob("*.md")) if "```python" in path.read_text()]
    bodies = executed.bodies(dict.fromkeys(figures, "gallery"))
    missing = [path.name for path, body in bodies.items() if body is None]
    if missing:
        raise SystemExit(f"pages of the gallery that fail: {', '.join(missing)}")
    pages = {f"gallery/{path.name}": body for path, body in bodies.items() if body}
    table = "gallery/other-libraries.md"
    return pages | {table: (DOCS / table).read_text().replace("<!-- libraries.json -->", libraries())}


def libraries() -> str:
    """Return the table of the audits of other libraries."""
    rows = json.loads((DOCS / "gallery" / "libraries.json").read_text())
    head = "| library | audited | verdict | bound | claim | at delta | runs a side | date |\n"
    return f"{head}|{'---|' * 8}\n" + "".join(
        f"| {row['library']} {row['version']} | {row['audited']} | {row['verdict']} | {row['bound']:.3g} "
        f"| {row['claim']:.3g} | {row['delta']:g} | {row['trials']:,} | {row['date']} |\n"
        for row in rows
    )


def demo_pages() -> dict[str, str]:
    """Return an executed page for each demo."""
    bodies = executed.bodies(dict.fromkeys(sorted(DOCS.glob("demos/*.md")), "demo"))
    missing = [path.name for path, body in bodies.items() if body is None]
    if missing:
        raise SystemExit(f"demos that fail: {', '.join(missing)}")
    found = {f"demos/{path.stem}.md": f"{body}\n{notebook(path.stem)}\n" for path, body in bodies.items()}
    return {path: linked(text) for path, text in found.items()}


def linked(text: str) -> str:
    """Return the text of a demo with links to the pages that it names, such as `docs/mechanisms/noise.md`."""
    titles = {path.stem: (path.parent.name, heading(path.read_text())) for path in written()}

    def link(named: re.Match[str]) -> str:
        folder, title = titles[named[1]]
        return f"[{title}](../{folder}/{named[1]}.md)"

    return re.sub(rf"`docs/(?:[\w-]+/)?({'|'.join(titles)})\.md`", link, text)


def notebook(name: str) -> str:
    """Copy the notebook of a demo beside its page, and return a link to it."""
    (PAGES / "demos").mkdir(parents=True, exist_ok=True)
    shutil.copy2(executed.CACHE / f"demo-{name}" / f"{name}.ipynb", PAGES / "demos" / f"{name}.ipynb")
    return f"Download this page with its outputs: {{download}}`{name}.ipynb <{name}.ipynb>`."


def section(folder: str, staged: dict[str, str]) -> str:
    """Return the page of a folder: a table of its pages, each with its first sentence."""
    title, line = SECTIONS[folder]
    names = [Path(path).stem for path in staged if Path(path).parent.as_posix() == folder]
    first = [name for name in FIRST.get(folder, ()) if name in names]
    ordered = [*first, *sorted(set(names) - set(first))]
    rows = "".join(f"| [{heading(staged[p])}]({n}.md) | {opening(staged[p])} |\n" for n, p in _paths(folder, ordered))
    extra = "api/index\n" if folder == "reference" else ""
    tree = "".join(f"{name}\n" for name in ordered)
    more = "\nPython: [all public names](api/index.md).\n" if extra else ""
    return (
        f"# {title}\n\n{line}\n{more}\n| page | what it is about |\n|---|---|\n{rows}\n"
        f"```{{toctree}}\n:hidden:\n\n{tree}{extra}```\n"
    )


def _paths(folder: str, names: list[str]) -> list[tuple[str, str]]:
    return [(name, f"{folder}/{name}.md") for name in names]


def heading(text: str) -> str:
    """Return the title of a page."""
    return text.partition("\n")[0].removeprefix("# ").replace("|", "\\|")


def opening(text: str) -> str:
    """Return the first sentence of a page, without links."""
    paragraphs = [part for part in text.split("\n\n")[1:] if not re.match(r"[#`|:!*<-]", part)]
    words = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraphs[0]).split()) if paragraphs else ""
    return re.split(r"(?<=[.:?]) (?=[A-Z])", words)[0].rstrip(":").replace("|", "\\|")


def cards() -> str:
    """Return the cards of the front page, and its table of contents."""
    made = "".join(f":::{{grid-item-card}} {title}\n:link: {folder}/index\n:link-type: doc\n\n{line}\n:::\n\n"
                   for folder, (title, line) in SECTIONS.items())  # fmt: skip
    tree = "".join(f"{folder}/index\n" for folder in SECTIONS)
    return f"::::{{grid}} 1 2 2 2\n:gutter: 3\n\n{made}::::\n\n```{{toctree}}\n:hidden:\n\n{tree}```\n"


def api_index(staged: dict[str, str]) -> str:
    """Return the list of packages."""
    names = [Path(path).name.removesuffix(".md") for path in staged if path.startswith("reference/api/")]
    names.sort()
    rows = "".join(f"| [{name}]({name}.md) | {opening(staged[f'reference/api/{name}.md'])} |\n" for name in names)
    tree = "".join(f"{name.removeprefix('dpassay.')} <{name}>\n" for name in names)
    return (
        "# Python\n\nPublic names, by package. The most used ones can also be imported from `dpassay` itself: "
        "`from dpassay import audit, Laplace`.\n\n| package | what it holds |\n|---|---|\n"
        f"{rows}\n```{{toctree}}\n:hidden:\n\n{tree}```\n"
    )


def without_outside_links(path: str, text: str, staged: dict[str, str]) -> str:
    """Return a page whose links to files of the repository that are no pages are text with the path as its title."""

    def replaced(link: re.Match[str]) -> str:
        there = (PAGES / path).parent.joinpath(link[2]).resolve()
        inside = there.is_relative_to(PAGES)
        if inside and (there.relative_to(PAGES).as_posix() in staged or there.suffix == ".png"):
            return link[0]
        name = (DOCS / path).parent.joinpath(link[2]).resolve().relative_to(ROOT).as_posix()
        return f'<span title="{name}">{link[1]}</span>'

    return LINK.sub(replaced, text)


def write(staged: dict[str, str]) -> None:
    """Write the pages that differ from those of the last build, and remove the others."""
    for path in PAGES.rglob("*.md") if PAGES.exists() else ():
        if path.relative_to(PAGES).as_posix() not in staged:
            path.unlink()
    for name, text in staged.items():
        path = PAGES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for picture in DOCS.glob("[!_]*/*.png"):
        shutil.copy2(picture, PAGES / picture.relative_to(DOCS))
    STATIC.mkdir(parents=True, exist_ok=True)
    dark = dark_rules('body[data-theme="dark"] .dpassay-figure')
    forced = dark[dark.index("{") + 1 : -1]
    automatic = dark_rules('body:not([data-theme="light"]) .dpassay-figure')
    (STATIC / "site.css").write_text((SITE / "site.css").read_text() + forced + "\n" + automatic + "\n")


if __name__ == "__main__":
    sys.exit(main())
