"""Damaged and unusual files: every command ends with a result, or with exit code 2 and a short reason."""

import io
import json
import os

import numpy as np
import pandas as pd
import pytest
from tests.audit.metrics.table_risk import made_tables as made
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.present.results.provenance import read_times

IDS = [f"c{i}" for i in range(60)]
CELLS = (
    "nan", "inf", "-inf", "1e308", "1e400", "9" * 400, "", "é漢字😀", "\x00", "\u202e", "2020-01-01", "31.12.9999",
    "0001-01-01", "99999-01-01", "true", "1_000", "[1]", "null", "-0", "18446744073709551616", "c1", "'", " 1 ", "1,5",
)  # fmt: skip


def csv(table):
    return table.to_csv(index=False).encode()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def usable():
    """Return the content of a usable file for each command."""
    rng = np.random.default_rng(0)
    loss, member = rng.normal(size=(8, 10)), rng.integers(2, size=(8, 10))
    shadows = {"model": np.repeat(np.arange(8), 10), "record": np.tile(np.arange(10), 8), "member": member.ravel()}
    lines = [{"id": i, "text": "abc", "member": i < "c3", "log_probabilities": [-1.0, -2.5]} for i in IDS]
    return {
        "risk.csv": csv(made.people(rng, 110)),
        "judge.csv": csv(pd.DataFrame({"id": IDS, "score": rng.normal(size=60)})),
        "judge.npz": npz(id=np.array(IDS), score=rng.normal(size=60)),
        "coins.csv": csv(pd.DataFrame({"id": IDS})),
        "membership.csv": csv(pd.DataFrame({**shadows, "loss": loss.ravel()})),
        "membership.npz": npz(membership=member.astype(bool), losses=loss),
        "text.jsonl": "\n".join(map(json.dumps, lines)).encode(),
    }


def flipped(content, rng):
    damaged = np.frombuffer(content, dtype=np.uint8).copy()
    damaged[rng.integers(len(damaged), size=10)] = rng.integers(256, size=10)
    return damaged.tobytes()


def damaged_bytes(content, rng):
    yield b""
    yield rng.bytes(1_000)
    yield content[: rng.integers(len(content))]
    yield flipped(content, rng)


def unusual_csv(content, rng):
    table = pd.read_csv(io.BytesIO(content), dtype=str)
    column = rng.integers(table.shape[1])
    yield csv(table.iloc[:, :1])
    yield csv(table.iloc[:1])
    yield csv(table.iloc[:0])
    yield csv(table.set_axis([table.columns[0]] * table.shape[1], axis=1))
    yield content.replace(b"\n", b",9\n", 3)
    yield content.decode().encode("utf-16")
    for entries in (rng.choice(CELLS, len(table)), rng.choice(CELLS), ["x" * 1_000_000, *table.iloc[1:, column]]):
        mixed = table.copy()
        mixed[table.columns[column]] = entries
        yield csv(mixed)


def unusual_npz(content, rng):
    arrays = dict(np.load(io.BytesIO(content)))
    for name, values in arrays.items():
        for other in (
            values[:0],
            values[..., :3],
            values[:, None],
            values.astype(str),
            np.float64(3),
            values == values,
        ):
            yield npz(**arrays | {name: other})
        for number in (np.nan, np.inf, 1e308, 1j):
            yield npz(**arrays | {name: np.full(values.shape, number)})


def unusual_jsonl(content, rng):
    first, *others = content.decode().split("\n")
    values = (None, "x", [], {}, [None], [1e400], [5.0], [-1e308] * 2, [10**400], 3, "\ud800", "x" * 1_000_000)
    for name in ("id", "text", "member", "log_probabilities", "prefix_tokens", "reference_log_probabilities"):
        value = values[rng.integers(len(values))]
        yield "\n".join([json.dumps(json.loads(first) | {name: value}), *others]).encode()
    yield "\n".join(["[" * 5_000, *others]).encode()


UNUSUAL = {"csv": unusual_csv, "npz": unusual_npz, "jsonl": unusual_jsonl}


FEW = 7
"""Each seventh file is in the fast test."""


def check_every(kind, step, tmp_path):
    rng, content = np.random.default_rng(0), usable()[kind]
    command, ending = kind.split(".")
    call = CliRunner().invoke
    (tmp_path / "ids.txt").write_text("\n".join(IDS))
    coins, real = str(tmp_path / "coins.json"), tmp_path / "real.csv"
    assert call(app, ["coins", str(tmp_path / "ids.txt"), "--out", coins, "--seed", "0"]).exit_code == 0
    real.write_bytes(csv(made.people(rng, 110)))
    files = [*damaged_bytes(content, rng), *UNUSUAL[ending](content, rng)]
    for i in range(0, len(files), step):
        file = tmp_path / f"{i}.{ending}"
        file.write_bytes(files[i])
        options = {
            "risk": [str(real), str(file)],
            "judge": [str(file), "--coins", coins, "--epsilon", "1"],
            "coins": [str(file), "--out", str(tmp_path / f"{i}.json")],
        }
        done = call(app, [command, *options.get(command, [str(file)])])
        assert done.exit_code in (0, 1, 2), (i, done.stderr[-500:])
        assert "Traceback" not in done.stderr, (i, done.stderr[-500:])
        assert done.exit_code != 2 or 0 < len(done.stderr) < 2_000, (i, len(done.stderr))


@pytest.mark.parametrize("kind", usable())
def test_files_end_with_a_result_or_a_short_reason(kind, tmp_path):
    check_every(kind, FEW, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", usable())
def test_every_file_ends_with_a_result_or_a_short_reason(kind, tmp_path):
    check_every(kind, 1, tmp_path)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_refused_and_never_waited_for(kind, tmp_path):
    file, scores = tmp_path / "file", tmp_path / "scores.csv"
    {"pipe": lambda: os.mkfifo(file), "device": lambda: file.symlink_to("/dev/zero"), "folder": file.mkdir}[kind]()
    scores.write_text("id,score\na,1\nb,2\n")
    (tmp_path / "mine.py").write_text("def release(dataset, rng):\n    return sum(dataset) + rng.laplace()\n")
    release, claim = f"{tmp_path / 'mine.py'}:release", ("--epsilon", "1")
    for words in (
        ("judge", str(scores), "--coins", str(file), *claim),
        ("check", release, "--d0", f"@{file}", "--d1", "[1]", *claim),
        ("check", release, "--d0", "[1]", "--d1", "[1, 1]", "--baseline", str(file), *claim),
        ("check", release, "--search", str(file), *claim),
        ("compare", str(file), str(file)),
    ):
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 2, words
        assert "Traceback" not in done.output


@pytest.mark.parametrize("times", ["9" * 400, "-1.0", "1e400", "NaN", '"x"', "[]"])
def test_impossible_times_of_a_run_are_unknown(times, tmp_path):
    (tmp_path / "times.json").write_text(f'{{"a": {times}, "b": 2.0}}')
    assert read_times(tmp_path).get("a") is None
