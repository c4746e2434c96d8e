"""Files that earlier versions wrote stay readable: `saved/VERSION/` holds a few of each, which nothing changes."""

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dpassay.audit.games.coins import Coins
from dpassay.audit.metrics.membership.result import MembershipResult
from dpassay.audit.metrics.table_risk.result import RiskResult
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.search.result import SearchResult
from dpassay.audit.trials.store import TrialStore
from dpassay.experiments.ci.checked import CheckedClaims
from dpassay.experiments.ci.comparison import compare
from dpassay.experiments.ci.saved_runs import load
from dpassay.experiments.cli.commands import app
from dpassay.experiments.present.results.sweep import SweepResult

SAVED = Path(__file__).parent / "saved"
VERSIONS = sorted(folder.name for folder in SAVED.iterdir())
FILES = {
    "run/results.json": (SweepResult, ["consistent", "consistent"]),
    "check.json": (AuditResult, ["consistent"]),
    "judged.json": (AuditResult, ["violation"]),
    "session.json": (CheckedClaims, ["consistent"]),
}


@pytest.fixture(params=VERSIONS)
def saved(request, tmp_path):
    """A copy of the files of a version."""
    return Path(shutil.copytree(SAVED / request.param, tmp_path / request.param))


def test_this_version_has_saved_files():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["version"] in VERSIONS


@pytest.mark.parametrize("name", FILES)
def test_verdicts_of_earlier_versions_are_read(saved, name):
    kind, verdicts = FILES[name]
    checked = load(saved / name).checked
    assert [claim.verdict.value for claim in checked.claims] == verdicts
    assert kind.from_json((saved / name).read_text())
    assert compare(checked, checked).failures == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("search.json", SearchResult), ("membership.json", MembershipResult), ("risk.json", RiskResult)],
)
def test_other_results_of_earlier_versions_are_read(saved, name, kind):
    assert kind.from_json((saved / name).read_text()).summary()


def test_runs_of_earlier_versions_are_reported_again(saved, one_picture, without_pixels):
    """The configuration still has the fingerprint of the numbers, whatever keys were added since."""
    before = SweepResult.from_json((saved / "run" / "results.json").read_text())
    done = CliRunner().invoke(app, ["report", str(saved / "run")])
    assert done.exit_code == 0, done.output
    assert before.text().headline in done.stdout
    assert (saved / "run" / "report.html").stat().st_size > 1000
    assert SweepResult.from_json((saved / "run" / "results.json").read_text()) == before


def test_trials_of_earlier_versions_are_read(saved):
    """The counts of the saved audit are those of the stored scores."""
    (folder,) = (saved / "run" / "trials").iterdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    with TrialStore(folder, {k: v for k, v in manifest.items() if k != "fingerprint"}, warn=pytest.fail) as store:
        out, in_ = (store.load(f"evaluation-{side}-000000")["scores"] for side in (0, 1))
    tally = SweepResult.from_json((saved / "run" / "results.json").read_text()).points[-1].result.tally
    for scores, hits in ((out, tally.hits_out), (in_, tally.hits_in)):
        assert np.array_equal(hits, [(scores >= threshold).sum() for threshold in tally.thresholds])


def test_coins_of_earlier_versions_judge_the_same_scores(saved):
    coins = Coins.load(saved / "coins.json")
    assert len(coins.ids) == 40
    options = ("--coins", saved / "coins.json", "--epsilon", 1, "--json", saved / "again.json")
    done = CliRunner().invoke(app, ["judge", str(saved / "scores.csv"), *map(str, options)])
    assert done.exit_code == 1, done.output
    again, first = (AuditResult.from_json((saved / name).read_text()) for name in ("again.json", "judged.json"))
    assert (again.claim, again.verdict, again.bound.method) == (first.claim, first.verdict, first.bound.method)
    assert again.bound.epsilon > first.bound.epsilon  # the two bounds of 0.1.0 divided the significance
    assert again.warnings == first.warnings  # the same question again is no further look
