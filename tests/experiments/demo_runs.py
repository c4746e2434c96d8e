"""Demos, each executed once in a process: its numbers, what it printed, its page and its notebook."""

import contextlib
import functools
import io
import json
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import nbformat

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
    nbformat.validate(done.notebook)
