"""Coins for the canaries of one run, tossed and judged on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpassay.experiments.cli import app

N = 500
IDS = [f"{i:04}" for i in range(N)]


def dpassay(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture
def coins(tmp_path):
    (tmp_path / "ids.txt").write_text("\n".join(IDS))
    done = dpassay("coins", tmp_path / "ids.txt", "--out", tmp_path / "coins.json", "--seed", 0)
    assert done.exit_code == 0, done.output
    return tmp_path / "coins.json"


def losses(coins, leak):
    included = set(json.loads(coins.read_text())["included"])
    noise = np.random.default_rng(1).normal(size=N)
    return [loss - leak * (id_ in included) for id_, loss in zip(IDS, noise, strict=True)]


@pytest.mark.parametrize(("leak", "code"), [(5.0, 1), (0.0, 0)])
def test_losses_are_judged_by_their_coins(coins, leak, code):
    scores = coins.parent / "losses.csv"
    pd.DataFrame({"id": IDS, "loss": losses(coins, leak)}).sample(frac=1.0, random_state=0).to_csv(scores, index=False)
    done = dpassay("judge", scores, "--coins", coins, "--epsilon", 2, "--delta", 1e-5, "-v")
    assert done.exit_code == code, done.output
    assert "sealed in coins.json" in done.output


def test_scores_are_read_from_npz_too_and_the_report_is_written(coins):
    scores, out = coins.parent / "scores.npz", coins.parent / "out"
    np.savez(scores, id=np.array(IDS), score=-np.array(losses(coins, 5.0)))
    done = dpassay("judge", scores, "--coins", coins, "--epsilon", 2, "--delta", 1e-5, "--out", out)
    assert done.exit_code == 1, done.output
    assert "--coins" in (out / "report.html").read_text()


@pytest.mark.parametrize("column", [None, "name"])
def test_ids_come_from_a_column_as_they_are_written(tmp_path, column):
    pd.DataFrame({"name": IDS} | ({"x": 1.0} if column else {})).to_csv(tmp_path / "ids.csv", index=False)
    words = [] if column is None else ["--column", column]
    assert dpassay("coins", tmp_path / "ids.csv", "--out", tmp_path / "coins.json", *words).exit_code == 0
    assert json.loads((tmp_path / "coins.json").read_text())["order"] == IDS


def test_a_second_file_of_scores_is_a_second_look_at_the_coins(coins):
    for name, words in {"a": [], "b": [], "c": ["--looks", 2]}.items():
        scores = coins.parent / f"{name}.csv"
        pd.DataFrame({"id": IDS, "loss": np.random.default_rng(ord(name)).random(len(IDS))}).to_csv(scores, index=False)
        done = dpassay("judge", scores, "--coins", coins, "--epsilon", 2, "--delta", 1e-5, *words)
        seen = " ".join(done.output.split())
        assert ("These coins were judged before" in seen) == (name != "a")
    assert "87.5 % confidence, not 95 %" in seen
    assert "--looks is for --coins" in " ".join(dpassay("judge", scores, "--epsilon", 2, "--looks", 2).output.split())


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [(8, "cannot contradict epsilon 8 at delta 1e-5"), (1, "can contradict epsilon 1 at delta 1e-5")],
)
def test_what_the_canaries_can_show_is_stated_before_training(tmp_path, epsilon, said):
    (tmp_path / "ids.txt").write_text("\n".join(IDS))
    words = ["coins", tmp_path / "ids.txt", "--seed", 0, "--out"]
    assert dpassay(*words, tmp_path / "without.json").exit_code == 0
    done = dpassay(*words, tmp_path / "with.json", "--epsilon", epsilon, "--delta", 1e-5, "--force")
    seen = " ".join(done.output.split())
    assert said in seen
    assert ("32,2" in seen) == (epsilon == 8)  # enough canaries
    without, with_ = (json.loads((tmp_path / f"{name}.json").read_text())["included"] for name in ("without", "with"))
    assert without == with_


def test_canaries_that_can_show_nothing_write_nothing_so_that_more_can_be_tossed(tmp_path):
    out, words = tmp_path / "coins.json", ("--epsilon", 2, "--delta", 1e-5)
    (tmp_path / "few.txt").write_text("\n".join(IDS[:8]))
    (tmp_path / "many.txt").write_text("\n".join(IDS))
    few = dpassay("coins", tmp_path / "few.txt", "--out", out, *words)
    assert (few.exit_code, out.exists()) == (2, False)
    assert few.output.startswith("dpassay: 8 canaries cannot contradict epsilon 2")
    assert dpassay("coins", tmp_path / "many.txt", "--out", out, *words).exit_code == 0
    assert len(json.loads(out.read_text())["order"]) == N


def test_a_file_of_coins_is_not_overwritten(coins):
    again = dpassay("coins", coins.parent / "ids.txt", "--out", coins)
    assert again.exit_code == 2
    assert "must not exist" in again.output


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"score": [1.0]}, "must have the column id"),
        ({"id": ["0000"], "loss": [1.0], "score": [1.0]}, "one of score"),
        ({"id": ["0000"], "loss": ["low"]}, "loss must be a number"),
        ({"id": ["9999"], "loss": [1.0]}, "'9999' has none"),
        ({"id": ["0000"], "loss": [1.0]}, "at least half"),
    ],
)
def test_files_that_do_not_fit_the_coins_are_refused(coins, table, problem):
    pd.DataFrame(table).to_csv(coins.parent / "bad.csv", index=False)
    done = dpassay("judge", coins.parent / "bad.csv", "--coins", coins, "--epsilon", 1)
    assert done.exit_code == 2
    assert problem in " ".join(done.output.split())


def test_ids_without_a_name_or_file_are_refused(tmp_path):
    (tmp_path / "ids.txt").write_text("a\n\nb")
    done = dpassay("coins", tmp_path / "ids.txt", "--out", tmp_path / "coins.json")
    assert (done.exit_code, "row 2 is empty" in done.output) == (2, True)
    assert dpassay("coins", tmp_path / "none.txt", "--out", tmp_path / "coins.json").exit_code == 2
