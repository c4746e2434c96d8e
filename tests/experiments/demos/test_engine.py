"""Execution of demo documents: cells, outputs, seeds, errors, and what is written."""

import json
import re
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

from dpassay.experiments.demos import document, get, names
from dpassay.experiments.demos.demonstration import Demonstration
from dpassay.experiments.demos.document import Document
from dpassay.experiments.demos.execution import ShownTable
from dpassay.experiments.demos.terminal import terminal
from dpassay.mechanisms.core import ParameterError, UnknownNameError

TEXT = '''# Is a [bold] question here?

```{code-cell} python
import pandas as pd

from dpassay.experiments.present.plots import panels

SEED = 3
print(f"seed {SEED} in [brackets]")
```

```{code-cell} python
:tags: [hide-input]

panels(lambda ax: ax.plot([1, 2]), alt="A line that goes up from one to two.")
```

```{code-cell} python
pd.DataFrame({"name": ["a", "b"], "value": [0.5, 0.25]})
```

```{code-cell} python
def square(x):
    """Return the square."""
    return x * x
```

One more cell.

+++ {"tags": ["answer"]}

It is <b>four</b>.

```{code-cell} python
:tags: [answer, hide-input]
secret = 4
secret
```
'''


CELL = "```{{code-cell}} python\n{}\n```\n"


@pytest.fixture
def demo(tmp_path):
    return Demonstration(Document(tmp_path / "small.md", TEXT))


def test_cells_have_kinds_lines_and_tags():
    cells = Document(Path("small.md"), TEXT).cells
    assert [cell.is_code for cell in cells] == [False, True, True, True, True, False, False, True]
    assert TEXT.splitlines()[cells[2].line - 1].startswith("panels")
    assert [cell.is_answer for cell in cells][-3:] == [False, True, True]
    assert [cell.is_hidden for cell in cells][-2:] == [False, True]
    assert cells[2].is_hidden


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\n", 1),
        ("# Is it?\n\n```{code-cell} python\nx = 1\n", 3),  # without an end
        ("# Is it?\n\n```{code-cell} ipython3\nx = 1\n```\n", 3),
        ("# Is it?\n\n```{code-cell} python\n:tags: [hidden]\n\nx = 1\n```\n", 6),
        ("# Is it?\n\n+++ {tags: [answer]}\n\nIt is.\n", 3),
        ('# Is it?\n\n+++ {"tags": ["reply"]}\n\nIt is.\n', 5),
    ],
)
def test_a_line_that_is_not_in_the_format_is_named(tmp_path, text, line):
    with pytest.raises(ParameterError, match=rf"small\.md, line {line}: "):
        _ = Document(tmp_path / "small.md", text).cells


def test_a_named_index_is_a_column_and_row_numbers_are_not():
    frame = pd.DataFrame({"share": [0.5, 0.25]})
    assert [name for name, _ in ShownTable(frame).columns] == ["share"]
    frame.index = pd.RangeIndex(50, 150, 50, name="answers")
    assert ShownTable(frame).columns[0] == ("answers", ["50", "100"])


def test_run_gives_the_names_and_is_silent(demo, capsys):
    assert (demo.run().SEED, demo.run(seed=8).SEED, demo.run().secret) == (3, 8, 4)
    assert capsys.readouterr().out == ""


def test_a_seed_below_zero_is_refused(demo):
    with pytest.raises(ParameterError, match="seed must be an integer >= 0"):
        demo.run(seed=-1)


def test_the_terminal_shows_outputs_and_hides_code_and_answers(demo, capsys):
    found = demo.play(terminal())
    text = capsys.readouterr().out
    assert "seed 3 in [brackets]" in text
    assert "Is a [bold] question here?" in text
    assert "0.50" in text
    assert "--out DIR saves it" in text
    assert "four" not in text
    assert "SEED" not in text
    assert not hasattr(found, "secret")


def test_code_and_answers_are_shown_on_request(demo, capsys):
    demo.play(terminal(), code=True, answers=True, seed=5)
    text = capsys.readouterr().out
    assert "SEED = 5" in text
    assert "panels(lambda" not in text  # folded
    assert "four" in text


def test_what_is_written_has_all_outputs_and_hides_the_answer(demo, tmp_path, capsys):
    demo.play(terminal(), out=tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"small.html", "small.ipynb", "small-1.svg", "small-1-narrow.svg", "small-1.png"}
    assert capsys.readouterr().out.count("written: ") == 2
    page = (tmp_path / "out" / "small.html").read_text()
    assert page.index('<details class="answer">') < page.index("&lt;b&gt;four")
    assert 'aria-label="A line that goes up from one to two."' in page
    notebook = json.loads((tmp_path / "out" / "small.ipynb").read_text())
    nbformat.validate(notebook)
    figure, answer = notebook["cells"][2], notebook["cells"][-2]
    assert figure["outputs"][0]["metadata"] == {"image/png": {"alt": "A line that goes up from one to two."}}
    assert figure["metadata"]["tags"] == ["hide-input"]
    assert answer["source"][0].startswith("<details>")


def test_a_picture_comes_before_the_code_that_computes_and_draws_it(tmp_path):
    cells = [
        "SEED = 1",
        "print('computed')",
        "draw = lambda ax: ax.plot([1, 2])",
        "panels(draw, draw, alt='Two lines.')",
    ]
    code = "".join(map(CELL.format, ["from dpassay.experiments.present.plots import panels", *cells]))
    demo = Demonstration(Document(tmp_path / "drawn.md", f"# Is it?\n\n{code}\nText.\n\n{CELL.format('x = 30')}"))
    demo.run(out=tmp_path)
    page = (tmp_path / "drawn.html").read_text()
    order = ["<h1>", "<figure>", "SEED", "computed", "'Two lines.'", "<p>Text.", ">30</span>"]
    assert sorted(order, key=page.index) == order
    wide, narrow = (re.search(r'viewBox="0 0 (\d+) (\d+)', form) for form in re.findall(r"<svg [^>]*>", page))
    assert (wide[1], narrow[1]) == ("792", "288")
    assert int(narrow[2]) == 2 * round(4.2 * 72)
    assert re.findall(r'<div class="drawing (\w+)">', page) == ["roomy", "narrow"]


def test_functions_of_cells_reach_other_processes(demo):
    square = demo.run().square
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(square)(x) for x in (2, 3)) == [4, 9]


def test_an_error_names_demo_cell_and_line(tmp_path):
    code = "".join(map(CELL.format, ("SEED = 1", "x = 1\n1 / 0")))
    broken = Document(tmp_path / "broken.md", f"# Is it?\n\n{code}")
    with pytest.raises(ZeroDivisionError) as raised:
        Demonstration(broken).run()
    assert raised.value.__notes__ == ["in demo broken, cell 3, line 8"]


def test_a_folder_that_cannot_be_made_is_refused_before_the_demo_begins(demo, tmp_path, capsys):
    (tmp_path / "report.html").touch()
    for out in (tmp_path / "report.html", tmp_path / "report.html" / "inside"):
        with pytest.raises(ParameterError, match=r"out must be a folder.* Choose another folder") as refused:
            demo.play(terminal(), out=out)
        assert refused.value.argument == "out"
    assert capsys.readouterr().out == ""


def test_a_figure_of_pyplot_is_displayed_too(tmp_path):
    code = "import matplotlib.pyplot as plt\nfigure = plt.figure()\nfigure.alt = 'Nothing.'\nfigure"
    Demonstration(Document(tmp_path / "plain.md", f"# Is it?\n\n{CELL.format(code)}")).run(out=tmp_path)
    plt.close("all")
    assert (tmp_path / "plain-1.svg").exists()


def test_an_unknown_demo_is_named_with_its_neighbours():
    with pytest.raises(UnknownNameError, match="Did you mean 'add-or-replace'"):
        get("add-or-replaced")


def test_the_catalogue_has_the_files():
    assert "add-or-replace" in names()
    assert document("add-or-replace").summary.endswith(" s)")
