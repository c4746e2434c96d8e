import contextlib
import io
import re
import runpy
import tomllib
from pathlib import Path

from experiments.build import load_data
from experiments.config import Config, DataSection
from experiments.questions import questions
from experiments.run import run

DOCS = Path(__file__).parent.parent / "docs"
DP_SGD = """
[data]
name = "digits"
n_records = 30
[audit]
delta = 1e-5
"""
OPTIONS = """
name = "dp-sgd"
model = "softmax-regression"
n_features = 64
n_classes = 10
steps = 5
noise_multiplier = 2.0
sampling = "full-batch"
batch_size = 30
"""


def test_the_table_of_names_is_current():
    page = runpy.run_path(str(DOCS / "build.py"))["catalogue_page"]()
    assert (DOCS / "catalogue.md").read_text() == page, "mend with: make docs"


def test_the_config_in_the_docs_runs(tmp_path):
    example, cases, data, canary = re.findall(r"```toml\n(.*?)```", (DOCS / "config.md").read_text(), flags=re.DOTALL)
    (tmp_path / "question.toml").write_text(example)
    done = run(tmp_path / "question.toml", settings={"audit.trials": 200}, out=tmp_path / "out")
    assert len(done.result.points) == 6
    X, y = load_data(DataSection(**tomllib.loads(data)["data"]))
    assert (len(X), set(y)) == (300, {0, 1})
    learned = DP_SGD + canary.replace("[mechanism]\n", "[mechanism]\n" + OPTIONS) + cases
    (tmp_path / "learned.toml").write_text(learned)
    config, source = Config.load(tmp_path / "learned.toml")
    assert [question.mechanism.view for question in questions(config, source)] == ["final", "observations"]


def test_the_page_on_membership_says_what_its_code_prints():
    page = (DOCS / "membership.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    said = re.findall(r"^#> (.*)$", page, flags=re.MULTILINE)
    with contextlib.redirect_stdout(io.StringIO()) as heard:
        exec("\n".join(snippets), {})
    assert heard.getvalue().splitlines() == said
