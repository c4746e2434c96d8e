"""Membership attacks in a configuration: [membership]."""

import json

import pandas as pd
import pytest
from tests.experiments.made_configs import STUDY, line_of
from typer.testing import CliRunner

from dpassay.attacks.membership.catalogue import catalogue
from dpassay.audit.metrics.membership.result import MembershipResult
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.runs.again import report
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms.core import ConfigError


def planned(tmp_path, text, **settings):
    path = tmp_path / "study.toml"
    path.write_text(text)
    (task,) = plan_tasks(*Config.load(path, settings))
    return task


def answered(task):
    return task.answer(task.run())


def refused(tmp_path, text, **settings):
    with pytest.raises(ConfigError) as error:
        planned(tmp_path, text, **settings)
    return str(error.value)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The study, run once."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "study.toml").write_text(STUDY)
    return run(folder / "study.toml", out=folder / "out")


def test_a_study_runs_and_leaves_numbers_figures_and_a_page(done):
    result = done.result
    assert [metrics.attack for metrics in result.attacks] == ["loss", "lira(mode='offline-tail')"]
    assert (result.n_models, result.n_records, result.region) == (8, 60, None)
    assert result["loss"].auc > 0.7
    assert done.verdict is None
    assert MembershipResult.from_json((done.directory / "results.json").read_text()) == result
    table = pd.read_csv(done.directory / "results.csv")
    assert table["attack"].tolist() == [metrics.attack for metrics in result.attacks]
    assert table["tpr_at_0.01"][0] == pytest.approx(result["loss"].rate_at(0.01).tpr)
    names = {path.name for path in done.files}
    assert names >= {"membership-roc.svg", "membership-records.png", "report.html"}
    page = (done.directory / "report.html").read_text()
    assert "Who was in?" in page
    assert "No bound on epsilon follows" in page
    assert "label 0" in page
    assert "[membership]" in page


def test_another_report_changes_no_number(done, without_pixels):
    before = (done.directory / "results.json").read_bytes()
    (done.directory / "report.html").unlink()
    again = report(done.directory)
    assert (done.directory / "report.html") in again.files
    assert (done.directory / "report.html").exists()
    assert (done.directory / "results.json").read_bytes() == before


def test_the_command_prints_the_table_and_equal_seeds_give_equal_bytes(tmp_path, done, without_pictures):
    from dpassay.experiments.cli.commands import app

    (tmp_path / "study.toml").write_text(STUDY)
    shown = CliRunner().invoke(app, ["run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"), "--strict"])
    assert shown.exit_code == 0, shown.output
    assert "TPR@1 % FPR" in shown.output
    assert "No bound on epsilon follows" in shown.output
    assert (tmp_path / "out" / "results.json").read_bytes() == (done.directory / "results.json").read_bytes()


def test_a_trainer_with_a_claim_brings_the_region_that_no_attack_may_enter(tmp_path):
    private = STUDY.replace("noise_multiplier = 0.0", "noise_multiplier = 8.0").replace('clipping = "none"\n', "")
    assert planned(tmp_path, STUDY).claim is None
    result = answered(planned(tmp_path, private))
    assert result.region.claim.startswith("GaussianDP")
    json.loads(result.to_json())


def test_without_a_list_all_attacks_are_tried(tmp_path):
    task = planned(tmp_path, STUDY.replace("by_label = true\n", ""), **{"membership.attacks": ["loss"]})
    assert [metrics.attack for metrics in answered(task).attacks] == ["loss"]
    everything = "\n".join(line for line in STUDY.splitlines() if not line.startswith("attacks"))
    result = answered(planned(tmp_path, everything))
    assert len(result.attacks) + len(result.skipped) == len(catalogue.entries)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n_models = 8", "n_models = 7", "is 7. Use 8, or design = 'bernoulli'"),
        ("n_models = 8", "n_models = 1", "membership.n_models must be a whole number >= 2"),
        ("population = 50", "population = 500", "population must be at most 140"),
        (
            '"loss"',
            '"closest-record"',
            "'closest-record', which needs synthetic tables, but the mechanism trains models",
        ),
        ('mode = "offline-tail"', 'signal = "density"', "'density', which needs synthetic tables"),
        ('"loss"', '"groundhog"', "'groundhog', which needs synthetic tables"),
        ("by_label = true", 'by_attribute = "age"', "by_attribute is for synthetic tables; models have by_label"),
        ('"loss"', '"los"', "unknown membership attack 'los'. Did you mean 'loss'"),
        ("[membership]", '[attack]\nname = "loss"\n[membership]', "[attack] is for audits"),
        ("[membership]", "[sweep]\nseed = [1, 2]\n[membership]", "[sweep] is for audits"),
        ('name = "dp-sgd"\nmodel', 'name = "laplace"\nmodel', "unknown option of mechanism 'laplace'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(tmp_path, old, new, message):
    assert message in refused(tmp_path, STUDY.replace(old, new))


def test_an_error_points_at_its_line(tmp_path):
    text = STUDY.replace("n_models = 8", "n_models = 7")
    assert refused(tmp_path, text).startswith(f"{tmp_path / 'study.toml'}:{line_of(text, 'n_models')}")


def test_a_target_beyond_the_models_is_refused_before_anything_runs(tmp_path):
    text = STUDY.replace("n_models = 8", "n_models = 8\ntarget = 8")
    assert "target must be the number of a model, 0 to 7" in refused(tmp_path, text)
