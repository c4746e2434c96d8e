"""Pages that are executed for the site, two processes at a time, with a cache.

A page is executed again where its text, a file of the repository that it used (modules, tables of data), or a version
of a numerical library has changed. Its folder in the cache receives `body.md`, the Markdown of the executed page, its
figures, and `uses.json`: what it used, each with a digest. A demo also leaves its notebook and its page of one file.
"""

from __future__ import annotations

import ast
import hashlib
import json
import multiprocessing
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "docs" / "_build" / "executed"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CELL = re.compile(r"^```\{code-cell\} python\n(?::tags:.*\n\n?)?", re.MULTILINE)
BREAK = re.compile(r"^\+\+\+.*\n", re.MULTILINE)
LIBRARIES = ("numpy", "scipy", "pandas", "matplotlib")
SHARED = ["scipy.stats", "scipy.optimize", "scipy.special", "pandas", "matplotlib.figure", "jinja2", "pydantic"]
"""Imported once, and not by each page: libraries only, since modules of this repository are recorded for each page."""


@dataclass(frozen=True)
class Job:
    """A page to execute.

    Args:
        page: its source.
        root: the repository.
        cache: the folder of all executed pages.
    """

    page: Path
    root: Path = ROOT
    cache: Path = CACHE

    @property
    def kind(self) -> str:
        """The folder of the page: "demos" or "gallery"."""
        return self.page.parent.name

    @property
    def folder(self) -> Path:
        """Where what the page makes is."""
        return self.cache / f"{self.kind}-{self.page.stem}"

    def is_fresh(self) -> bool:
        """Whether the cached page was made from this text, these files and these libraries."""
        file = self.folder / "uses.json"
        uses = json.loads(file.read_text()) if file.exists() else {}
        return bool(uses) and uses["libraries"] == versions() and all(
            digest(self.root / path) == known for path, known in uses["files"].items()
        )  # fmt: skip

    def body(self) -> str:
        """Return the Markdown of the executed page, or while it is not executed that of its text and code."""
        if self.is_fresh():
            return (self.folder / "body.md").read_text()
        return BREAK.sub("", CELL.sub("```python\n", self.page.read_text()))


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers and drawings depend on."""
    return {"python": sys.version.partition(" ")[0]} | {name: version(name) for name in LIBRARIES}


@cache
def digest(path: Path) -> str | None:
    """Return a digest of a file; None if the file is missing."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def execute_all(jobs: Sequence[Job], workers: int = 2) -> Iterator[tuple[Job, float, str]]:
    """Execute pages, and yield each one when it ends, with its CPU seconds and its error, empty if it has none."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(SHARED)
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        running = {pool.submit(execute, job): job for job in jobs}
        for done in as_completed(running):
            yield running[done], *done.result()


# --- in the process of one page ---------------------------------------------------------------------------------------


def execute(job: Job) -> tuple[float, str]:
    """Execute a page, write its Markdown and what it used, and return its CPU seconds and its error."""
    opened: set[str] = set()
    sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
    started = sum(os.times()[:4])
    (job.folder / "uses.json").unlink(missing_ok=True)
    job.folder.mkdir(parents=True, exist_ok=True)
    try:
        text = gallery(job) if job.kind == "gallery" else demo(job)
    except (Exception, SystemExit):
        return sum(os.times()[:4]) - started, traceback.format_exc()
    (job.folder / "body.md").write_text(text)
    files = {path: digest(job.root / path) for path in used(opened, job)}
    (job.folder / "uses.json").write_text(json.dumps({"libraries": versions(), "files": files}))
    return sum(os.times()[:4]) - started, ""


def used(opened: Iterable[str], job: Job) -> list[str]:
    """Return the files of the repository that this process has imported or opened, the page among them."""
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files = {Path(file).resolve() for file in (*opened, *loaded) if file and not file.isdigit()} | {job.page}
    inside = [file for file in files if file.is_relative_to(job.root) and not file.is_relative_to(sys.prefix)]
    made = (job.cache.parent, job.root / ".git")
    kept = [file for file in inside if file.is_file() and not any(map(file.is_relative_to, made))]
    return sorted(file.relative_to(job.root).as_posix() for file in kept if file.suffix != ".pyc")


def gallery(job: Job) -> str:
    """Return a page whose last block ends with `PLOT.plot()`, with the figure before the block."""
    from dpassay.experiments.demos.page import drawing
    from dpassay.experiments.present.plots import figure_of
    from dpassay.experiments.present.plots.style import save

    text = job.page.read_text()
    (block,) = BLOCK.findall(text)
    *statements, last = ast.parse(block).body
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and not last.value.args):
        raise SystemExit(f"{job.page}: the block must end with PLOT.plot()")
    names: dict[str, Any] = {}
    exec(compile(ast.Module(statements, []), str(job.page), "exec"), names)
    plot = eval(compile(ast.Expression(last.value.func.value), str(job.page), "eval"), names)  # type: ignore[attr-defined]
    files = save(figure_of(plot), job.folder / job.page.stem, title=plot.title, description="")
    return BLOCK.sub(lambda match: f"{_raw(drawing(files, plot.caption))}\n\n{match[0]}", text)


def demo(job: Job) -> str:
    """Return a demo as Markdown, with each picture before its code; write its notebook and its page."""
    from dpassay.experiments.demos import document
    from dpassay.experiments.demos.execution import CellRunner
    from dpassay.experiments.demos.notebook import notebook
    from dpassay.experiments.demos.page import demo_page, pictures_first

    name = job.page.stem
    found = document(name)
    runner = CellRunner(found, job.folder)
    played = [(cell, runner.run(cell) if cell.is_code else ()) for cell in found.cells]
    (job.folder / f"{name}.ipynb").write_text(notebook(played))
    (job.folder / f"{name}.html").write_text(demo_page(found, played))
    parts = [_part(*part) for part in pictures_first(played)]
    return "\n\n".join(parts) + "\n"


def _part(cell: Any, outputs: Sequence[Any], shows_code: bool) -> str:
    """Return a part of a demo as Markdown for Sphinx."""
    shown = [_output(output) for output in outputs]
    if shows_code:
        code = f"```python\n{cell.source}\n```" if cell.is_code else cell.source
        shown.insert(0, f"::::{{dropdown}} Code\n{code}\n::::" if cell.is_hidden else code)
    text = "\n\n".join(shown)
    return f":::::{{dropdown}} Answer{': code' if cell.is_code else ''}\n{text}\n:::::" if cell.is_answer else text


def _output(output: Any) -> str:
    """Return what a cell printed or displayed as Markdown for Sphinx."""
    from dpassay.experiments.demos.execution import Printed, ShownTable
    from dpassay.experiments.demos.page import drawing, html_table

    if isinstance(output, Printed):
        return f"```text\n{output.text.rstrip()}\n```"
    if isinstance(output, ShownTable):
        return _raw(f'<div class="table-wrapper" tabindex="0">{html_table(output)}</div>')
    return _raw(drawing(output.files))


def _raw(html: str) -> str:
    lines = re.sub(r"\n\s*\n", "\n", html)
    return f"```{{raw}} html\n{lines}\n```"
