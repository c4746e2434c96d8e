import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.audit.metrics.table_risk import made_tables as made
from typer.testing import CliRunner

from dpassay.audit.metrics import RiskResult
from dpassay.experiments.cli import app


def files_of(tmp_path, tables):
    paths = [tmp_path / f"{name}.csv" for name in ("real", "synthetic", "holdout")]
    for path, table in zip(paths, tables, strict=True):
        table.to_csv(path, index=False)
    return list(map(str, paths))


@pytest.fixture
def copied(tmp_path):
    return files_of(tmp_path, made.copies(np.random.default_rng(0), 200, 0.3))


def call(*words):
    return CliRunner().invoke(app, ["risk", *words])


def test_copies_exit_with_1_and_have_a_report(copied, tmp_path):
    real, synthetic, holdout = copied
    done = call(real, synthetic, "--holdout", holdout, "--out", str(tmp_path / "out"), "-v")
    assert done.exit_code == 1
    assert "The table leaks records" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What this cannot tell" in page
    assert "near copies" in page
    assert "dpassay risk real.csv synthetic.csv --holdout holdout.csv" in page
    assert re.search(r"^born +date ", done.stdout, flags=re.MULTILINE)
    text = (tmp_path / "out" / "results.json").read_text()
    assert RiskResult.from_json(text).findings
    assert json.loads(text)["n_real"] == 200
    summary = (tmp_path / "out" / "report.md").read_text()
    assert summary.startswith("## \N{HEAVY MULTIPLICATION X} The table leaks records")
    (tmp_path / "out" / "report.md").unlink()
    assert CliRunner().invoke(app, ["report", str(tmp_path / "out")]).exit_code == 1
    assert (tmp_path / "out" / "report.md").read_text() == summary
    assert (tmp_path / "out" / "report.html").read_text() == page
    without = CliRunner().invoke(app, ["card", str(tmp_path / "out")])
    assert (without.exit_code, "no evidence card" in " ".join(without.output.split())) == (2, True)


def test_folders_without_keys_are_refused_with_the_option_that_they_need(copied, tmp_path):
    done = call(copied[0], str(tmp_path), "--holdout", copied[2])
    assert done.exit_code == 2
    assert "synthetic must be a table, but is a folder" in " ".join(done.output.split())
    assert "--keys" in done.output


def test_a_clean_table_exits_with_0(tmp_path):
    real, synthetic, holdout = files_of(tmp_path, made.clean(np.random.default_rng(0), 150))
    done = call(real, synthetic, "--holdout", holdout, "--ignore", "born", "--secret", "sex", "-v")
    assert done.exit_code == 0
    assert "No leak found" in done.stdout
    assert "inferred: sex" in done.stdout
    assert "born" not in done.stdout


def test_a_column_of_codes_is_read_as_text(tmp_path):
    tables = made.clean(np.random.default_rng(0), 150)
    for table in tables:
        table["place"] = table["place"].map("abcdefgh".index)
    real, synthetic, holdout = files_of(tmp_path, tables)
    done = call(real, synthetic, "--holdout", holdout, "--category", "place", "--out", str(tmp_path / "out"), "-v")
    assert done.exit_code == 0
    assert re.search(r"^place +category ", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^place +number ", call(real, synthetic, "--holdout", holdout, "-v").stdout, flags=re.MULTILINE)
    assert "--category place" in (tmp_path / "out" / "report.html").read_text()


def test_without_a_holdout_there_is_no_verdict_and_the_code_is_2(copied, tmp_path):
    done = call(*copied[:2], "--out", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert done.stdout.split(maxsplit=1)[1].startswith(
        "No verdict, because there is no holdout; 60 of 200 real records stand in the table"
    )
    assert "pass --holdout" in done.stderr
    assert "60 of 200 real records stand in the table" in (tmp_path / "out" / "report.html").read_text()
    assert CliRunner().invoke(app, ["report", str(tmp_path / "out")]).exit_code == 2


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_real_table_in_another_file_exits_with_1(tmp_path, shuffled):
    real, _, holdout = made.clean(np.random.default_rng(0), 120)
    files = files_of(tmp_path, (real, real.sample(frac=1, random_state=0) if shuffled else real, holdout))
    done = call(files[0], files[1], "--holdout", files[2])
    assert done.exit_code == 1
    assert "(100 %) of the real records stand in the synthetic table" in done.stdout


def test_one_file_for_two_tables_exits_with_2(copied, tmp_path):
    (tmp_path / "link.csv").symlink_to(copied[0])
    for words in (
        [copied[0], copied[0]],
        [copied[0], str(tmp_path / "link.csv")],
        [*copied[:2], "--holdout", copied[1]],
    ):
        done = call(*words)
        assert done.exit_code == 2
        assert "must be another file than" in " ".join(done.output.split())


def test_a_unit_is_compared_and_in_the_report(tmp_path):
    tables = made.clean(np.random.default_rng(0), 150)
    for table, start in zip(tables, (0, 900, 500), strict=True):
        table["account"] = start + np.arange(150) // 3
    files = files_of(tmp_path, tables)
    done = call(files[0], files[1], "--holdout", files[2], "--unit", "account", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert "0/50 (0 %)" in done.stdout
    assert "--unit account" in (tmp_path / "out" / "report.html").read_text()
    assert call(files[0], files[1], "--holdout", files[2], "--unit", "nothing").exit_code == 2


def test_unusable_files_exit_with_2_and_the_reason(copied, tmp_path):
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "head.csv").write_text("a,b\n")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    for name in ("twice.csv", "empty.csv", "head.csv", "binary.csv", "missing.csv", "table.xlsx"):
        done = call(copied[0], str(tmp_path / name))
        assert done.exit_code == 2, name
        assert "unexpected" not in done.output, name


def test_records_with_their_values_are_written_only_to_the_file_that_is_asked_for(copied, tmp_path):
    real, synthetic, holdout = copied
    asked = ("--records", str(tmp_path / "found.csv"), "--out", str(tmp_path / "out"))
    done = call(real, synthetic, "--holdout", holdout, *asked)
    assert done.exit_code == 1
    listed, people = pd.read_csv(tmp_path / "found.csv"), pd.read_csv(real)
    assert len(listed) >= 60
    values = listed[people.columns]
    assert values.equals(people.iloc[listed["row"] - 1].reset_index(drop=True))
    incomes = [str(value) for value in values["income"]]
    written = "".join(
        file.read_text() for file in (tmp_path / "out").iterdir() if file.suffix in (".json", ".md", ".csv")
    )
    assert not any(income in done.stdout + written for income in incomes)
