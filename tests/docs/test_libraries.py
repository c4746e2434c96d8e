"""The rows of audited libraries, their page, and the run that measures them, against a stub of a library."""

import importlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "libraries"


@pytest.fixture(scope="module")
def modules():
    """`rows`, `page` and the run, imported as the command imports them."""
    sys.path.insert(0, str(FOLDER))
    names = ("rows", "page", "__main__")
    kept = {name: sys.modules.pop(name, None) for name in names}
    try:
        rows, page = importlib.import_module("rows"), importlib.import_module("page")
        spec = importlib.util.spec_from_file_location("run_of_libraries", FOLDER / "__main__.py")
        run = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(run)
        yield rows, page, run
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.update({name: module for name, module in kept.items() if module is not None})


def test_the_page_is_that_of_the_rows_and_records(modules):
    _, page, _ = modules
    assert page.PAGE.read_text() == page.page(), "run: make docs"


def test_every_row_has_a_record_and_every_record_a_row(modules):
    rows, page, _ = modules
    made, records = rows.libraries(), json.loads(page.FILE.read_text())
    assert [one for one in records if not rows.current(one, made)] == []
    known = {rows.key(one) for one in records}
    called = {(one.name, one.version, call.function, call.options) for one in made for call in one.calls()}
    assert called <= known
    assert all(one["confidence"] == 1 - 1e-6 for one in records)


def test_refuted_rows_state_their_cause(modules):
    """And a right twin, if it is measured, is not refuted."""
    rows, page, _ = modules
    verdicts = {rows.key(one): one["verdict"] for one in json.loads(page.FILE.read_text())}
    for library in rows.libraries():
        for row in library.rows:
            of = verdicts[library.name, library.version, row.function, row.options]
            assert bool(row.cause) == (of != "consistent"), row.function
            if row.twin:
                twin = verdicts[library.name, library.version, row.twin.function, row.twin.options]
                assert twin == "consistent", row.function


@pytest.mark.parametrize(
    "changed",
    [
        {"options": "--d0 1 --d1 2"},
        {"options": "--epsilon 1 --confidence 0.9"},
        {"relation": "add"},
        {"claim": ""},
        {"expected": "violation"},
    ],
    ids=str,
)
def test_a_row_of_another_form_is_refused(modules, changed):
    rows, _, _ = modules
    row = {
        "call": "f(x)", "function": "f", "options": "--epsilon 1", "conditions": "x", "claim": "1",
        "relation": "add_remove",
    }  # fmt: skip
    assert rows.Row(**row).function == "f"
    with pytest.raises(ValidationError):
        rows.Row(**row | changed)


def test_a_library_needs_an_exact_version_and_rows_or_a_reason(modules):
    rows, _, _ = modules
    good = {"name": "one", "install": ("one==1.0",), "not_run": "needs a service"}
    assert rows.Library(**good).version == "1.0"
    for changed in ({"install": ("one>=1.0",)}, {"not_run": ""}, {"install": ()}):
        with pytest.raises(ValidationError):
            rows.Library(**good | changed)


@pytest.fixture(scope="module")
def scored(modules):
    """The module that scores synthetic tables with other tools."""
    return importlib.import_module("distance_scores")


def test_the_table_of_scores_is_that_of_the_file(scored):
    assert scored.table(json.loads(scored.FILE.read_text())) in scored.PAGE.read_text()


@pytest.mark.parametrize(("kind", "share"), [("clean", 0.0), ("leaking", 0.05)])
@pytest.mark.parametrize("population", ["people, 6 columns", "breast cancer"])
def test_a_leaking_table_copies_one_real_record_in_twenty_and_a_clean_one_none(scored, population, kind, share):
    tables = scored.tables(population, 0, kind)
    rows = {name: set(frame.itertuples(index=False, name=None)) for name, frame in tables.items()}
    assert len({len(frame) for frame in tables.values()}) == 1
    assert len(rows["synthetic"] & rows["real"]) == round(share * len(tables["real"]))
    assert not rows["synthetic"] & rows["holdout"]


def test_a_call_is_measured_in_another_interpreter_and_shown(modules, tmp_path, monkeypatch):
    """With this environment in the place of that of a library."""
    rows, page, run = modules
    (tmp_path / "stub_calls.py").write_text(
        "import numpy as np\n\nSCALE = 1.0\n\n\ndef noisy(dataset, size, rng):\n"
        "    return sum(dataset) + rng.laplace(scale=SCALE, size=size)\n\n\n"
        "def exact(dataset):\n    return sum(dataset)\n"
    )
    (tmp_path / "stub.toml").write_text(
        'name = "stub"\ninstall = ["stub==2.0"]\n[[rows]]\ncall = "exact(x)"\nfunction = "exact"\n'
        "options = \"--epsilon 1 --trials 100 --d0 '[1]' --d1 '[1, 1]'\"\n"
        'conditions = "1 record, one added"\nclaim = "epsilon = 1"\nrelation = "add_remove"\ncause = "no noise"\n'
        '[rows.twin]\nfunction = "noisy"\n'
        "options = \"--epsilon 1 --trials 2000 --d0 '[1]' --d1 '[1, 1]'\"\nconditions = \"with noise\"\n"
    )
    monkeypatch.setattr(rows, "HERE", tmp_path)
    library = rows.library(tmp_path / "stub.toml")
    right = run.measure(library, library.rows[0].twin, Path(sys.executable))
    assert right["verdict"] == "consistent"
    assert 0.5 < right["bound"] <= right["claim"] == 1
    wrong = right | {"function": "exact", "options": library.rows[0].options, "verdict": "violation", "bound": 2.0}
    file = tmp_path / "records.json"
    file.write_text(json.dumps([right, wrong, wrong | {"version": "1.0"}]))
    shown = page.page(tmp_path, file)
    assert shown.count("| [stub ") == 2, "both versions are shown"
    assert "SCALE = 1.0" in shown
    assert "the outputs differ by more than the stated epsilon" in shown
