"""`dpassay membership` on the function of a model, and on results of other tools."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.data.shadow_files import load_records, load_shadows
from dpassay.mechanisms.core import ParameterError

MODEL = """
import numpy as np
SEEN = np.load("seen.npy")

def scores(X):
    X = np.asarray(X)
    return np.isin(X[:, 0], SEEN) + 0.1 * X[:, 1]

def fails(X):
    raise RuntimeError("no weights")

def text(X):
    return "yes"

constant = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X_train, X_test = rng.normal(size=(80, 2)), rng.normal(size=(70, 2))
    np.save("seen.npy", X_train[:, 0])
    np.savez(
        "records.npz", X_train=X_train, X_test=X_test, groups_train=np.arange(80) % 2, groups_test=np.arange(70) % 2
    )
    table = pd.DataFrame(np.concatenate([X_test, X_train]), columns=["a", "b"])
    table["member"] = (np.arange(150) >= 70).astype(int)
    table["record"] = [f"person {i}" for i in range(150)]
    table.to_csv("records.csv", index=False)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def call(*words):
    return CliRunner().invoke(app, ["membership", *words])


@pytest.mark.parametrize("file", ["records.npz", "records.csv"])
def test_a_function_in_a_file_is_called_in_a_process_of_its_own(folder, file):
    done = call(file, "--target", "model.py:scores", "--outputs", "scores", "--attack", "loss", "-v")
    assert done.exit_code == 0, done.output
    assert "Members are found, by loss" in done.output
    assert ("by group" in done.output) == (file == "records.npz")


def test_records_of_a_csv_are_members_first_under_their_ids(folder):
    records = load_records(folder / "records.csv")
    assert len(records.members) == 80
    assert records.ids[0] == "person 70"
    assert list(records.members.columns) == ["a", "b"]


def test_sets_that_differ_end_with_exit_code_2(folder):
    rng = np.random.default_rng(0)
    np.savez("shifted.npz", X_train=rng.normal(size=(80, 2)) + 2, X_test=rng.normal(size=(70, 2)))
    done = call("shifted.npz", "--target", "model.py:scores", "--outputs", "scores", "--attack", "loss")
    assert done.exit_code == 2
    assert "cannot be told" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("records.npz", "--target", "model.py:fails", "--outputs", "scores"), "no weights"),
        (("records.npz", "--target", "model.py:text", "--outputs", "scores"), "must return an array"),
        (("records.npz", "--target", "model.py:gone"), "gone"),
        (("records.npz", "--target", "model.py:scores"), "must be a pair"),
        (("records.npz",), "holds records, and no outputs of a model"),
        (("records.npz", "--reference", "model.py:scores"), "needs --target"),
        (("losses.npz", "--target", "model.py:scores"), "must hold records for the function"),
        (("model.pkl", "--target", "model.py:scores"), "np.savez"),
        (("model.pkl",), "is a pickle, which runs code"),
    ],
)
def test_bad_input_is_refused(folder, words, message):
    np.savez("losses.npz", loss_train=np.ones(20), loss_test=np.ones(20))
    (folder / "model.pkl").write_bytes(b"")
    done = call(*words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_outputs_of_one_model_without_records_say_what_was_not_tested(folder):
    rng = np.random.default_rng(0)
    losses = {"loss_train": rng.exponential(size=60), "loss_test": rng.exponential(size=50)}
    np.savez("losses.npz", **losses)
    untested = "Not tested: whether members and others differ without the model"
    assert untested in call("losses.npz", "--attack", "loss").output
    np.savez("both.npz", **losses, X_train=rng.normal(size=(60, 2)), X_test=rng.normal(size=(50, 2)))
    done = call("both.npz", "--attack", "loss")
    assert "features only" in done.output
    assert untested not in done.output


def test_results_of_other_tools_are_read(tmp_path):
    rng = np.random.default_rng(0)
    member, score = np.arange(40) < 25, rng.normal(size=40)
    np.savez(tmp_path / "lira_individual_0_instance_0.npz", member=member, score=score, label=np.zeros(40))
    content = {"true_labels": member.astype(int).tolist(), "signal_values": score.tolist(), "roc_auc": 0.5}
    (tmp_path / "a.json").write_text(json.dumps(content))
    for name in ("lira_individual_0_instance_0.npz", "a.json"):
        shadows = load_shadows(tmp_path / name).shadows
        np.testing.assert_array_equal(shadows.inclusion[0], member)
        np.testing.assert_allclose(shadows.signal("loss")[0], score)
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(ParameterError, match="result of an attack by LeakPro"):
        load_shadows(tmp_path / "b.json")
