"""Pages that are executed for the site, each in its own process, with a cache.

    python docs/site/executed.py gallery|demo PAGE FOLDER

A page is executed again where its text or a module that it imported has changed. FOLDER receives `body.md`, the
Markdown of the executed page, its figures, and `uses.json`: file -> digest.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "docs" / "_build" / "executed"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SVG_THEME = re.compile(r"@media screen and \(prefers-color-scheme:dark\)\{(?:[^{}]*\{[^{}]*\})*\}")


def bodies(pages: dict[Path, str], jobs: int = 2) -> dict[Path, str | None]:
    """Return the Markdown of executed pages, two processes at a time; None for a page that cannot be executed.

    Args:
        pages: page -> "gallery" or "demo".
    """
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(pages, pool.map(body, pages, pages.values()), strict=True))


def body(page: Path, kind: str) -> str | None:
    """Return the Markdown of an executed page, from the cache where nothing that it uses has changed."""
    folder = CACHE / f"{kind}-{page.stem}"
    if not is_fresh(folder, page):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "uses.json").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, __file__, kind, page, folder], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.stderr.write(f"{page}: not executed\n{done.stderr}\n")
            return None
        sys.stdout.write(f"executed {page.relative_to(ROOT)}\n")
    return (folder / "body.md").read_text()


def is_fresh(folder: Path, page: Path) -> bool:
    """Whether the cached page was made from this text and this code."""
    file = folder / "uses.json"
    uses = json.loads(file.read_text()) if file.exists() else {}
    return str(page.relative_to(ROOT)) in uses and all(digest(ROOT / path) == known for path, known in uses.items())


@cache
def digest(path: Path) -> str | None:
    """Return a digest of a file; None if the file is missing."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


# --- in the process of one page ---------------------------------------------------------------------------------------


def execute(kind: str, page: Path, folder: Path) -> None:
    """Execute a page, and write its Markdown and what it used."""
    text = gallery(page) if kind == "gallery" else demo(page, folder)
    (folder / "body.md").write_text(text)
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files = {Path(file).resolve() for file in loaded if file} | {page, Path(__file__)}
    ours = [file for file in files if file.is_relative_to(ROOT) and not file.is_relative_to(sys.prefix)]
    (folder / "uses.json").write_text(json.dumps({str(file.relative_to(ROOT)): digest(file) for file in sorted(ours)}))


def gallery(page: Path) -> str:
    """Return a page whose last block ends with `PLOT.plot()`, with the figure after the block."""
    text = page.read_text()
    (block,) = BLOCK.findall(text)
    *statements, last = ast.parse(block).body
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and not last.value.args):
        raise SystemExit(f"{page}: the block must end with PLOT.plot()")
    names: dict[str, Any] = {}
    exec(compile(ast.Module(statements, []), str(page), "exec"), names)
    plot = eval(compile(ast.Expression(last.value.func.value), str(page), "eval"), names)  # type: ignore[attr-defined]
    return BLOCK.sub(lambda match: f"{match[0]}\n\n{figure(plot)}", text)


def figure(plot: Any) -> str:
    """Return a plot as HTML: the drawing, with its title as text alternative, and its caption."""
    from dpassay.experiments.present.plots.style import _svg_text

    drawn = plot.plot()
    svg = _svg_text(drawn.figure, title=plot.title, description=plot.caption)
    return f"```{{raw}} html\n<figure>{inline(svg)}<figcaption>{escaped(plot.caption)}</figcaption></figure>\n```\n"


def inline(svg: str) -> str:
    """Return an SVG for a page: its colours follow the theme of the site (site.css), not that of the system."""
    return SVG_THEME.sub("", svg).replace("\n\n", "\n")


def escaped(text: str) -> str:
    """Return text for HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def demo(page: Path, folder: Path) -> str:
    """Return a demo as Markdown, from the notebook that `dpassay demo NAME --out` writes."""
    from dpassay.experiments.cli.commands import app

    app(["demo", page.stem, "--out", str(folder)], standalone_mode=False)
    (notebook,) = folder.glob("*.ipynb")
    drawings = iter(sorted(folder.rglob("*.svg")))
    cells = json.loads(notebook.read_text())["cells"]
    return "\n\n".join(_cell(cell, drawings) for cell in cells) + "\n"


def _cell(cell: dict[str, Any], drawings: Any) -> str:
    source, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
    if cell["cell_type"] == "markdown":
        hidden = re.fullmatch(r"<details><summary>Answer</summary>\n\n(.*)\n\n</details>", source, re.DOTALL)
        return f":::::{{dropdown}} Answer\n{hidden[1]}\n:::::" if hidden else source
    outputs = "\n\n".join(_output(output, drawings) for output in cell["outputs"])
    code = f"```python\n{source}\n```"
    if "hide-cell" in tags:
        return f":::::{{dropdown}} Answer: code\n{code}\n\n{outputs}\n:::::"
    return f"::::{{dropdown}} Code\n{code}\n::::\n\n{outputs}" if "hide-input" in tags else f"{code}\n\n{outputs}"


def _output(output: dict[str, Any], drawings: Any) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text'])}\n```"
    data = output["data"]
    if "image/png" in data:
        drawing = next(drawings, None)
        alt = output["metadata"].get("image/png", {}).get("alt", "")
        png = "".join(data["image/png"])
        picture = f'<img alt="{escaped(alt)}" src="data:image/png;base64,{png}">'
        if drawing is not None:
            picture = inline(drawing.read_text())
        else:
            base64.b64decode(png)
        return f"```{{raw}} html\n<figure>{picture}</figure>\n```"
    html = "".join(data.get("text/html", "")) or f"<pre>{escaped(''.join(data['text/plain']))}</pre>"
    return f'```{{raw}} html\n<div class="table-wrapper">{html}</div>\n```'


if __name__ == "__main__":
    execute(sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]))
