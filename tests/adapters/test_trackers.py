"""Audits in MLflow and Weights & Biases, with their stores of files, and in the metadata of a model card."""

import json
from dataclasses import replace

import pytest

from dpassay import Laplace, audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.results.withheld import without_values
from dpassay.experiments import sweep
from dpassay.integrations.tracking import NUMBERS, model_index, numbers
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.noise.broken import LaplaceInverseScale

mlflow = pytest.importorskip("mlflow")
wandb = pytest.importorskip("wandb")

from dpassay.integrations import mlflow as of_mlflow, wandb as of_wandb  # noqa: E402 - they need the libraries

pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("FutureWarning", "DeprecationWarning")]


@pytest.fixture(scope="module")
def result():
    return audit(LaplaceInverseScale(epsilon=0.5), trials=2_000, seed=0)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of MLflow in files; returns the folder of its artifacts."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    artifacts = tmp_path / "files"
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("audits", artifact_location=f"file://{artifacts}"))
    return artifacts


def test_mlflow_keeps_bound_verdict_and_evidence(result, store):
    with mlflow.start_run() as run:
        of_mlflow.log_audit(result)
    kept = mlflow.get_run(run.info.run_id)
    assert kept.data.metrics["dpassay.epsilon_lower_bound"] == pytest.approx(result.bound.epsilon)
    assert set(kept.data.metrics) == set(numbers(result))
    assert kept.data.tags["dpassay.verdict"] == "violation"
    (file,) = store.rglob("audit.json")
    assert AuditResult.from_json(file.read_text()).to_json() == without_values(result).to_json()
    assert result.deciding.outputs1 != ()


def test_mlflow_keeps_the_folder_of_a_run(store, tmp_path):
    done = sweep(lambda epsilon: Laplace(epsilon=epsilon), {"epsilon": [1.0]}, out=tmp_path / "run", trials=200)
    with mlflow.start_run():
        of_mlflow.log_audit(done.result.points[0].result, tmp_path / "run")
    names = {path.name for path in store.glob("**/dpassay/*")}
    assert {"card.html", "report.html", "statement.json"} <= names


def test_wandb_keeps_bound_verdict_and_evidence_offline(result, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(project="audits", mode="offline", dir=str(tmp_path))
    of_wandb.log_audit(result)
    assert run.summary["dpassay.epsilon_lower_bound"] == pytest.approx(result.bound.epsilon)
    assert run.summary["dpassay.verdict"] == "violation"
    run.finish()
    assert any(tmp_path.rglob("*.wandb"))
    with pytest.raises(ParameterError, match=r"call wandb\.init"):
        of_wandb.log_audit(result)


def test_a_folder_that_is_none_is_refused(result, tmp_path):
    with pytest.raises(ParameterError, match="must be the folder of a run"):
        of_mlflow.log_audit(result, tmp_path / "none")


def test_the_metadata_of_a_model_card_are_read_by_the_hub(result):
    from huggingface_hub.repocard_data import model_index_to_eval_results

    entry = model_index(result, name="model", task="text-generation", dataset="mails")
    name, (read,) = model_index_to_eval_results([json.loads(json.dumps(entry))])
    assert (name, read.task_type, read.dataset_name) == ("model", "text-generation", "mails")
    assert (read.metric_type, read.metric_value) == ("epsilon-lower-bound", result.bound.epsilon)
    assert "violation" in read.metric_name


def test_dependent_trials_have_no_bound(result):
    dependent = replace(result, verdict=Verdict.DEPENDENT, dependence="a reason")
    assert set(numbers(dependent)) == {"dpassay.claim", "dpassay.delta", "dpassay.confidence"}
    with pytest.raises(ParameterError, match="its trials are not independent"):
        model_index(dependent, name="model", task="other", dataset="mails")


def test_numbers_that_are_infinite_are_left_out(result):
    assert set(numbers(result)) <= {f"dpassay.{name}" for name in NUMBERS}
    assert len(numbers(result)) >= 5
