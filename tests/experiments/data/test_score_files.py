"""Scores in files: what is read, and what is refused."""

import functools
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from tests.experiments.data.hostile_arrays import crafted, mutated

from dpassay.audit.evidence.scores import BitScores, PairScores
from dpassay.audit.games.coins import Coins
from dpassay.audit.trials import array_files
from dpassay.experiments.data.score_files import read_by_id, read_evidence, unit_of
from dpassay.mechanisms.core import ParameterError


@functools.cache
def crafted_files():
    return dict(crafted())


def test_every_kind_of_file_holds_the_same_scores(tmp_path):
    table = pd.DataFrame({"score": np.random.default_rng(0).laplace(size=40), "side": np.repeat([0, 1], 20)})
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


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.txt",
            "score,side\n1,0\n",
            r"must be a file that ends in .csv, .npz, .parquet, .json, but .*a.txt ends in '.txt'",
        ),
        ("a.csv", "id,loss\n1,0\n", "but has id, loss. For losses or scores of canaries .* --coins FILE"),
        ("a.csv", "value,side\n1,0\n", "must have the columns `score, side`.* but has value, side"),
        ("a.csv", "score,side,bit\n1,0,0\n", "must have the columns"),
        (
            "a.csv",
            "score,side\n1,2\n",
            r"side must be 0 or 1 \(0 without the record, 1 with it\) in every row .* but is 2 in row 1",
        ),
        ("a.csv", "score,side\n1,out\n", r"side must be 0 or 1 .* but is 'out' in row 1"),
        ("a.csv", "score;side\n1;1\n", "but has score;side. Separate the columns by commas"),
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


def read(file):
    """The evidence, or the message of the named error; anything else is raised, warnings included."""
    try:
        return read_evidence(file, prior_success=0.1 if file.name.startswith("success-") else None)
    except ParameterError as error:
        return str(error)


def test_no_hostile_file_ends_in_an_error_without_a_name(tmp_path, capsys):
    refused = 0
    for name, content in (*crafted_files().items(), *mutated(150, seed=0)):
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
        ("no-run.csv", "run must be a number in every row .* but is empty or NaN in row 1"),
    ],
)
def test_a_hostile_file_is_refused_with_what_is_wrong(name, message, tmp_path):
    (tmp_path / name).write_bytes(crafted_files()[name])
    with pytest.raises(ParameterError, match=message):
        read_evidence(tmp_path / name)


@pytest.mark.parametrize("name", ["float16.npz", "float128.npz", "big-endian.npz", "big-endian-int.npz", "honest.npz"])
def test_numbers_of_every_width_and_byte_order_are_the_same_scores(name, tmp_path):
    (tmp_path / name).write_bytes(crafted_files()[name])
    result = read_evidence(tmp_path / name)
    assert result.out.tolist() == list(range(0, 40, 2))
    assert result.in_.tolist() == list(range(1, 40, 2))


def test_an_archive_larger_than_memory_is_refused_before_reading(tmp_path, monkeypatch):
    (tmp_path / "bomb.npz").write_bytes(crafted_files()["bomb.npz"])
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


# --- JSON ------------------------------------------------------------------------------------------------------

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[3] / "docs/reference/schemas/score-file.schema.json").read_text())
)


def score_file(**changes):
    columns = {"score": [0.5, 1.5, 2.0, -1.0], "side": [0, 1, 1, 0]}
    return {"format": "dpassay.score-file", "version": 1, "unit": "a person", "columns": columns} | changes


def test_a_json_file_has_the_scores_of_a_csv(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(score_file()))
    pd.DataFrame(score_file()["columns"]).to_csv(tmp_path / "a.csv", index=False)
    read, of_csv = (read_evidence(tmp_path / name) for name in ("a.json", "a.csv"))
    assert read.out.tolist() == of_csv.out.tolist() == [0.5, -1.0]
    assert read.in_.tolist() == of_csv.in_.tolist() == [1.5, 2.0]
    assert (unit_of(tmp_path / "a.json"), unit_of(tmp_path / "a.csv")) == ("a person", "")
    assert SCHEMA.is_valid(score_file())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "scores"}, "it must be an object with"),
        ({"version": 2}, "it must be an object with"),
        ({"colums": {}}, "the unknown key 'colums'"),
        ({"columns": [1, 2]}, "columns must be an object"),
        ({"columns": {"score": 1.0, "side": 0}}, "columns must be an object"),
        ({"unit": 3}, "unit and coins must be text"),
        ({"columns": {"score": [0.5], "side": [2]}}, "side must be 0 or 1"),
        ({"columns": {"score": ["high"], "side": [1]}}, "score must be a number"),
        ({"columns": {"scores": [0.5], "side": [1]}}, "must have the columns"),
    ],
)
def test_what_the_schema_refuses_is_refused(tmp_path, changes, words):
    (tmp_path / "a.json").write_text(json.dumps(score_file(**changes)))
    assert not SCHEMA.is_valid(score_file(**changes))
    with pytest.raises(ParameterError, match=re.escape(words)):
        read_evidence(tmp_path / "a.json")


def test_columns_of_other_lengths_and_numbers_that_are_no_json_are_refused(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(score_file(columns={"score": [0.5, 1.0], "side": [1]})))
    with pytest.raises(ParameterError, match=r"must have one length, but have \[2, 1\]"):
        read_evidence(tmp_path / "a.json")
    (tmp_path / "a.json").write_text(json.dumps(score_file(columns={"score": [float("nan")], "side": [1]})))
    with pytest.raises(ParameterError, match="NaN is not valid JSON"):
        read_evidence(tmp_path / "a.json")


def test_scores_of_other_coins_are_refused(tmp_path):
    coins = Coins.toss(["a", "b"], seed=0)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(score_file(coins=coins.digest, columns={"id": ["a", "b"], "loss": [0.5, None]})))
    assert read_by_id(file, digest=coins.digest)["losses"].isna().tolist() == [False, True]
    with pytest.raises(ParameterError, match="these coins have 0"):
        read_by_id(file, digest="0")
