"""A claim against scores that lie in a file."""

import html
import json
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpassay.audit.evidence.scores import Successes
from dpassay.audit.results.audit_result import AuditResult
from dpassay.experiments.cli import app
from dpassay.experiments.data.score_files import read_evidence
from dpassay.experiments.present.results.sweep import SweepResult
from dpassay.mechanisms.core import ParameterError

pytestmark = pytest.mark.usefixtures("without_pixels")


def pair(n=600, shift=2.0):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"score": rng.laplace(size=2 * n) + shift * np.repeat([0, 1], n), "side": np.repeat([0, 1], n)})


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


def test_successes_need_what_a_guess_is_worth_without_the_output(tmp_path):
    file = tmp_path / "guesses.csv"
    pd.DataFrame({"success": [1] * 60 + [0] * 40}).to_csv(file, index=False)
    assert read_evidence(file, prior_success=0.1) == Successes(60, 100, 0.1)
    assert judge(file, "--epsilon", 1, "--prior-success", 0.1, "--confidence", 0.95).exit_code == 1
    with pytest.raises(ParameterError, match="--prior-success is required"):
        read_evidence(file)


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
    texts += [html.unescape((out / name).read_text()) for name in ("report.html", "report.md", "card.md", "card.html")]
    for text in texts:
        one_line = " ".join(text.split())
        assert "independent fair coin, tossed before its run" in one_line
        assert "--tossed" not in one_line.split("independent fair coin")[0]
        signs = ("epsilon >= ", "epsilon ≥", "ε ≥", "epsilon at least", "lower bound")
        bound = min((one_line.find(sign) for sign in signs if sign in one_line), default=len(one_line))
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
    for name in ("report.html", "report.md", "card.md", "card.html"):
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
    assert round(result.ceiling, 2) == 4.71
    assert "could contradict the claim with 32,250 canaries in all" in " ".join(judged.output.split())
    assert judge(tmp_path / "bits.csv", "--epsilon", 8, "--delta", 1e-5, "--strict").exit_code == 3
    assert judge(tmp_path / "bits.csv", "--epsilon", 2, "--delta", 1e-5).exit_code == 1
    table, words = rows("success")
    for frame, more in ((pair(200), ()), (table, words)):
        frame.to_csv(tmp_path / "a.csv", index=False)
        judge(tmp_path / "a.csv", "--epsilon", 1, *more, "--json", tmp_path / "a.json")
        assert AuditResult.from_json((tmp_path / "a.json").read_text()).confidence == 1 - 1e-6


def test_the_kind_of_guesses_is_an_option_for_canaries(tmp_path, without_power):
    """Records that are released verbatim, and other scores of 0."""
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, 1_000)
    score = bits * (rng.random(1_000) < 0.1)
    file, kept = tmp_path / "a.csv", tmp_path / "a.json"
    pd.DataFrame({"score": score, "bit": bits}).to_csv(file, index=False)
    bounds = {}
    for words in ((), ("--negatives", 0), ("--negatives", 0.5), ("--negatives", 0, "--bound", "one-run")):
        assert judge(file, "--epsilon", 4, "--delta", 1e-5, *words, "--json", kept).exit_code == 0
        result = AuditResult.from_json(kept.read_text())
        assert len(result.bounds) == (1 if "--bound" in words else 2)
        bounds[words] = result.bound.epsilon
    default, in_only, in_and_out, named = bounds.values()
    assert in_and_out + 1.0 < default < in_only < default + 0.3
    assert named == pytest.approx(in_only, rel=0.01)
    pair(200).to_csv(file, index=False)
    refused = judge(file, "--epsilon", 4, "--negatives", 0)
    assert (refused.exit_code, "--negatives is for canaries" in refused.output) == (2, True), refused.output
    out_of_range = judge(file, "--epsilon", 4, "--negatives", 2)
    assert (out_of_range.exit_code, "--negatives must lie in [0, 1]" in out_of_range.output) == (2, True)


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
