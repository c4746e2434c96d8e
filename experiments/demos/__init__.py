"""Demos that run: each asks a question, shows a leak or a misleading claim, and has an exercise. `dpassay demo NAME`.

A demo is one document, `docs/demos/NAME.md`, which an installed package has as `documents/NAME.md`. From it come the
text in the terminal, an HTML page and a notebook; the tests execute it. The format: `document.py`. How to write one:
docs/reference/demos.md.

demonstration.py   One demo, played: executed cell by cell, shown in a terminal, and written as a page and a notebook
document.py        Demo documents: MyST Markdown with code cells, parsed but not executed
execution.py       Execution of the cells of a document in one namespace, with what they print and display
notebook.py        Executed demo documents as notebooks, in the format nbformat 4.5
page.py            Executed demo documents as self-contained HTML pages, in the style of all reports
terminal.py        Demo documents in a terminal: Markdown, code, and the outputs of the cells
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...mechanisms.core import UnknownNameError
from .document import Document

if TYPE_CHECKING:
    from .demonstration import Demonstration

DOCUMENTS = Path(__file__).parent / "documents"


def names() -> list[str]:
    """Return the names of all demos: those of the files in `documents`."""
    return sorted(path.stem for path in DOCUMENTS.glob("*.md"))


def document(name: str) -> Document:
    """Return the document of a demo, not executed; raises `UnknownNameError` with the nearest names."""
    path = DOCUMENTS / f"{name}.md"
    if name not in names():
        raise UnknownNameError("demo", name, names())
    return Document.read(path)


def get(name: str) -> Demonstration:
    """Return a demo, whose `run()` gives the numbers; raises `UnknownNameError` with the nearest names."""
    from .demonstration import Demonstration

    return Demonstration(document(name))
