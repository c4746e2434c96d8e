"""Demos, each executed once in a process: its numbers, what it printed, its page and its notebook."""

import contextlib
import functools
import io
import json
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

from dpassay.experiments.demos import get
from dpassay.experiments.demos.terminal import WIDTH, terminal


@functools.cache
def played(name):
    """The names that a document sets, with its `text` in the terminal, `page` and `notebook`, answers included."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, tempfile.TemporaryDirectory() as folder:
        names = get(name).play(terminal(), out=Path(folder), answers=True)
        page, notebook = ((Path(folder) / f"{name}.{kind}").read_text() for kind in ("html", "ipynb"))
    return SimpleNamespace(names=names, text=printed.getvalue(), page=page, notebook=json.loads(notebook))


def check_demo(name):
    """The executed demo reads well in a pipe, as a page and as a notebook."""
    done = played(name)
    lines = [line for line in done.text.splitlines() if "figure: " not in line and "written: " not in line]
    assert max(map(len, lines)) <= WIDTH
    assert "\x1b" not in done.text
    assert "object at 0x" not in done.text, "the last expression of a cell has no text: print or draw it"
    assert "<Axes" not in done.text, "display the figure instead: ax.figure"
    assert not re.search(r"""(?:src|href)=["'](?!#)""", done.page), "the page needs another file"
    pictures = re.findall(r"<svg [^>]*>", done.page)
    assert pictures, "a demo has a picture"
    for picture in pictures:
        assert re.search('aria-label="[^"]{30,}', picture), "give the figure a text alternative: alt="
    assert done.page.count("<details") >= 1
    check_notebook(done.notebook)


def check_notebook(notebook):
    """What the schema of nbformat 4.5 asks for."""
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
    for cell in notebook["cells"]:
        keys = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == keys | ({"outputs", "execution_count"} if cell["cell_type"] == "code" else set())
        assert all(isinstance(line, str) for line in cell["source"])
        assert all(line.endswith("\n") for line in cell["source"][:-1])
        for output in cell.get("outputs", ()):
            keys = {"stream": {"name", "text"}, "execute_result": {"data", "execution_count", "metadata"}}
            assert set(output) == {"output_type"} | keys[output["output_type"]]
