"""Shadow models of other code in a file, and the command that attacks them."""

import contextlib
import json

import numpy as np
import pandas as pd
import pytest
from tests.experiments.data.hostile_arrays import crafted, mutated
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.data.shadow_files import load_shadows
from dpassay.mechanisms.core import ParameterError

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


def test_the_command_writes_table_records_and_report(tmp_path, arrays, without_pixels):
    ids = np.array([f"person {i}" for i in range(N_RECORDS)])
    np.savez(tmp_path / "a.npz", **arrays, ids=ids)
    words = ["membership", str(tmp_path / "a.npz"), "--attack", "lira", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "TPR@1 % FPR" in done.output
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


def test_files_of_lira_are_read(tmp_path, arrays):
    scores = -np.log(np.expm1(arrays["losses"]))  # log p - log(1 - p)
    np.savez(tmp_path / "lira.npz", keep=arrays["membership"], scores=scores)
    np.savez(tmp_path / "named.npz", keep=arrays["membership"], rescaled_logits=scores)
    raw, named = load_shadows(tmp_path / "lira.npz"), load_shadows(tmp_path / "named.npz")
    signal = load_shadows(tmp_path / "lira.npz", signal="rescaled-logit")
    np.testing.assert_array_equal(raw.shadows.inclusion, arrays["membership"])
    np.testing.assert_array_equal(named.shadows.signal("rescaled-logit"), scores)
    np.testing.assert_array_equal(signal.shadows.signal("loss"), named.shadows.signal("loss"))


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("loss_train", "loss_test", "loss"),
        ("train_losses", "test_losses", "loss"),
        ("member_scores", "nonmember_scores", "loss"),
        ("rescaled_logits_in", "rescaled_logits_out", "rescaled-logit"),
        ("members_probabilities", "non_members_probabilities", "confidence"),
    ],
)
def test_members_and_non_members_of_one_model_may_be_two_arrays(tmp_path, first, second, kind):
    rng = np.random.default_rng(0)
    members, others = rng.random(70), rng.random(40)
    np.savez(tmp_path / "a.npz", **{first: members, second: others})
    shadows = load_shadows(tmp_path / "a.npz").shadows
    assert shadows.inclusion.tolist() == [[True] * 70 + [False] * 40]
    sign = -1.0 if "loss" in first else 1.0
    np.testing.assert_allclose(shadows.signal(kind)[0], sign * np.concatenate([members, others]))


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"token_logprobs": np.zeros(3)}, "dpassay text FILE"),
        ({"loss_train": np.zeros(3)}, "must hold membership"),
        ({"loss_train": np.zeros(3), "loss_test": np.zeros((3, 2))}, "one shape after the first axis"),
        (
            {"loss_train": np.zeros(3), "loss_test": np.zeros(3), "labels_in": np.zeros(2), "labels_out": np.zeros(3)},
            "one length each",
        ),
        ({"losses": np.zeros(3)}, "loss_train and loss_test"),
    ],
)
def test_arrays_that_cannot_be_joined_are_refused(tmp_path, held, words):
    np.savez(tmp_path / "a.npz", **held)
    with pytest.raises(ParameterError, match=words):
        load_shadows(tmp_path / "a.npz")


@pytest.mark.parametrize("column", ["score", "loss", "probability", "log_probability", "rescaled_logit"])
def test_a_csv_of_one_model_needs_neither_model_nor_record(tmp_path, arrays, column):
    losses, member = arrays["losses"][0], arrays["membership"][0].astype(int)
    values = {"loss": losses, "probability": np.exp(-losses), "rescaled_logit": -np.log(np.expm1(losses))}
    table = pd.DataFrame({column: values.get(column, -losses), "member": member})
    table.to_csv(tmp_path / "a.csv", index=False)
    named = load_shadows(tmp_path / "a.csv")
    np.testing.assert_array_equal(named.shadows.inclusion[0], member == 1)
    np.testing.assert_allclose(named.shadows.signal("loss")[0], -losses, rtol=1e-6)
    assert (named.ids[5], named.models) == ("005", ("0",))


def test_a_csv_of_models_without_records_is_refused(tmp_path, arrays):
    long_table(arrays).drop(columns="record").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ParameterError, match="must have the columns model, record, member"):
        load_shadows(tmp_path / "a.csv")


def test_the_command_measures_a_named_target(tmp_path, arrays):
    table = long_table(arrays)
    table["model"] = [f"run {model}" for model in table["model"]]
    table.to_csv(tmp_path / "a.csv", index=False)
    words = ["membership", str(tmp_path / "a.csv"), "--attack", "loss", "--json", str(tmp_path / "a.json")]
    done = CliRunner().invoke(app, [*words, "--target", "run 7", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "model run 7 is the target" in done.output
    saved = json.loads((tmp_path / "a.json").read_text())
    assert (saved["target"], saved["attacks"][0]["n_in"]) == ("run 7", int(arrays["membership"][7].sum()))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "--target &#39;run 7&#39;" in page
    refused = CliRunner().invoke(app, [*words, "--target", "run 99"])
    assert refused.exit_code == 2
    assert "target must be one of the 30 models" in refused.output


def test_the_command_shows_each_model_on_request(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays, models=[f"run-{i}" for i in range(N_MODELS)])
    words = ["membership", str(tmp_path / "a.npz"), "--attack", "loss", "--per-model", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "loss, by model" in done.output
    assert "run-29" in done.output
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert len(saved["attacks"][0]["models"]) == N_MODELS
    assert "loss, by model" in (tmp_path / "out" / "report.html").read_text()
