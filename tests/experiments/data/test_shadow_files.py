"""Shadow models of other code in a file, and the command that attacks them."""

import contextlib
import json

import numpy as np
import pandas as pd
import pytest
from tests.experiments.cli.hostile_arrays import crafted, mutated
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.data.shadow_files import load_shadows
from dpassay.mechanisms.core.errors import ParameterError

N_MODELS, N_RECORDS = 30, 120


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    half = rng.random((N_MODELS // 2, N_RECORDS)) < 0.5
    membership = np.stack([half, ~half], axis=1).reshape(N_MODELS, N_RECORDS)
    return {"membership": membership, "losses": rng.exponential(size=membership.shape) * np.where(membership, 0.2, 1)}


def long_table(arrays):
    model, record = np.indices(arrays["membership"].shape)
    return pd.DataFrame(
        {
            "model": model.ravel(),
            "record": [f"{i:03}" for i in record.ravel()],
            "member": arrays["membership"].ravel().astype(int),
            "loss": arrays["losses"].ravel(),
        }
    )


def test_both_kinds_of_file_hold_the_same_shadows(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    long_table(arrays).sample(frac=1.0, random_state=0).to_csv(tmp_path / "a.csv", index=False)
    npz, csv = load_shadows(tmp_path / "a.npz"), load_shadows(tmp_path / "a.csv")
    assert csv.ids[:2] == ("000", "001")
    order = [int(name) for name in sorted(map(str, range(N_MODELS)))]  # models are sorted as text
    np.testing.assert_array_equal(csv.shadows.inclusion, npz.shadows.inclusion[order])
    np.testing.assert_allclose(csv.shadows.signal("loss"), npz.shadows.signal("loss")[order], rtol=1e-12)


def test_the_command_writes_table_records_and_report(tmp_path, arrays):
    ids = np.array([f"person {i}" for i in range(N_RECORDS)])
    np.savez(tmp_path / "a.npz", **arrays, ids=ids)
    words = ["membership", str(tmp_path / "a.npz"), "--attack", "lira", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "TPR@1%FPR" in done.output
    records = pd.read_csv(tmp_path / "out" / "results.records.csv")
    assert set(records["record"]) == set(ids)
    assert records["lira: p (Holm)"].is_monotonic_increasing
    assert json.loads((tmp_path / "out" / "results.json").read_text())["n_models"] == N_MODELS
    page = (tmp_path / "out" / "report.html").read_text()
    assert "dpassay membership a.npz --attack lira" in page
    (tmp_path / "out" / "report.html").unlink()
    assert CliRunner().invoke(app, ["report", str(tmp_path / "out")]).exit_code == 0
    assert (tmp_path / "out" / "report.html").read_text() == page


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda table: table.drop(columns="member"), "must have the columns"),
        (lambda table: table.iloc[1:], "must have a row for each"),
        (lambda table: pd.concat([table, table.iloc[:1]]), "more than once"),
        (lambda table: table.assign(loss="high"), "real numbers"),
        (lambda table: table.assign(member=2), "membership"),
    ],
    ids=["no-member", "missing-row", "duplicate-row", "text", "not-a-bit"],
)
def test_tables_that_cannot_be_read_are_refused(tmp_path, arrays, change, problem):
    change(long_table(arrays)).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ParameterError, match=problem):
        load_shadows(tmp_path / "a.csv")


def test_arrays_that_are_not_there_or_unknown_are_refused(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", losses=arrays["losses"])
    with pytest.raises(ParameterError, match="must hold membership"):
        load_shadows(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", **arrays, loss=arrays["losses"])
    with pytest.raises(ParameterError, match="holds loss too"):
        load_shadows(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", **arrays, ids=np.array(["same"] * N_RECORDS))
    with pytest.raises(ParameterError, match="different"):
        load_shadows(tmp_path / "c.npz")


@pytest.mark.parametrize("name", ["a.txt", "missing.npz", "folder.npz"])
def test_other_files_are_refused(tmp_path, name):
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(ParameterError, match=name):
        load_shadows(tmp_path / name)


def test_no_hostile_file_ends_in_an_error_without_a_name(tmp_path):
    files = [*crafted(), *mutated(100, seed=1)]
    for name, content in files:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ParameterError) as caught:  # none holds membership
            load_shadows(tmp_path / name)
        assert len(str(caught.value)) < 2_000
    assert len(files) > 100


def test_damaged_shadow_files_end_in_a_named_error_or_shadows(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    long_table(arrays).head(400).to_csv(tmp_path / "a.csv", index=False)
    rng = np.random.default_rng(2)
    for kind in ("npz", "csv"):
        intact = (tmp_path / f"a.{kind}").read_bytes()
        for _ in range(100):
            damaged = bytearray(intact[: rng.integers(1, len(intact) + 1)])
            for place in rng.integers(0, len(damaged), size=rng.integers(0, 8)):
                damaged[place] = rng.integers(256)
            file = tmp_path / f"b.{kind}"
            file.write_bytes(bytes(damaged))
            with contextlib.suppress(ParameterError):
                load_shadows(file)


@pytest.mark.parametrize(
    ("head", "problem"),
    [("model,record,member,loss", "Expected 4 fields"), ("model,record,member,loss,loss", "stands twice")],
)
def test_a_csv_whose_columns_are_ambiguous_is_refused(head, problem, tmp_path):
    rows = [f"{model},{record},{(model + record) % 2},{record},7" for model in range(4) for record in range(20)]
    (tmp_path / "a.csv").write_text("\n".join([head, *rows]))
    with pytest.raises(ParameterError, match=problem):
        load_shadows(tmp_path / "a.csv")
