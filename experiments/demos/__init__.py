"""Demos that run: each asks a question, shows a leak or a misleading claim, and has an exercise. `dpassay demo NAME`.

A demo is one document, `documents/NAME.py`, in the percent format of notebooks. From it come the text in the terminal,
an HTML page and a notebook; the tests execute it. The format: `document.py`. How to write one: docs/reference/demos.md.

answers/               Demos on answers to queries
demo.py                Output of the demos: chapters, paragraphs and tables in a terminal, and figures in a folder
demonstration.py       One demo, played: executed cell by cell, shown in a terminal, and written as a page and a
                       notebook
document.py            Demo documents: percent-format files of Markdown and code cells, parsed but not executed
dp_sgd.py              A private classifier: epsilons of four accountants, lower bounds of four attacks, and a bug in
                       the clipping
execution.py           Execution of the cells of a document in one namespace, with what they print and display
glyph_like.py          Synthetic substitute for the Glyph data of PATE: 150 classes, 5,000 teachers, and partly wrong
                       labels
notebook.py            Executed demo documents as notebooks, in the format nbformat 4.5
page.py                Executed demo documents as self-contained HTML pages, in the style of all reports
people/                Demos on information about people in studies, models and visits
rounds_of_votes.py     Two rounds of PATE: Confident-GNMax labels data for a first student, and Interactive-GNMax
                       corrects or confirms it
students_of_votes.py   Accuracy of PATE students that learn from the answered points only, or from all public points
synthesis/             Demos on synthetic data
terminal.py            Demo documents in a terminal: Markdown, code, and the outputs of the cells
votes_of_teachers.py   PATE: privacy loss of an answer, accuracy of a student, and a data-dependent epsilon that is
                       itself sensitive
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
        "column-from-counts": "dpassay.experiments.demos.answers.column_from_counts:main",
        "deniable-records": "dpassay.experiments.demos.synthesis.deniable_records:main",
        "disclosure": "dpassay.experiments.demos.synthesis.disclosure:main",
        "dp-sgd": "dpassay.experiments.demos.dp_sgd:main",
        "five-marginals": "dpassay.experiments.demos.synthesis.five_marginals:main",
        "in-this-study": "dpassay.experiments.demos.people.in_this_study:main",
        "leave-one-out": "dpassay.experiments.demos.people.leave_one_out:main",
        "medical-visits": "dpassay.experiments.demos.people.medical_visits:main",
        "repeated-answers": "dpassay.experiments.demos.answers.repeated_answers:main",
        "row-of-a-regression": "dpassay.experiments.demos.people.row_of_a_regression:main",
        "synthetic-is-not-private": "dpassay.experiments.demos.synthesis.synthetic_is_not_private:main",
        "votes-of-teachers": "dpassay.experiments.demos.votes_of_teachers:main",
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
