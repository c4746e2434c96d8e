"""Membership runs and one-run games, killed, interrupted, damaged and continued: the same results.json."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import tomllib

import pytest
from tests.experiments.made_configs import EXAMPLES, GRADIENTS, STUDY
from typer.testing import CliRunner

from dpassay.audit.power.power import Detectable
from dpassay.audit.trials.store import TrialStore
from dpassay.experiments.cli.commands import app
from dpassay.experiments.runs import runner as runs
from dpassay.mechanisms.core import ConfigError
from dpassay.mechanisms.learning.dp_sgd import DPSGD

STUDIES = STUDY.replace("n_models = 8", "n_models = 16").replace(', { name = "lira", mode = "offline-tail" }', "")
REFERENCES = EXAMPLES.replace(
    "n_canaries = 30", 'n_canaries = 30\nn_runs = 2\nn_references = 8\n[attack]\nname = "lira"'
)
GRADIENT_CANARIES = GRADIENTS.replace("n_canaries = 400", "n_canaries = 400\nn_runs = 8")
CONFIGS = {"shadow-models": (STUDIES, 16), "references": (REFERENCES, 10), "gradient-canaries": (GRADIENT_CANARIES, 8)}

KILLER = textwrap.dedent(
    """
    import json, os, random, signal, sys
    from pathlib import Path
    from dpassay.audit.trials import store
    import dpassay.audit.power.power
    from dpassay.experiments.runs import runner as runs
    from dpassay.mechanisms.learning.dp_sgd.training import Trainer
    from dpassay.audit.power.power import Detectable

    runs.write_results = lambda result, heading, home, **_: home.write("results.json", result.to_json()) or []
    dpassay.audit.power.power.detectable_in_bits = lambda *given, **options: Detectable(1.0, None)
    real = {"fsync": os.fsync, "replace": Path.replace, "step": Trainer.add_noise}

    def child(what, fuse, config, out, n_jobs):
        left = [fuse]

        def burning(function):
            def burn(*given, **options):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*given, **options)

            return burn

        if what == "disk":
            store.os.fsync, Path.replace = burning(real["fsync"]), burning(real["replace"])
        elif what == "training":
            Trainer.add_noise = burning(real["step"])
        runs.run(config, out=out, n_jobs=n_jobs)
        os._exit(0)

    def forked(*given):
        pid = os.fork()
        if pid == 0:
            child(*given)
        return os.waitpid(pid, 0)[1]

    def kills(config, whole, out, n_jobs):
        runs.run(config, out=whole)  # everything is imported before the first fork
        found, dice = 0, random.Random(3)
        while found < 3 and not (out / "results.json").exists():
            fuse = dice.choice([("disk", dice.randint(1, 12)), ("training", dice.randint(1, 40))])
            found += os.WIFSIGNALED(forked(*fuse, config, out, n_jobs))
        assert forked("", 0, config, out, n_jobs) == 0
        return found

    places = [(name, [Path(name) / place for place in ("planned.toml", "whole", "killed")]) for name in sys.argv[1::2]]
    print(json.dumps([kills(*paths, int(n)) for (_, paths), n in zip(places, sys.argv[2::2], strict=True)]))
    """
)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Each configuration, killed and continued: how often it was killed, and the folder of the runs."""
    folders = {name: tmp_path_factory.mktemp(name) for name in CONFIGS}
    words = []
    for name, (text, n_models) in CONFIGS.items():
        (folders[name] / "planned.toml").write_text(text)
        words += [str(folders[name]), str(2 if n_models == 16 else 1)]
    done = subprocess.run([sys.executable, "-c", KILLER, *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return dict(zip(CONFIGS, zip(json.loads(done.stdout), folders.values(), strict=True), strict=True))


@pytest.fixture(params=sorted(CONFIGS))
def planned(request, tmp_path):
    """A configuration on disk, and how many models it trains."""
    text, n_models = CONFIGS[request.param]
    (tmp_path / "planned.toml").write_text(text)
    return tmp_path / "planned.toml", n_models


@pytest.fixture
def numbers_only(monkeypatch):
    """Runs without figures, reports and power, which take longer than all of the training."""
    monkeypatch.setattr("dpassay.audit.power.power.detectable_in_bits", lambda *given, **options: Detectable(1.0, None))
    write = lambda result, heading, home, **_: home.write("results.json", result.to_json()) or []  # noqa: E731
    monkeypatch.setattr(runs, "write_results", write)


@pytest.fixture
def trained(monkeypatch):
    """How many models each call trained."""
    sizes = []
    final, release = DPSGD.fit_subsets, DPSGD.release_subsets
    monkeypatch.setattr(DPSGD, "fit_subsets", lambda *given: sizes.append(len(given[2])) or final(*given))
    monkeypatch.setattr(DPSGD, "release_subsets", lambda *given: sizes.append(len(given[2])) or release(*given))
    return sizes


def numbers(config, out, **options):
    runs.run(config, out=out, **options)
    return (out / "results.json").read_bytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked children")
@pytest.mark.parametrize("name", CONFIGS)
def test_killed_at_random_points_and_continued_gives_the_same_numbers(killed, name):
    kills, folder = killed[name]
    assert kills >= 3, "the test killed almost nothing"
    whole, continued = ((folder / place / "results.json").read_bytes() for place in ("whole", "killed"))
    assert continued == whole


def test_what_was_finished_when_a_run_is_interrupted_is_kept(tmp_path, numbers_only, trained, monkeypatch, planned):
    config, n_models = planned
    expected = numbers(config, tmp_path / "whole")
    assert sum(trained) == n_models
    saved, save = [], TrialStore.save

    def interrupting(self, key, arrays):
        save(self, key, arrays)
        saved.append(key)
        if len(saved) == 3:
            signal.raise_signal(signal.SIGINT)

    trained.clear()
    monkeypatch.setattr(TrialStore, "save", interrupting)
    done = CliRunner().invoke(app, ["run", str(config), "--out", str(tmp_path / "out")])
    assert done.exit_code == 130
    assert "Finished trials are saved: the same command continues from there." in done.output
    begun = sum(trained)
    trained.clear()
    assert numbers(config, tmp_path / "out") == expected
    assert sum(trained) == n_models - begun > 0


def test_workers_change_no_number(tmp_path, numbers_only, planned):
    config, _ = planned
    assert numbers(config, tmp_path / "serial") == numbers(config, tmp_path / "parallel", n_jobs=2)


def test_a_damaged_chunk_is_trained_again_and_reported(tmp_path, numbers_only, trained, capsys, planned):
    config, n_models = planned
    expected = numbers(config, tmp_path / "out")
    victim = sorted((tmp_path / "out" / "trials").glob("*/chunks/*.npz"))[2]
    victim.write_bytes(victim.read_bytes()[:-9])
    (tmp_path / "out" / "results.json").unlink()  # with it the run is finished, and its trials are not read
    trained.clear()
    assert numbers(config, tmp_path / "out") == expected
    assert 0 < sum(trained) < n_models / 2
    assert f"chunk {victim.stem}" in capsys.readouterr().err


def test_progress_is_shown_of_every_model(tmp_path, numbers_only, monkeypatch, planned):
    config, n_models = planned
    received = []

    class Bar:
        def __init__(self, name=""):
            received.append(name)

        def start(self, stage, total):
            received.append((stage, total))

        def advance(self, n, note=""):
            received.append(n)

        def message(self, text):
            raise AssertionError(text)

        def close(self):
            received.append("closed")

    monkeypatch.setattr(runs, "ProgressBar", Bar)
    numbers(config, tmp_path / "out", progress=True)
    name, start, *steps, last = received
    assert name.strip()
    assert start == ("training", n_models)
    assert sum(steps) == n_models
    assert len(steps) >= 8
    assert last == "closed"


def test_the_resolved_config_holds_what_is_read_and_nothing_else(tmp_path, numbers_only):
    (tmp_path / "study.toml").write_text(STUDY)
    numbers(tmp_path / "study.toml", tmp_path / "study")
    result = tomllib.loads((tmp_path / "study" / "config.toml").read_text())
    assert list(result) == ["title", "description", "seed", "data", "mechanism", "membership", "audit"]
    assert result["audit"] == {"confidence": 0.95}
    (tmp_path / "game.toml").write_text(GRADIENTS)
    numbers(tmp_path / "game.toml", tmp_path / "game")
    result = tomllib.loads((tmp_path / "game" / "config.toml").read_text())
    assert result["audit"] == {"delta": 1e-5, "confidence": 0.95, "bounds": ["auto"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{STUDY}[audit]\ntrials = 50", "audit.trials is for audits"),
        (f"{STUDY}[audit]\nbounds = ['betting']", "audit.bounds is for audits"),
        (f"{GRADIENTS}trials = 50\n", r"\[audit\] trials is not used in the game 'one-run'"),
    ],
)
def test_keys_that_nothing_would_read_are_refused_at_their_line(tmp_path, text, message):
    (tmp_path / "planned.toml").write_text(text)
    line = len(text.rstrip().splitlines())
    with pytest.raises(ConfigError, match=f"planned.toml:{line}.*{message}"):
        runs.run(tmp_path / "planned.toml", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_summary_in_markdown_holds_the_answer_the_table_and_the_groups(tmp_path, without_pixels):
    (tmp_path / "study.toml").write_text(STUDY.replace("Who was in?", "Who | was in?"))
    done = runs.run(tmp_path / "study.toml", out=tmp_path / "out")
    assert tmp_path / "out" / "report.md" in done.files
    lines = (tmp_path / "out" / "report.md").read_text().splitlines()
    assert lines[0] == "## loss finds 100 % of the members at 1 % false positives: Who \\| was in?"
    assert "not bounds on epsilon" in lines[2]
    tables = [line for line in lines if line.startswith("|")]
    heads = [place for place, line in enumerate(lines) if line.startswith("| :--")]
    assert len(heads) == 2
    assert {line.count("|") for line in tables} == {lines[place].count("|") for place in heads}
    assert lines[heads[0] - 1].startswith("| attack | AUC | TPR@10 % FPR")
    assert {line.split(" | ")[0] for line in lines[heads[0] + 1 : heads[0] + 3]} == {
        "| loss",
        "| lira(mode='offline-tail')",
    }
    assert any(line.startswith("| label 0 |") for line in lines[heads[1] :])
    assert {"- mechanism: dp-sgd", "- seed: 3"} <= set(lines)
    assert lines[-1] == "Full report: `report.html`."
