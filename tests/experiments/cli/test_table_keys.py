"""Several tables joined by keys, on the command line, with the file and the commands of docs/how-to/risk.md."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.audit.metrics.table_risk import made_tables as made
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.runs.verification import verify

PAGE = (Path(__file__).parents[3] / "docs/how-to/risk.md").read_text()
SECTION = PAGE.partition("## Several tables joined by keys")[2].partition("\n## ")[0]


def dpassay(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, " ".join(done.output.split())


def write(folder, tables):
    folder.mkdir()
    for name, table in tables.items():
        more = {"note": "x", "shop": np.arange(len(table)) % 3} if name == "orders" else {}
        table.assign(**more).to_csv(folder / f"{name}.csv", index=False)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return the folder of the keys on the page, of three sides, and of a clean table."""
    monkeypatch.chdir(tmp_path)
    (keys,) = re.findall(r"```toml\n(.*?)```", SECTION, flags=re.DOTALL)
    (tmp_path / "keys.toml").write_text(keys)
    rng = np.random.default_rng(0)
    real = made.shop(rng, 200)
    write(tmp_path / "real", real)
    write(tmp_path / "holdout", made.shop(rng, 200, first=10**6))
    write(tmp_path / "synthetic", made.copied_relations(rng, real, 0.2))
    write(tmp_path / "clean", made.shop(rng, 200))
    return tmp_path


def test_the_command_on_the_page_finds_copied_relations(files):
    (line,) = re.findall(r"```sh\ndpassay (.*?)\n```", SECTION)
    words = shlex.split(line)
    code, seen = dpassay(*words, "--records", "found.csv")
    assert code == 1
    assert "relation: orders" in seen
    assert "of the real units (customer)" in seen
    assert verify(files / "risk", files=files).agrees
    assert "--keys keys.toml" in (files / "risk" / "report.html").read_text()
    listed, people = pd.read_csv("found.csv"), pd.read_csv("real/customers.csv")
    assert listed["customer"].tolist() == people["customer"].iloc[listed["row"] - 1].tolist()
    assert "orders shop: most frequent" in listed
    assert not [name for name in listed if "note" in name]


def test_clean_tables_exit_with_0(files):
    secret = ("--secret", "orders amount: mean", "--ignore", "place")
    code, seen = dpassay("risk", "real", "clean", "--holdout", "holdout", "--keys", "keys.toml", *secret, "-v")
    assert code == 0, seen
    assert "inferred: orders amount: mean" in seen


def test_persons_have_coins_in_all_tables(files):
    words = ("coins", "real", "--keys", "keys.toml", "--out", "coins.json", "--seed", 0)
    code, seen = dpassay(*words, "--real", "in", "--holdout", "ex", "--epsilon", 1)
    assert code == 0, seen
    assert "risk in SYNTHETIC --holdout ex --coins coins.json --keys keys.toml --epsilon 1.0" in seen
    inside, outside = (pd.read_csv(f"{folder}/orders.csv") for folder in ("in", "ex"))
    assert len(inside) + len(outside) == len(pd.read_csv("real/orders.csv"))
    assert set(inside["customer"]) <= set(pd.read_csv("in/customers.csv")["customer"])
    judge = ("risk", "in", "clean", "--holdout", "ex", "--coins", "coins.json", "--keys", "keys.toml", "--epsilon", 1)
    assert dpassay(*judge, "--out", "out")[0] == 0
    assert "The unit is all records of one customer." in (files / "out" / "audit" / "card.md").read_text()
    assert dpassay("risk", "in", "in", *judge[3:])[0] == 2
    copied = Path("copied")
    copied.mkdir()
    for name in ("customers", "orders", "items"):
        (copied / f"{name}.csv").write_bytes(Path(f"in/{name}.csv").read_bytes())
    assert dpassay("risk", "in", "copied", *judge[3:])[0] == 1


def test_what_does_not_fit_exits_with_2_and_the_reason(files):
    judge, keys = ("risk", "real", "clean", "--holdout", "holdout"), ("--keys", "keys.toml")
    assert "--unit must be left out with --keys" in dpassay(*judge, *keys, "--unit", "place")[1]
    assert "cannot be read as TOML" in dpassay(*judge, "--keys", "none.toml")[1]
    toss = ("coins", "real", *keys, "--out", "new.json", "--real", "in")
    assert "real must be a new folder" in dpassay(*toss[:-1], "clean", "--holdout", "ex")[1]
    assert "--unit must be left out" in dpassay(*toss, "--holdout", "ex", "--unit", "place")[1]
    (files / "clean" / "items.csv").rename(files / "clean" / "item.csv")
    code, seen = dpassay(*judge, *keys)
    assert (code, "folder with one file of the table items" in seen) == (2, True)
    (files / "clean" / "item.csv").rename(files / "clean" / "items.csv")
    orders = pd.read_csv("clean/orders.csv")
    orders[5:].to_csv("clean/orders.csv", index=False)
    code, seen = dpassay(*judge, *keys)
    assert (code, "items of synthetic must refer to rows of orders" in seen) == (2, True), seen
