"""Demos that run: each asks a question, shows a leak or a misleading claim, and has an exercise. `dpassay demo NAME`.

A demo is one document, `documents/NAME.py`, in the percent format of notebooks. From it come the text in the terminal,
an HTML page and a notebook; the tests execute it. The format: `document.py`. How to write one: docs/reference/demos.md.

answers/           Demos on answers to queries
demo.py            Output of the demos: chapters, paragraphs and tables in a terminal, and figures in a folder
demonstration.py   One demo, played: executed cell by cell, shown in a terminal, and written as a page and a notebook
document.py        Demo documents: percent-format files of Markdown and code cells, parsed but not executed
execution.py       Execution of the cells of a document in one namespace, with what they print and display
notebook.py        Executed demo documents as notebooks, in the format nbformat 4.5
page.py            Executed demo documents as self-contained HTML pages, in the style of all reports
synthesis/         Demos on synthetic data
terminal.py        Demo documents in a terminal: Markdown, code, and the outputs of the cells
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...mechanisms.core.errors import UnknownNameError
from ...mechanisms.core.registry import Catalogue
from .document import Document

if TYPE_CHECKING:
    from .demonstration import Demonstration

DOCUMENTS = Path(__file__).parent / "documents"

catalogue = Catalogue(
    "demo",
    {
        "error-of-mwem": "dpassay.experiments.demos.answers.error_of_mwem:main",
        "five-generators": "dpassay.experiments.demos.synthesis.generators.five_generators:main",
        "query-release": "dpassay.experiments.demos.answers.query_release:main",
        "top-down": "dpassay.experiments.demos.answers.top_down:main",
        "which-marginals": "dpassay.experiments.demos.synthesis.which_marginals:main",
    },
)
"""Demos that are modules still, not documents: name -> main. To be removed with `demo.py` after the last one."""


def names() -> list[str]:
    """Return the names of all demos: those of the files in `documents`."""
    return sorted({path.stem for path in DOCUMENTS.glob("*.py")} | set(catalogue))


def document(name: str) -> Document:
    """Return the document of a demo, not executed; raises `UnknownNameError` with the nearest names."""
    path = DOCUMENTS / f"{name}.py"
    if name not in names():
        raise UnknownNameError("demo", name, names())
    return Document.read(path)


def get(name: str) -> Demonstration:
    """Return a demo, whose `run()` gives the numbers; raises `UnknownNameError` with the nearest names."""
    from .demonstration import Demonstration

    return Demonstration(document(name))
