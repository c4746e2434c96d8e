import re
import tomllib
import runpy
from pathlib import Path

from experiments.build import load_data
from experiments.config import DataSection
from experiments.run import run

DOCS = Path(__file__).parent.parent / "docs"


def test_the_table_of_names_is_current():
    page = runpy.run_path(str(DOCS / "build.py"))["catalogue_page"]()
    assert (DOCS / "catalogue.md").read_text() == page, "mend with: make docs"


def test_the_config_in_the_docs_runs(tmp_path):
    example, data = re.findall(r"```toml\n(.*?)```", (DOCS / "config.md").read_text(), flags=re.DOTALL)
    (tmp_path / "question.toml").write_text(example)
    done = run(tmp_path / "question.toml", settings={"audit.trials": 200}, out=tmp_path / "out")
    assert len(done.result.points) == 6
    X, y = load_data(DataSection(**tomllib.loads(data)["data"]))
    assert (len(X), set(y)) == (300, {0, 1})
