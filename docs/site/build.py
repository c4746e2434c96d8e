"""Build the site: `make site`. Writes docs/_build/html.

docs/*/*.md, and a few pages of the repository  ->  docs/_build/pages  (gallery and demos are executed where something
changed; the catalogues, the reference and the lists of each section are written)  ->  Sphinx  ->  links are followed
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import api
import executed
import links

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
    "gallery": ("Gallery", "Figures with the call that draws each."),
    "attacks": ("Attacks", "Choose an attack on models, tables, texts and answers, and read its success."),
    "mechanisms": ("Mechanisms", "Choose a mechanism, and know its claim, its noise and its bugs."),
    "results": ("Results", "Compare published tables with ours."),
    "reference": ("Reference", "Look up names, options, systems and terms."),
    "decisions": ("Decisions", "See why the code is as it is, and what it costs."),
    "project": ("Project", "Change the code: its map, how to contribute, what has changed, and security."),
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
PROJECT = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "tests/README.md": "project/tests.md",
    "README.md": "index.md",
}
"""File of the repository -> page of the site that links to the file lead to; the front page has a text of its own."""


def main(arguments: Sequence[str] = ()) -> int:
    """Make the site: execute the pages with code where something that they use has changed, then write all pages.

    Args:
        arguments: names of demos and of pages of the gallery; only these are executed. All by default.

    Returns:
        0 if every page could be executed, Sphinx had nothing to complain about, and every link leads somewhere.
    """
    started = sum(os.times()[:4])
    jobs = [executed.Job(path) for folder in ("gallery", "demos") for path in sorted(DOCS.glob(f"{folder}/*.md"))]
    jobs = [job for job in jobs if job.kind == "demos" or "```python" in job.page.read_text()]
    changed = [job for job in jobs if not job.is_fresh()]
    stale = [job for job in changed if not arguments or job.page.stem in arguments]
    say(f"{len(jobs)} pages with code: {len(jobs) - len(changed)} reused, since nothing that they use has changed")
    errors, of_demos = execute(stale)
    failed = make(jobs) or bool(errors)
    found = [] if failed else links.problems(HTML, *sources(stage(jobs)))
    sys.stderr.writelines(f"{line}\n" for line in found)
    of_pages = sum(os.times()[:4]) - started
    say(f"{len(links.Site(HTML).pages)} pages, {len(found)} wrong links: {HTML}")
    say(f"CPU time: {of_pages:.0f} s for the pages, {of_demos:.0f} s for what was executed")
    return int(failed or bool(found))


def say(text: str) -> None:
    """Print a line at once, also into a file."""
    print(text, flush=True)


def execute(jobs: Sequence[executed.Job]) -> tuple[list[str], float]:
    """Execute pages, and return the errors and the CPU seconds."""
    errors, spent, done, total = [], 0.0, Counter[str](), Counter(job.kind for job in jobs)
    names = {"demos": "demos", "gallery": "figures of the gallery"}
    for job, seconds, error in executed.execute_all(jobs):
        done[job.kind] += 1
        spent += seconds
        line = f"{done[job.kind]} of {total[job.kind]} {names[job.kind]}: {job.page.stem}, {seconds:.0f} s"
        say(f"{line}, failed\n{error}" if error else line)
        errors += [error] if error else []
    return errors, spent


def make(jobs: Sequence[executed.Job]) -> bool:
    """Write all pages, with what is executed so far; return whether Sphinx has complained."""
    staged = stage(jobs)
    of_sources, places = sources(staged)
    files: dict[str, Path] = {}
    write({page: links.rewritten(text, page, source, places, files) for page, (source, text) in of_sources.items()})
    for job in jobs:
        if (book := job.folder / f"{job.page.stem}.ipynb").exists():
            shutil.copy2(book, PAGES / job.kind / book.name)
    options = ["-b", "html", "-W", "--keep-going", "-n", "-q", "-j", "auto", "-c", SITE, "-d", BUILD / "doctrees"]
    failed = subprocess.run([sys.executable, "-m", "sphinx", *options, PAGES, HTML], check=False).returncode
    for place, file in files.items():
        (HTML / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, HTML / place)
    return bool(failed)


def stage(jobs: Sequence[executed.Job]) -> dict[str, str]:
    """Return the text of every page, before its links are rewritten."""
    staged = {path.relative_to(DOCS).as_posix(): path.read_text() for path in written()}
    staged |= {f"reference/{name}": text for name, text in generated().items()}
    staged |= {f"gallery/{job.page.name}": job.body() for job in jobs if job.kind == "gallery"}
    staged |= {f"demos/{job.page.name}": demo(job) for job in jobs if job.kind == "demos"}
    staged |= {f"reference/api/{package}.md": text for package, text in api.pages(staged).items()}
    staged |= {page: (ROOT / file).read_text() for file, page in PROJECT.items()}
    staged["reference/command-line.md"] = api.command_line()
    staged |= {f"{folder}/index.md": section(folder, staged) for folder in SECTIONS}
    staged["demos/index.md"] = list_of_demos()
    staged["reference/api/index.md"] = api_index(staged)
    staged["index.md"] = (SITE / "index.md").read_text().replace("CARDS", cards())
    return staged


def sources(staged: Mapping[str, str]) -> tuple[dict[str, tuple[Path, str]], dict[Path, str]]:
    """Return page -> the file that its links start from, and its text; and file -> page."""
    at = {page: DOCS / page for page in staged}
    at |= {page: ROOT / file for file, page in PROJECT.items()} | {"index.md": SITE / "index.md"}
    places = {DOCS / page: page for page in staged} | {ROOT / file: page for file, page in PROJECT.items()}
    return {page: (at[page], text) for page, text in staged.items()}, places


def written() -> list[Path]:
    """Return the pages of the repository that are not executed."""
    return [path for path in sorted(DOCS.glob("[!_]*/*.md")) if path.parent.name not in ("demos", "site")]


@cache
def generated() -> dict[str, str]:
    """Return the pages that are written from the catalogues."""
    return {f"{name}.md": made()[f"{name}_page"]() for name in ("catalogue", "systems")}


@cache
def made() -> dict[str, Any]:
    """Return the functions of docs/build.py."""
    return runpy.run_path(str(DOCS / "build.py"))


def demo(job: executed.Job) -> str:
    """Return the page of a demo: below its question, its hour of the course, its time, and its notebook."""
    title, _, text = job.body().partition("\n")
    _, seconds, hour, of_hour = made()["demos"]()[job.page.stem]
    name = f"{job.page.stem}.ipynb"
    book = f" Notebook with its outputs: {{download}}`{name} <{name}>`." if (job.folder / name).exists() else ""
    facts = f"Hour {lesson(hour, of_hour)} of the course, about {seconds} s.{book}"
    return f"{title}\n\n{facts}\n{linked(text)}"


def lesson(hour: int, title: str) -> str:
    """Return a link to an hour of the course."""
    anchor = re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
    return f"[{hour}. {title}](../tutorials/course.md#{hour}-{anchor})"


def list_of_demos() -> str:
    """Return the page of all demos, in the order of the course."""
    title, line = SECTIONS["demos"]
    rows = "".join(
        f"| [{question}]({name}.md) | {seconds} s | {lesson(hour, of_hour)} |\n"
        for name, (question, seconds, hour, of_hour) in made()["demos"]().items()
    )
    tree = "".join(f"{name}\n" for name in made()["demos"]())
    return (
        f"# {title}\n\n{line} `dpassay demo NAME` plays one in the terminal; [how to use and write them]"
        "(../reference/demos.md), and [a course](../tutorials/course.md) of twelve hours.\n\n"
        f"| question | time | hour of the course |\n|---|---|---|\n{rows}\n```{{toctree}}\n:hidden:\n\n{tree}```\n"
    )


@cache
def titles() -> dict[str, tuple[str, str]]:
    """Return the name of a page -> its folder and title."""
    return {path.stem: (path.parent.name, heading(path.read_text())) for path in written()}


def linked(text: str) -> str:
    """Return the text of a demo with links to the pages and demos that it names, such as `docs/mechanisms/noise.md`."""

    def page(named: re.Match[str]) -> str:
        folder, title = titles()[named[1]]
        return f"[{title}](../{folder}/{named[1]}.md)"

    text = re.sub(rf"`docs/(?:[\w-]+/)?({'|'.join(titles())})\.md`", page, text)
    return re.sub(r"^- `dpassay demo ([\w-]+)`", r"- [`dpassay demo \1`](\1.md)", text, flags=re.MULTILINE)


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
    from dpassay.experiments.present.plots.style import dark_rules  # here, since processes of demos import this module

    STATIC.mkdir(parents=True, exist_ok=True)
    shutil.copy2(SITE / "site.js", STATIC)
    dark = dark_rules('body[data-theme="dark"] .dpassay-figure')
    forced = dark[dark.index("{") + 1 : -1]
    automatic = dark_rules('body:not([data-theme="light"]) .dpassay-figure')
    (STATIC / "site.css").write_text((SITE / "site.css").read_text() + forced + "\n" + automatic + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
