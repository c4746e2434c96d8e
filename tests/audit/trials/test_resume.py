"""Serial, parallel, killed and resumed, damaged and repaired: always the same bytes."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dpassay.audit import audit
from dpassay.audit.trials import execution
from dpassay.mechanisms import Laplace, Neighbours, PureDP

QUESTION = {"trials": 30_000, "seed": 11}

KILLER = textwrap.dedent(
    """
    import os, random, signal, sys
    from pathlib import Path
    from dpassay.audit import audit
    from dpassay.audit.trials import store
    from dpassay.mechanisms import Laplace

    directory, out = Path(sys.argv[1]), Path(sys.argv[2])
    dice = random.Random(int(sys.argv[3]))
    real_fsync, real_replace = os.fsync, Path.replace

    def child(n_jobs, fuse, seconds=0.0):
        # dies at the fuse-th burn, or after this many seconds of its own work, however busy the machine is
        signal.setitimer(signal.ITIMER_PROF, seconds)
        left = [fuse]

        def burn():
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def fsync(descriptor):
            burn()
            real_fsync(descriptor)

        def replace(path, target):
            burn()
            result = real_replace(path, target)
            burn()
            return result

        if fuse:
            store.os.fsync, Path.replace = fsync, replace
        result = audit(Laplace(epsilon=1.0), trials=30_000, seed=11, store=directory, n_jobs=n_jobs)
        out.with_suffix(".new").write_text(result.to_json())
        out.with_suffix(".new").rename(out)
        os._exit(0)

    kills = 0
    while kills < 10 and not out.exists():
        by_timer = dice.random() < 0.3
        end = {"fuse": 0, "seconds": dice.uniform(1e-3, 0.03)} if by_timer else {"fuse": dice.randint(1, 24)}
        pid = os.fork()
        if pid == 0:
            child(1 + kills % 2, **end)
        _, status = os.waitpid(pid, 0)
        kills += os.WIFSIGNALED(status)
    if not out.exists():
        pid = os.fork()
        if pid == 0:
            child(2, 0)
        os.waitpid(pid, 0)
    print(kills)
    """
)


@pytest.fixture(scope="module")
def expected():
    return audit(Laplace(epsilon=1.0), **QUESTION).to_json()


@pytest.mark.parametrize("dice", [1, *(pytest.param(more, marks=pytest.mark.slow) for more in (2, 3))])
def test_killed_at_random_points_and_resumed_gives_the_same_bytes(tmp_path, expected, dice):
    """By one worker and by two in turn."""
    out = tmp_path / "result.json"
    command = [sys.executable, "-c", KILLER, str(tmp_path / "trials"), str(out), str(dice)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert int(done.stdout) >= 5, "the test killed almost nothing"
    assert out.read_text() == expected


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_workers_does_not_change_the_bytes(expected, n_jobs):
    assert audit(Laplace(epsilon=1.0), **QUESTION, n_jobs=n_jobs).to_json() == expected


def test_a_finished_store_is_read_not_run_again(tmp_path, expected, monkeypatch):
    audit(Laplace(epsilon=1.0), **QUESTION, store=tmp_path / "trials")

    def never(self, dataset, size, rng):
        assert size == 1, "trials ran again"
        return original(self, dataset, size, rng)

    original = Laplace.release
    monkeypatch.setattr(Laplace, "release", never)
    monkeypatch.setattr(execution, "LONG_SECONDS", 0.0)  # as on a machine where the runs take long
    assert audit(Laplace(epsilon=1.0), **QUESTION, store=tmp_path / "trials").to_json() == expected


@pytest.mark.parametrize("stage", ["pilot", "evaluation"])
def test_a_damaged_chunk_is_recomputed_and_reported(tmp_path, expected, capsys, stage):
    audit(Laplace(epsilon=1.0), **QUESTION, store=tmp_path / "trials")
    victim = sorted((tmp_path / "trials" / "chunks").glob(f"{stage}-1-*.npz"))[0]
    content = bytearray(victim.read_bytes())
    content[-200] ^= 255
    victim.write_bytes(content)
    assert audit(Laplace(epsilon=1.0), **QUESTION, store=tmp_path / "trials").to_json() == expected
    assert f"chunk {victim.stem}" in capsys.readouterr().err
    assert audit(Laplace(epsilon=1.0), **QUESTION, store=tmp_path / "trials").to_json() == expected
    assert capsys.readouterr().err == ""


def noisy_sum(dataset, rng):
    return float(np.sum(dataset) + rng.laplace())


def test_a_python_function_gives_the_same_bytes_on_two_processes(without_power):
    pair = Neighbours([1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0], "add_remove")
    results = [
        audit(noisy_sum, pair, claim=PureDP(1.0), trials=200, seed=5, n_jobs=n_jobs).to_json() for n_jobs in (1, 2)
    ]
    assert results[0] == results[1]


def test_work_in_this_process_has_one_blas_thread(without_power):
    """The rounding of a large product depends on how many threads share it."""
    n_threads = []

    def release(dataset, rng):
        n_threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return noisy_sum(dataset, rng)

    with threadpool_limits(limits=2):
        audit(release, Neighbours([0.0], [1.0], "replace_one"), claim=PureDP(1.0), trials=100, n_jobs=1, seed=0)
    assert set(n_threads[-100:]) == {1}  # the first runs, which no score reads, are made before
