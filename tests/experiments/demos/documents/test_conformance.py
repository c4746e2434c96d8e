"""Every demo document is in the format, and follows the template; nothing is executed here."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpassay.experiments.config.source import shipped
from dpassay.experiments.demos import DOCUMENTS, document, names
from dpassay.experiments.demos.document import SECTIONS
from dpassay.experiments.demos.notebook import notebook

ROOT = Path(__file__).parents[4]
NAMES = sorted(path.stem for path in DOCUMENTS.glob("*.md"))
every_document = pytest.mark.parametrize("name", NAMES)


@every_document
def test_a_document_asks_a_question_and_states_its_time(name):
    found = document(name)
    assert re.fullmatch(r"[\w-]+", name)
    assert "_" not in name
    assert not found.cells[0].is_code
    assert found.cells[0].source.startswith("# ")
    assert found.title.endswith("?")
    assert 20 < len(found.title) <= 90
    assert found.seconds > 0, "the last section states the time: about 5 s"


@every_document
def test_a_document_has_the_sections_of_the_template(name):
    headings = document(name).headings
    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)


@every_document
def test_no_cell_is_empty_and_each_one_parses(name):
    for cell in document(name).cells:
        assert cell.source.strip(), f"line {cell.line}"
        if cell.is_code:
            ast.parse(cell.source)


def test_the_code_is_in_the_style_of_the_project(tmp_path):
    """As that of modules, except for docstrings; ruff names cells by their number among those of code."""
    for name in NAMES:
        code = [(cell, ()) for cell in document(name).cells if cell.is_code]
        (tmp_path / f"{name}.ipynb").write_text(notebook(code))
    ruff = [sys.executable, "-m", "ruff"]
    options = ["--config", ROOT / "pyproject.toml", "--no-cache", tmp_path]
    for command in (["check", "--extend-ignore", "D,T20,E402"], ["format", "--diff"]):
        done = subprocess.run([*ruff, *command, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@every_document
def test_the_first_code_cell_sets_the_seed_and_is_short(name):
    first = next(cell for cell in document(name).cells if cell.is_code)
    assert re.search(r"^SEED = \d+$", first.source, re.MULTILINE)
    assert document(name).text.count("\nSEED = ") == 1
    statements = [line for line in first.source.splitlines() if line and not line.startswith(("from ", "import "))]
    assert len(statements) <= 20, "the picture is made by about ten lines"


@every_document
def test_imports_are_absolute(name):
    nodes = [node for cell in document(name).cells if cell.is_code for node in ast.walk(ast.parse(cell.source))]
    for node in nodes:
        assert not (isinstance(node, ast.ImportFrom) and node.level), "write: from dpassay... import"


@every_document
def test_the_answer_ends_the_code_and_stands_in_the_exercise(name):
    cells = document(name).cells
    answers = [cell.number for cell in cells if cell.is_answer]
    assert answers, 'tag the answer: +++ {"tags": ["answer"]}'
    assert answers == list(range(answers[0], answers[-1] + 1))
    assert not any(cell.is_code for cell in cells[answers[-1] :]), "code below the answer runs without it"
    assert "## Exercise" in cells[answers[0] - 2].source
    assert cells[answers[-1]].source.startswith("## See also")


@every_document
def test_what_a_document_refers_to_exists(name):
    text = document(name).text
    assert f"`dpassay demo {name}`" in text
    assert set(re.findall(r"`dpassay demo ([\w-]+)`", text)) <= set(names())
    assert set(re.findall(r"`dpassay run ([\w-]+)`", text)) <= set(shipped())
    assert all((ROOT / page).exists() for page in re.findall(r"`(docs/[\w/-]+\.md)`", text))


@every_document
def test_a_document_has_tests_of_its_numbers(name):
    assert Path(__file__).with_name(f"test_{name.replace('-', '_')}.py").exists()
