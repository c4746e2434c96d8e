"""[data] shadows: a config attacks shadow models that other code trained."""

import json
import tomllib

import numpy as np
import pytest
from tests.experiments.made_configs import line_of
from typer.testing import CliRunner

from dpassay.audit.trials.plan import Slice
from dpassay.experiments.cli import app
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.runs.again import card, report
from dpassay.experiments.runs.runner import run
from dpassay.experiments.runs.slices import run_slice
from dpassay.mechanisms.core import ConfigError, FingerprintError

TRAINED = """\
title = "Whose records?"
[data]
shadows = "models.npz"
fair = true
[membership]
attacks = ["loss", { name = "lira", variance = "record" }]
[audit]
confidence = 0.9
"""


def save(file, seed=0):
    rng = np.random.default_rng(seed)
    half = rng.random((8, 90)) < 0.5
    membership = np.stack([half, ~half], axis=1).reshape(16, 90)
    losses = rng.exponential(size=membership.shape) * np.where(membership, 0.3, 1.0)
    np.savez(file, membership=membership, losses=losses, ids=[f"person {i}" for i in range(90)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which dpassay runs: relative paths start here, as those of tables."""
    monkeypatch.chdir(tmp_path)
    save("models.npz")
    (tmp_path / "study.toml").write_text(TRAINED)
    return tmp_path


def refused(folder, text):
    (folder / "study.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        plan_tasks(*Config.load("study.toml"))
    return str(error.value)


def test_a_run_has_the_numbers_and_records_of_the_command(folder, without_pictures):
    done = run("study.toml", out="out")
    assert [metrics.attack for metrics in done.result.attacks] == ["loss", "lira(variance='record')"]
    words = ["membership", "models.npz", "--attack", "loss", "--fair", "--confidence", "0.9", "--out", "by-hand"]
    assert CliRunner().invoke(app, words).exit_code == 0
    run("study.toml", out="alone", settings={"membership.attacks": ["loss"]})
    for name in ("results.json", "results.csv", "results.records.csv"):
        assert (folder / "alone" / name).read_bytes() == (folder / "by-hand" / name).read_bytes()
    assert "person 17" in (folder / "out" / "results.records.csv").read_text()
    names = {path.name for path in (folder / "out").iterdir()}
    assert names >= {"results.json", "results.csv", "card.json", "card.md", "card.html", "registry.yaml", "results.tex"}
    content = tomllib.loads((folder / "out" / "config.toml").read_text())["data"]["sha256"]
    environment = json.loads((folder / "out" / "environment.json").read_text())
    assert environment["sessions"][-1]["inputs"] == {"models.npz": content}
    assert f"models.npz | {content}" in (folder / "out" / "card.md").read_text().replace("`", "")


def test_the_report_names_the_file(folder):
    page = (run("study.toml", out="out").directory / "report.html").read_text()
    assert (folder / "out" / "report.md").exists()
    assert "models.npz" in page
    assert "Whose records?" in page


def test_the_same_file_gives_the_same_bytes_and_a_changed_one_is_refused(folder, without_pictures):
    numbers = (run("study.toml", out="out").directory / "results.json").read_bytes()
    assert (run("study.toml", out="out").directory / "results.json").read_bytes() == numbers
    save("models.npz", seed=1)
    with pytest.raises(FingerprintError, match="sha256"):
        run("study.toml", out="out")
    assert (folder / "out" / "results.json").read_bytes() == numbers
    (folder / "resolved.toml").write_text((folder / "out" / "config.toml").read_text())
    with pytest.raises(ConfigError, match=r"resolved\.toml:\d+: \[data\] sha256 must be that of models\.npz"):
        run("resolved.toml", out="again")


def test_reports_and_cards_need_the_file_no_longer(folder, without_pictures):
    run("study.toml", out="out")
    (folder / "models.npz").unlink()
    assert report("out").result["loss"].auc > 0.5
    assert card("out")[1].result["loss"].auc > 0.5


def test_the_resolved_configuration_has_used_keys_only_and_loads_as_itself(folder):
    (folder / "study.toml").write_text('[data]\nshadows = "models.npz"\n[membership]\n')
    config, _ = Config.load("study.toml")
    assert set(config.resolved()) == {"title", "description", "unit", "seed", "data", "membership", "audit"}
    assert set(config.resolved()["data"]) == {"shadows", "sha256"}
    (folder / "again.toml").write_text(config.to_toml())
    assert Config.load("again.toml")[0] == config


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("models.npz", "lost.npz", "shadows", "'lost.npz', which cannot be read: No such file"),
        ("models.npz", "study.toml", "shadows", "must be a file that ends in .npz, .csv"),
        ('shadows = "models.npz"', "shadows = 3", "shadows", "data.shadows must be the name of a file"),
        ("fair = true", "fair = 1", "fair", "data.fair must be true"),
        ("fair = true", 'sha256 = "abc"', "sha256", "data.sha256 must be the SHA-256"),
        ("fair = true", "n_records = 3", "n_records", "data.n_records is not used with data.shadows"),
        ("fair = true", 'name = "digits"', "name", "data.name is not used with data.shadows"),
        ('shadows = "models.npz"', 'name = "digits"', "fair", "data.fair describes the file of data.shadows"),
        ("[membership]", '[mechanism]\nname = "laplace"\n[membership]', "[mechanism]", "has trained ones"),
        ("attacks =", "n_models = 8\nattacks =", "n_models", "membership.n_models is for models that are trained here"),
        ("attacks =", "atacks = 8\nattacks =", "atacks", "unknown key of [membership] 'atacks'"),
        ('"loss"', '"los"', "attacks", "unknown membership attack 'los'"),
        ('"loss"', '"density"', "attacks", "needs synthetic tables"),
    ],
)
def test_errors_have_line_and_key(folder, old, new, key, message):
    text = TRAINED.replace(old, new)
    shown = refused(folder, text)
    assert message in shown
    assert shown.startswith(f"study.toml:{line_of(text, key)}:"), shown


def test_without_membership_the_file_is_refused(folder):
    assert "add [membership]" in refused(folder, TRAINED[: TRAINED.index("[membership]")])


def test_attacks_that_these_models_do_not_allow_are_named_with_the_line(folder):
    text = TRAINED.replace('"loss"', '"gradient-norm"')
    (folder / "study.toml").write_text(text)
    with pytest.raises(ConfigError, match=rf"study\.toml:{line_of(text, 'attacks')}: .*gradient-norm"):
        run("study.toml", out="out")


def test_a_target_and_rows_of_models_are_keys(folder, without_pictures):
    named = TRAINED.replace("[membership]", "[membership]\ntarget = 3\nper_model = true")
    (folder / "study.toml").write_text(named)
    done = run("study.toml", out="out").result
    assert (done.target, len(done.attacks[0].models)) == ("3", 1)
    assert done.attacks[0].n_in + done.attacks[0].n_out == 90


def test_a_target_that_is_no_model_is_refused_at_its_line(folder):
    (folder / "study.toml").write_text(TRAINED.replace("[membership]", '[membership]\ntarget = "other"'))
    with pytest.raises(ConfigError, match="target must be one of the 16 models") as error:
        run("study.toml", out="out")
    assert "6" in str(error.value)


def test_references_without_the_records_serve_attacks_given_by_name(folder, without_pictures):
    membership = np.zeros((5, 90), dtype=bool)
    membership[2, ::2] = True
    scores = np.random.default_rng(0).normal(size=(5, 90)) + 2.0 * membership
    np.savez("models.npz", keep=membership, scores=scores)
    text = TRAINED.replace("fair = true", 'signal = "margin"')
    (folder / "study.toml").write_text(text.replace('{ name = "lira", variance = "record" }', '"lira"'))
    done = run("study.toml", out="out").result
    assert done.target == "2"
    assert [m.attack for m in done.attacks] == ["threshold on margin", "lira on margin(mode='offline-tail')"]


def test_trained_models_have_no_slices(folder):
    with pytest.raises(ConfigError, match=r"study\.toml:2: \[data\] has shadow models that are trained already: run"):
        run_slice("study.toml", Slice(1, 2), out="slice")
    assert not (folder / "slice").exists()
