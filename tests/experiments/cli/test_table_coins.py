"""Coins for the units of a table, tossed and judged on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.audit.metrics.table_risk import made_tables as made
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.runs.verification import verify

N = 300


def dpassay(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, " ".join(done.output.split())


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return the folder of a table and its coins, by row."""
    monkeypatch.chdir(tmp_path)
    people = made.people(np.random.default_rng(0), N)
    people.loc[::50, "bmi"] = np.nan
    people["note"] = np.where(np.arange(N) % 9 == 0, '="a, b"', "x")
    people.to_csv("people.csv", index=False)
    code, seen = dpassay(*toss("--seed", 0, "--epsilon", 1))
    assert code == 0, seen
    assert "can contradict epsilon 1 at delta 0" in seen
    assert "risk real.csv SYNTHETIC.csv --holdout holdout.csv --coins coins.json --epsilon 1.0" in seen
    return tmp_path


def toss(*words, out="coins.json", real="real.csv", holdout="holdout.csv"):
    return ("coins", "people.csv", "--out", out, "--real", real, "--holdout", holdout, *words)


def judge(*words):
    return dpassay("risk", "real.csv", "synthetic.csv", "--holdout", "holdout.csv", *words)


def synthesise(n_copies, seed=1):
    rows = made.people(np.random.default_rng(seed), N // 2).assign(note="x")
    rows["born"] = rows["born"].dt.strftime("%Y-%m-%d")
    real = pd.read_csv("real.csv", dtype=str)
    pd.concat([real[:n_copies], rows.astype(str)[n_copies:]]).to_csv("synthetic.csv", index=False)


def test_the_table_is_split_by_the_coins(files):
    coins = json.loads((files / "coins.json").read_text())
    people = pd.read_csv("people.csv", dtype=str)
    for name, chosen in (("real", "included"), ("holdout", "excluded")):
        rows = [int(id_.split()[1]) - 1 for id_ in coins[chosen]]
        assert pd.read_csv(f"{name}.csv", dtype=str).equals(people.iloc[sorted(rows)].reset_index(drop=True))


@pytest.mark.parametrize(("n_copies", "code"), [(0, 0), (50, 1)])
def test_a_claim_is_judged_and_the_run_is_verified(files, n_copies, code):
    synthesise(n_copies)
    attacks = ("--attack", "membership", "--attack", "copies")
    found, seen = judge("--coins", "coins.json", "--epsilon", 1, *attacks, "--out", "out")
    assert found == code, seen
    assert "97.5 % confidence" in seen
    for folder in ("audit", "risk"):
        assert verify(files / "out" / folder, files=files).agrees
    assert dpassay("card", "out/audit")[0] == code
    assert "The unit is one record." in (files / "out" / "audit" / "card.md").read_text()
    assert "no evidence card" in dpassay("card", "out/risk")[1]
    page = (files / "out" / "report.md").read_text()
    assert "epsilon" in page
    assert "singled out" in page


def test_accounts_are_units(files):
    people = pd.read_csv("people.csv", dtype=str).assign(account=np.arange(N) // 3 + 5)
    people.to_csv("people.csv", index=False)
    words = {"out": "units.json", "real": "of_units.csv", "holdout": "others.csv"}
    assert dpassay(*toss("--unit", "account", "--seed", 1, **words))[0] == 0
    real, others = pd.read_csv("of_units.csv"), pd.read_csv("others.csv")
    assert not set(real["account"]) & set(others["account"])
    assert len(real) + len(others) == N
    synthesise(0)
    call = ("risk", "of_units.csv", "synthetic.csv", "--holdout", "others.csv", "--coins", "units.json", "--epsilon", 1)
    assert dpassay(*call, "--unit", "account", "--out", "out")[0] == 0
    assert "The unit is all records of one account." in (files / "out" / "audit" / "card.md").read_text()
    assert dpassay(*call)[1].startswith("dpassay: --unit must name the column")


def test_what_does_not_fit_exits_with_2_and_the_reason(files):
    synthesise(0)
    coins = ("--coins", "coins.json")
    assert "--epsilon is required with --coins" in judge(*coins)[1]
    assert "--epsilon need --coins" in judge("--epsilon", 1)[1]
    assert "tossed for single rows" in judge(*coins, "--epsilon", 1, "--unit", "place")[1]
    other = dpassay("risk", "holdout.csv", "synthetic.csv", "--holdout", "real.csv", *coins, "--epsilon", 1)
    assert (other[0], "real must have the records of all units that the coins included" in other[1]) == (2, True)
    assert "holdout must be given" in dpassay("risk", "real.csv", "synthetic.csv", *coins, "--epsilon", 1)[1]
    assert "unknown attack" in judge(*coins, "--epsilon", 1, "--attack", "copied")[1].lower()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (toss(), "out must be a new file"),
        (toss(out="new.json"), "real must be a new file"),
        (toss(out="new.json", real="new.csv", holdout="new.csv"), "must be three files or folders"),
        (toss(out="new.json", real="new.csv", holdout="other.json"), "holdout must end in .csv"),
        (toss("--column", "age", out="new.json", real="new.csv", holdout="other.csv"), "--column is for a list"),
        (toss("--unit", "bmi", out="new.json", real="new.csv", holdout="other.csv"), "must have an entry of bmi"),
        (toss("--epsilon", 9, out="new.json", real="new.csv", holdout="other.csv"), "cannot contradict epsilon 9"),
        (("coins", "people.csv", "--out", "new.json", "--unit", "place"), "are used together"),
    ],
)
def test_a_toss_that_does_not_fit_writes_nothing(files, words, problem):
    before = {path: path.read_bytes() for path in files.iterdir()}
    code, seen = dpassay(*words)
    assert code == 2
    assert problem in seen
    assert {path: path.read_bytes() for path in files.iterdir()} == before
