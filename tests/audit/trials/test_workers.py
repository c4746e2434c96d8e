"""Worker processes: modules that they can import, and shared memory whose owners were killed."""

import importlib
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from dpassay.audit import audit
from dpassay.audit.trials import execution, workers
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.core import ClusterError, ReleaseError

OWNER = """
import sys, time
from pathlib import Path
from dpassay.audit import audit
from dpassay.audit.trials import workers
from dpassay.mechanisms import Neighbours, PureDP
workers.SHARED_MEMORY_FOLDER = Path(sys.argv[1])
workers._note_owner(__import__("os").getpid())
print("noted", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "SHARED_MEMORY_FOLDER", tmp_path)
    return tmp_path


def owner(shared):
    """Start a process that owns workers, and create its files in shared memory; return the process."""
    process = subprocess.Popen([sys.executable, "-c", OWNER, shared], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"noted\n"
    (shared / f"sem.loky-{process.pid}-abc").write_bytes(b"")
    (shared / f"joblib_memmapping_folder_{process.pid}_a_b").mkdir()
    (shared / f"joblib_memmapping_folder_{process.pid}_a_b" / "values").write_bytes(b"")
    return process


def test_only_semaphores_of_dead_owners_are_removed(shared):
    dead, alive = owner(shared), owner(shared)
    (shared / "sem.loky-1-abc").write_bytes(b"")  # of another program
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    workers._remove_left_behind()
    left = sorted(path.name for path in shared.iterdir())
    assert left == sorted(
        [
            "sem.loky-1-abc",
            f"dpassay-workers-{alive.pid}",
            f"sem.loky-{alive.pid}-abc",
            f"joblib_memmapping_folder_{alive.pid}_a_b",
        ]
    )
    alive.communicate()
    assert not (shared / f"dpassay-workers-{alive.pid}").exists()


def test_links_in_place_of_files_of_an_owner_are_not_followed(shared, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "mine").write_bytes(b"")
    (shared / "dpassay-workers-77").symlink_to(outside / "mine")
    dead = owner(shared)
    (shared / f"joblib_memmapping_folder_{dead.pid}_link").symlink_to(outside)
    dead.kill()
    dead.communicate()
    workers._remove_left_behind()
    assert (outside / "mine").exists()
    assert (shared / "dpassay-workers-77").is_symlink()
    assert not os.path.lexists(shared / f"joblib_memmapping_folder_{dead.pid}_link")


def test_workers_import_modules_of_folders_added_to_the_path_after_they_began(tmp_path, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        source = "def release(dataset, rng):\n    return sum(dataset) + rng.laplace()\n"
        (tmp_path / name / f"{name}_module.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path / name))
        release = importlib.import_module(f"{name}_module").release
        options = {"claim": PureDP(1.0), "trials": 200, "seed": 0}
        pair = Neighbours([1.0], [1.0, 1.0], "add_remove")
        assert audit(release, pair, **options, n_jobs=2) == audit(release, pair, **options)


@pytest.mark.parametrize("status", ["running", "connecting", "closed"])
def test_errors_of_a_client_without_scheduler_name_the_cluster(status):
    """The error of a lost scheduler depends on the call that was under way, the status of the client does not."""
    named = ClusterError if status != "running" else RuntimeError
    with pytest.raises(named, match="x"), workers.named_errors("laplace", None, SimpleNamespace(status=status)):
        raise RuntimeError("x")


def test_errors_of_the_mechanism_stay_those_of_the_mechanism():
    client = SimpleNamespace(status="closed")
    with pytest.raises(ReleaseError, match="y"), workers.named_errors("laplace", None, client):
        raise ReleaseError("y")


@pytest.mark.parametrize("status", ["closing", "closed"])
def test_no_task_of_a_closed_client_is_awaited(status):
    looks = iter([False] * 3)  # then StopIteration, in place of a wait without end
    never = SimpleNamespace(has_ready=lambda: next(looks))
    with pytest.raises(ClusterError, match=r"does not answer: the connection to its scheduler has ended"):
        execution._await_any(never, SimpleNamespace(status=status))
