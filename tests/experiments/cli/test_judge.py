"""A claim against scores that lie in a file."""

import functools
import html
import json
import os
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from tests.experiments.cli.hostile_arrays import crafted, mutated
from typer.testing import CliRunner

from dpassay.audit.evidence.scores import BitScores, PairScores, Successes
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.trials import array_files
from dpassay.experiments.cli import app
from dpassay.experiments.cli.judge import read_evidence
from dpassay.experiments.report.results.sweep import SweepResult
from dpassay.mechanisms.core.errors import ParameterError

pytestmark = pytest.mark.usefixtures("without_pixels")


def pair(n=600, shift=2.0):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"score": rng.laplace(size=2 * n) + shift * np.repeat([0, 1], n), "side": np.repeat([0, 1], n)})


@functools.cache
def files_of_tricks():
    return dict(crafted())


def judge(*words):
    return CliRunner().invoke(app, ["judge", *map(str, words)])


def test_a_file_of_a_pair_gives_exit_code_table_and_assumption(tmp_path):
    file, kept = tmp_path / "scores.csv", tmp_path / "result.json"
    pair().to_csv(file, index=False)
    refuted = judge(file, "--epsilon", 0.5, "--confidence", 0.95, "--json", kept)
    assert refuted.exit_code == 1, refuted.output
    assert "VIOLATION" in refuted.output
    assert "valid only if each row is an independent run" in refuted.output
    assert AuditResult.from_json(kept.read_text()).attack == "scores in scores.csv"
    assert judge(file, "--epsilon", 4, "--confidence", 0.95).exit_code == 0


def test_every_kind_of_file_holds_the_same_scores(tmp_path):
    table = pair(20)
    table.to_csv(tmp_path / "a.csv", index=False)
    np.savez(tmp_path / "a.npz", **{name: table[name].to_numpy() for name in table})
    results = [read_evidence(tmp_path / name) for name in ("a.csv", "a.npz")]
    for one in results:
        assert isinstance(one, PairScores)
        np.testing.assert_allclose(one.out, table["score"][:20], rtol=1e-15)
        np.testing.assert_allclose(one.in_, table["score"][20:], rtol=1e-15)


def test_bits_are_one_run_or_rows_of_runs_in_any_order(tmp_path):
    rows = [(r, c, (r + c) % 2, 10.0 * r + c) for r in range(2) for c in range(3)]
    table = pd.DataFrame(rows, columns=["run", "canary", "bit", "score"])
    table.iloc[::-1].to_csv(tmp_path / "many.csv", index=False)
    many = read_evidence(tmp_path / "many.csv")
    assert isinstance(many, BitScores)
    assert many.scores.tolist() == [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]
    assert many.bits.tolist() == [[False, True, False], [True, False, True]]
    table[["bit", "score"]].to_csv(tmp_path / "one.csv", index=False)
    assert read_evidence(tmp_path / "one.csv").bits.shape == (1, 6)


def test_successes_need_what_a_guess_is_worth_without_the_output(tmp_path):
    file = tmp_path / "guesses.csv"
    pd.DataFrame({"success": [1] * 60 + [0] * 40}).to_csv(file, index=False)
    assert read_evidence(file, prior_success=0.1) == Successes(60, 100, 0.1)
    assert judge(file, "--epsilon", 1, "--prior-success", 0.1, "--confidence", 0.95).exit_code == 1
    with pytest.raises(ParameterError, match="--prior-success is required"):
        read_evidence(file)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "score,side\n1,0\n", r"must be a .csv, .npz, .parquet file, but ends in '.txt'"),
        ("a.csv", "id,loss\n1,0\n", "but has id, loss. For losses or scores of canaries .* --coins FILE"),
        ("a.csv", "value,side\n1,0\n", "must have the columns `score, side`.* but has value, side"),
        ("a.csv", "score,side,bit\n1,0,0\n", "must have the columns"),
        ("a.csv", "score,side\n1,2\n", "side must be 0 or 1 in every row .* but is 2 in row 1"),
        ("a.csv", "score,side\n1,out\n", "side must be 0 or 1 in every row .* but is 'out' in row 1"),
        ("a.csv", "score,side\n1,0\nx,1\n", "score must be a number in every row .* but is 'x' in row 2"),
        ("a.csv", "score,side\n", "and rows, but has none"),
        ("a.csv", "", "cannot be read as csv"),
        ("a.npz", "no archive", "cannot be read as npz"),
        ("a.csv", "run,canary,bit,score\n0,a,1,1\n0,a,0,1\n", "one row for each canary in each run"),
        ("a.csv", "run,bit,score\n0,1,1\n0,0,1\n1,1,1\n", "equally many rows in each run"),
    ],
)
def test_what_is_no_evidence_is_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_evidence(tmp_path / name)


def test_a_missing_file_and_pickled_arrays_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read: No such file"):
        read_evidence(tmp_path / "none.csv")
    np.savez(tmp_path / "a.npz", score=np.array([{}], dtype=object), side=np.array([0]))
    with pytest.raises(ParameterError, match="cannot be read as npz"):
        read_evidence(tmp_path / "a.npz")


def test_parquet_without_pyarrow_is_refused_with_what_to_do(tmp_path, monkeypatch):
    """Whether pyarrow is installed here or not: it is made to be missing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    file = tmp_path / "scores.parquet"
    file.write_bytes(b"PAR1")
    refused = judge(file, "--epsilon", 1)
    assert refused.exit_code != 0
    with pytest.raises(ParameterError, match=r"scores.parquet is Parquet, which needs pyarrow: pip install pyarrow"):
        read_evidence(file)


# --- a directory of its own -------------------------------------------------------------------------------------------


def rows(kind):
    """A file of each kind of evidence, with what the command line needs to know of it."""
    rng = np.random.default_rng(1)
    if kind == "success":
        return pd.DataFrame({"success": [1] * 60 + [0] * 40}), ("--prior-success", 0.1)
    if kind == "side":
        return pair(200), ()
    bits = rng.integers(0, 2, 300)
    return pd.DataFrame({"score": rng.normal(size=300) + bits, "bit": bits}), ()


@pytest.mark.parametrize(
    ("kind", "figures", "said"),
    [
        (
            "side",
            {"bound-claim", "bound-claim-narrow", "audit-01-tradeoff", "audit-01-profile", "audit-01-scores"},
            "two datasets",
        ),
        (
            "bit",
            {"bound-claim", "bound-claim-narrow", "audit-01-tradeoff", "audit-01-scores"},
            "a coin was tossed for each of many canaries",
        ),
        ("success", {"bound-claim", "bound-claim-narrow", "audit-01-success"}, "a new secret was drawn"),
    ],
)
def test_out_holds_numbers_figures_and_a_report_for_every_kind_of_evidence(kind, figures, said, tmp_path):
    file, out = tmp_path / "my scores.csv", tmp_path / "out"
    table, words = rows(kind)
    table.to_csv(file, index=False)
    words = ("--epsilon", 4, "--delta", 1e-5, "--confidence", 0.95, *words)
    done = judge(file, *words, "--out", out, "--json", tmp_path / "a")
    assert done.exit_code == 0, done.output
    assert {path.stem for path in (out / "figures").glob("*.svg")} == figures
    kept = SweepResult.from_json((out / "results.json").read_text())
    assert kept.points[0].result == AuditResult.from_json((tmp_path / "a").read_text())
    assert (out / "results.csv").read_text().count("\n") == 2
    page, summary = ((out / name).read_text() for name in ("report.html", "report.md"))
    assert "Scores in my scores.csv" in summary
    assert said in page
    assert ("two datasets that differ" in page) == (kind == "side")
    assert "This cannot be verified from the file." in page
    assert "by construction" not in page
    command = page.split("<code>dpassay judge ")[1].split("</code>")[0]
    named, *options = shlex.split(html.unescape(command))
    assert judge(tmp_path / named, *options, "--out", tmp_path / "b").exit_code == 0
    assert (tmp_path / "b" / "results.json").read_bytes() == (out / "results.json").read_bytes()


def test_every_form_of_the_result_states_the_condition_before_the_bound(tmp_path, one_picture):
    """Rows of one model, renamed to canaries: 800 in, 1,000 out."""
    rng = np.random.default_rng(0)
    bits = rng.permutation(1_800) < 800
    file, out = tmp_path / "rows.csv", tmp_path / "out"
    pd.DataFrame({"score": rng.normal(size=1_800) + bits, "bit": bits.astype(int)}).to_csv(file, index=False)
    words = (file, "--epsilon", 4, "--delta", 1e-5)
    refused = judge(*words)
    assert refused.exit_code == 2
    assert "800 of 1,800 are 1" in " ".join(refused.output.split())
    done = judge(*words, "--tossed", "--out", out, "--markdown", tmp_path / "a.md")
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(app, ["report", str(out)])
    texts = [done.output, again.output, (tmp_path / "a.md").read_text()]
    texts += [html.unescape((out / name).read_text()) for name in ("report.html", "report.md", "card.md")]
    for text in texts:
        one_line = " ".join(text.split())
        assert "independent fair coin, tossed before its run" in one_line
        assert "--tossed" not in one_line.split("independent fair coin")[0]
        bound = min(
            one_line.find(sign)
            for sign in ("epsilon >= ", "ε ≥", "epsilon at least", "lower bound")
            if sign in one_line
        )
        assert one_line.index("independent fair coin") < bound
    assert "--tossed" in html.unescape((out / "report.html").read_text())


def test_the_statement_on_coins_is_for_bits(tmp_path):
    pair().to_csv(tmp_path / "a.csv", index=False)
    assert "for the column bit" in " ".join(judge(tmp_path / "a.csv", "--epsilon", 4, "--tossed").output.split())


def test_report_draws_the_pages_of_judged_scores_again(tmp_path, one_picture, without_power):
    file, out = tmp_path / "scores.csv", tmp_path / "out"
    pair(200).to_csv(file, index=False)
    assert judge(file, "--epsilon", 4, "--out", out).exit_code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    for name in ("report.html", "report.md", "card.md"):
        (out / name).unlink()
    done = CliRunner().invoke(app, ["report", str(out)])
    assert (done.exit_code, "Scores in scores.csv" in done.output) == (0, True), done.output
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    for text in ("title = 'no command'\n", "command = 5\n"):
        (out / "judged.toml").write_text(text)
        damaged = CliRunner().invoke(app, ["report", str(out)])
        assert (damaged.exit_code, "judged.toml is damaged" in " ".join(damaged.output.split())) == (2, True)


def test_report_keeps_the_versions_that_made_the_numbers(tmp_path, one_picture, without_power):
    file, out = tmp_path / "scores.csv", tmp_path / "out"
    pair(200).to_csv(file, index=False)
    assert judge(file, "--epsilon", 4, "--out", out).exit_code == 0
    record = json.loads((out / "environment.json").read_text())
    record["versions"]["numpy"] = "1.99.7"
    (out / "environment.json").write_text(json.dumps(record))
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
    assert "1.99.7" in (out / "card.json").read_text()


def test_out_accepts_the_same_request_again_and_no_other_folder(tmp_path, one_picture, without_power):
    file, out = tmp_path / "scores.csv", tmp_path / "out"
    pair(200).to_csv(file, index=False)
    assert judge(file, "--epsilon", 4, "--out", out).exit_code == 0
    (out / "report.html").unlink()
    assert judge(file, "--epsilon", 4, "--out", out).exit_code == 0
    assert (out / "report.html").exists()
    other = judge(file, "--epsilon", 5, "--out", out)
    assert other.exit_code == 2
    assert "or the same with other options: see judged.toml in it" in " ".join(other.output.split())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    foreign = judge(file, "--epsilon", 4, "--out", tmp_path / "mine")
    assert foreign.exit_code == 2
    assert "not empty (found thesis.txt)" in " ".join(foreign.output.split())
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_the_default_confidence_is_one_that_the_kind_of_evidence_can_give(tmp_path):
    """At 1 - 1e-6 and delta 1e-5 no number of canaries shows anything: bits are judged at 0.95."""
    bits = np.arange(1_000) % 2
    pd.DataFrame({"score": bits, "bit": bits}).to_csv(tmp_path / "bits.csv", index=False)
    judged = judge(tmp_path / "bits.csv", "--epsilon", 8, "--delta", 1e-5, "--json", tmp_path / "bits.json")
    result = AuditResult.from_json((tmp_path / "bits.json").read_text())
    assert (judged.exit_code, result.verdict.value, result.confidence) == (0, "underpowered", 0.95)
    assert round(result.ceiling, 2) == 4.73
    assert "could contradict the claim with 31,625 canaries in all" in " ".join(judged.output.split())
    assert judge(tmp_path / "bits.csv", "--epsilon", 8, "--delta", 1e-5, "--strict").exit_code == 3
    assert judge(tmp_path / "bits.csv", "--epsilon", 2, "--delta", 1e-5).exit_code == 1
    table, words = rows("success")
    for frame, more in ((pair(200), ()), (table, words)):
        frame.to_csv(tmp_path / "a.csv", index=False)
        judge(tmp_path / "a.csv", "--epsilon", 1, *more, "--json", tmp_path / "a.json")
        assert AuditResult.from_json((tmp_path / "a.json").read_text()).confidence == 1 - 1e-6


# --- files of other people --------------------------------------------------------------------------------------------


def read(file):
    """The evidence, or the message of the named error; anything else is raised, warnings included."""
    try:
        return read_evidence(file, prior_success=0.1 if file.name.startswith("success-") else None)
    except ParameterError as error:
        return str(error)


def test_no_hostile_file_ends_in_an_error_without_a_name(tmp_path, capsys):
    refused = 0
    for name, content in (*files_of_tricks().items(), *mutated(150, seed=0)):
        (tmp_path / name).write_bytes(content)
        results = read(tmp_path / name)
        if isinstance(results, str):
            refused += 1
            assert name in results
            assert len(results) < 2_000
    assert refused > 200
    assert "unpickled" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("7-tib.npz", "has the shape .* takes 8.0 TiB, but holds 320 bytes"),
        ("2^70.npz", "has the shape .*, but holds 320 bytes"),
        ("complex.npz", "must hold real numbers .* its dtype is complex128"),
        ("structured.npz", "must hold real numbers"),
        ("objects.npz", "must hold real numbers"),
        ("text-0.npz", "must hold real numbers"),
        ("flags-1.npz", "is encrypted"),
        ("claimed-method-99.npz", "is compressed by method 99"),
        ("nested.npz", "has a header of 10,000 bytes"),
        ("descr-deep.npz", "has a header that cannot be read"),
        ("not-an-array.npz", "'score.txt', which is not an array"),
        ("two-of-one-name.npz", "two arrays with the same name"),
        ("bool-2.npz", "holds bytes other than 0 and 1"),
        ("complex.csv", r"score must be a number in every row .* but is '1\+2j' in row 1"),
        ("no-run.csv", "run must be a number in every row .* but is nan in row 1"),
    ],
)
def test_a_hostile_file_is_refused_with_what_is_wrong(name, message, tmp_path):
    (tmp_path / name).write_bytes(files_of_tricks()[name])
    with pytest.raises(ParameterError, match=message):
        read_evidence(tmp_path / name)


@pytest.mark.parametrize("name", ["float16.npz", "float128.npz", "big-endian.npz", "big-endian-int.npz", "honest.npz"])
def test_numbers_of_every_width_and_byte_order_are_the_same_scores(name, tmp_path):
    (tmp_path / name).write_bytes(files_of_tricks()[name])
    result = read_evidence(tmp_path / name)
    assert result.out.tolist() == list(range(0, 40, 2))
    assert result.in_.tolist() == list(range(1, 40, 2))


def test_an_archive_larger_than_memory_is_refused_before_reading(tmp_path, monkeypatch):
    (tmp_path / "bomb.npz").write_bytes(files_of_tricks()["bomb.npz"])
    monkeypatch.setattr(array_files, "available_memory", lambda: 2**20)
    with pytest.raises(ParameterError, match=r"its arrays take 38\.1 MiB, but 1\.0 MiB of memory are available"):
        read_evidence(tmp_path / "bomb.npz")


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_a_file_beyond_the_memory_is_refused_before_it_is_read(ending, tmp_path):
    file = tmp_path / f"scores.{ending}"
    file.write_bytes(b"score,side\n")
    os.truncate(file, 2**43)  # 8 TiB of nothing
    with pytest.raises(ParameterError, match=r"it takes 8\.0 TiB, but .* of memory are available"):
        read_evidence(file)


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_what_is_no_regular_file_is_refused_at_once(ending, tmp_path):
    pipe, folder = tmp_path / f"pipe.{ending}", tmp_path / f"folder.{ending}"
    os.mkfifo(pipe)
    folder.mkdir()
    for file in (pipe, folder):
        with pytest.raises(ParameterError, match="not a regular file"):
            read_evidence(file)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(4) * 1j,
        [1 + 2j, 2.0, 3.0, 4.0],
        [[1.0], [2.0], [3.0], [4.0]],
        [{}, 1, 2, 3],
        [None, 1.0, 2.0, 3.0],
        pd.array([1, None, 2, 3], dtype="Int64"),
        pd.date_range("2020", periods=4),
        pd.Categorical(["a", "b", "a", "b"]),
    ],
)
def test_columns_of_parquet_that_are_no_numbers_are_refused(values, tmp_path, monkeypatch):
    """pandas reads Parquet; here it is made to return what a file may hold."""
    file = tmp_path / "scores.parquet"
    file.write_bytes(b"PAR1")
    honest = {"score": [1.0, 2.0, 3.0, 4.0], "bit": [0, 1, 0, 1], "run": [0, 0, 1, 1], "canary": [0, 1, 0, 1]}
    for column in ("score", "bit"):
        table = pd.DataFrame(honest | {column: values})
        monkeypatch.setattr(pd, "read_parquet", lambda _, table=table: table)
        with pytest.raises(ParameterError, match=f"{column} must be"):
            read_evidence(file)


def test_parquet_columns_of_half_precision_and_nullable_types_are_read(tmp_path, monkeypatch):
    file = tmp_path / "scores.parquet"
    file.write_bytes(b"PAR1")
    honest = {
        "score": np.array([1, 2, 3, 4], dtype=np.float16),
        "bit": pd.array([0, 1, 0, 1], dtype="Int8"),
        "run": np.array([0, 0, 1, 1], dtype=np.float16),
        "canary": pd.Categorical(["a", "b", "a", "b"]),
    }
    monkeypatch.setattr(pd, "read_parquet", lambda _: pd.DataFrame(honest))
    assert read_evidence(file).scores.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_scores_of_a_pair_that_are_equal_inverted_or_of_one_side_are_reported(tmp_path):
    file, table = tmp_path / "scores.csv", pair()
    table.assign(score=1.0).to_csv(file, index=False)
    assert "scores are 1, so that they show nothing" in " ".join(judge(file, "--epsilon", 1).output.split())
    table.assign(score=-table["score"]).to_csv(file, index=False)
    assert judge(file, "--epsilon", 0.2).exit_code == 1  # the pilot finds the direction
    inverted = judge(file, "--epsilon", 0.2, "--bound", "simultaneous-band")
    assert (inverted.exit_code, "Runs on side 1 have lower scores" in " ".join(inverted.output.split())) == (2, True)
    table.assign(side=1).to_csv(file, index=False)
    refused = judge(file, "--epsilon", 1)
    assert (refused.exit_code, "out must hold scores of runs on side 0" in refused.output) == (2, True)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("score,side,score\n1,0,7\n2,1,8\n", "'score' stands twice"),
        ("score,side\n7,1,0\n8,2,1\n", "Expected 2 fields"),
        ("id,loss\nc1,0.5,\nc2,0.25,\n", "Expected 2 fields"),
    ],
)
def test_a_csv_whose_columns_are_ambiguous_is_refused(content, problem, tmp_path):
    (tmp_path / "scores.csv").write_text(content)
    with pytest.raises(ParameterError, match=problem):
        read_evidence(tmp_path / "scores.csv")
