"""`dpassay run --cluster` on Dask processes that do not have the user's files, with kills of workers and scheduler."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.experiments.made_configs import EXAMPLES, GRADIENTS, STUDY

from dpassay.audit.trials.execution import TASKS_PER_THREAD
from dpassay.experiments.runs import run
from dpassay.mechanisms.core import ClusterError, ParameterError

pytest.importorskip("distributed", reason="needs dpassay[dask]")

TRIALS, CHUNKS = 640, 32
"""Trials a side, in chunks of 20: see `plan_trials`."""
OWN = """
import os, time
import numpy as np
import my_helper

def release(dataset, rng):
    log = os.environ.get("CALLS_LOG")
    if log:
        time.sleep(0.004)
        with open(log, "a") as file:
            file.write("x")
    return my_helper.total(dataset) + rng.laplace(scale=1.0)

def of_global_state(dataset, rng):
    return my_helper.total(dataset) + np.random.laplace(scale=1.0)
"""
HELPER = "def total(dataset): return float(sum(dataset))\n"
CONFIG = f"""
seed = 5
[mechanism]
name = "my_code:release"
[claim]
name = "pure"
epsilon = 1.0
[neighbours]
d0 = [1.0, 1.0]
d1 = [1.0, 1.0, 1.0]
[audit]
trials = {TRIALS}
"""
SWEEP = '\n[sweep]\n"mechanism.name" = ["my_code:release", "my_code:of_global_state"]\n'


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A configuration with code of the user, which only the process of the run can import."""
    for name, text in {
        "my_code.py": OWN,
        "my_helper.py": HELPER,
        "one.toml": CONFIG,
        "two.toml": CONFIG + SWEEP,
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


class Cluster:
    """A scheduler and two workers, each a process of its own in an empty folder."""

    def __init__(self, folder, log):
        folder.mkdir()
        self.folder, self.log = folder, log
        self.environment = {**os.environ, "CALLS_LOG": str(log), "OMP_NUM_THREADS": "1"}
        self.processes = []
        file = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
        self.scheduler = self.start("dask_scheduler", *options)
        while not file.exists() or not file.read_text().strip():
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        options = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "20")
        self.workers = [self.start("dask_worker", self.address, *options) for _ in range(2)]

    def start(self, module, *options):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *map(str, options)]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=quiet, stderr=quiet)
        self.processes.append(process)
        return process

    def calls(self):
        return self.log.stat().st_size if self.log.exists() else 0

    def kill_after(self, process, n_calls):
        """Kill a process as soon as the workers have made so many calls; return the thread that does."""

        def kill():
            while self.calls() < n_calls:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        return thread

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path / "elsewhere", tmp_path / "calls.log")
    yield cluster
    cluster.end()


def numbers(done):
    return (done.directory / "results.json").read_bytes()


def run_own(own, config, out, **options):
    allow = [str(own / name) for name in ("my_code.py", "my_helper.py")]
    return run(own / config, out=own / out, allow=allow, **options)


def test_own_code_that_workers_do_not_have_gives_the_bytes_of_a_serial_sweep(own, cluster):
    there = run_own(own, "two.toml", "there", cluster=cluster.address)
    assert numbers(there) == numbers(run_own(own, "two.toml", "here"))
    assert cluster.calls() >= 2 * TRIALS


SECRETS = """
seed = 8
[mechanism]
name = "k-ary-randomized-response"
k = 10
[game]
name = "reconstruction"
n_rounds = 20_000
[sweep]
"mechanism.epsilon" = [0.5, 1.0]
"""
GAMES = {
    "shadows": STUDY,
    "gradients": GRADIENTS.replace("= 400", "= 60\nn_runs = 6")
    + '[sweep]\n"mechanism.noise_multiplier" = [4.0, 8.0]\n',
    "references": EXAMPLES.replace("= 30", '= 30\nn_runs = 2\nn_references = 8\n[attack]\nname = "lira"'),
    "secrets": SECRETS,
    "anytime": '[mechanism]\nname = "laplace"\nepsilon = 1.0\n[audit]\ntrials = 2000\nstop = "anytime"\n',
}


def test_every_game_gives_the_bytes_of_a_serial_run(cluster, tmp_path):
    for name, text in GAMES.items():
        (tmp_path / "game.toml").write_text(text)
        there = run(tmp_path / "game.toml", out=tmp_path / f"{name}-there", cluster=cluster.address)
        assert numbers(there) == numbers(run(tmp_path / "game.toml", out=tmp_path / f"{name}-here")), name


def test_a_cluster_that_is_not_there_is_named(own, monkeypatch):
    monkeypatch.setattr("dpassay.experiments.runs.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(ClusterError, match=r"the cluster does not answer"):
        run_own(own, "one.toml", "out", cluster="tcp://127.0.0.1:9")


def test_a_module_that_workers_lack_is_named(own, cluster):
    with pytest.raises(ClusterError, match=r"cannot import a module.*my_helper.*--allow FILE\.py"):
        run(own / "one.toml", out=own / "out", allow=[str(own / "my_code.py")], cluster=cluster.address)


def test_another_form_of_address_is_refused(own):
    with pytest.raises(ParameterError, match=r"cluster must be the address of a Dask scheduler"):
        run_own(own, "one.toml", "out", cluster="local")


def test_a_killed_worker_costs_its_chunks_only(own, cluster):
    killer = cluster.kill_after(cluster.workers[0], TRIALS // 2)
    there = run_own(own, "one.toml", "there", cluster=cluster.address)
    killer.join(1)
    assert cluster.workers[0].wait(5) == -signal.SIGKILL
    in_flight = TASKS_PER_THREAD * len(cluster.workers)
    assert 2 * TRIALS <= cluster.calls() <= 2 * TRIALS + in_flight * TRIALS // CHUNKS
    assert numbers(there) == numbers(run_own(own, "one.toml", "here"))


@pytest.mark.parametrize("n_calls", [TRIALS // 2, TRIALS], ids=["within a stage", "between two stages"])
def test_a_lost_scheduler_is_named_and_the_run_continues(own, cluster, n_calls):
    cluster.kill_after(cluster.scheduler, n_calls)
    with pytest.raises(ClusterError, match=r"does not answer.*safe: start the scheduler again"):
        run_own(own, "one.toml", "there", cluster=cluster.address)
    kept = {path: path.stat().st_mtime_ns for path in (own / "there").rglob("*.npz")}
    assert 5 < len(kept) < 2 * CHUNKS
    there = run_own(own, "one.toml", "there", cluster="local:1")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert numbers(there) == numbers(run_own(own, "one.toml", "here"))
