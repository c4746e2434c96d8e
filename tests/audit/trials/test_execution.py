"""Execution of chunks on workers. Attacks learn in the process of the audit, for every joblib backend."""

import joblib
import numpy as np
import pytest
from joblib.parallel import BACKENDS, SequentialBackend
from threadpoolctl import threadpool_info, threadpool_limits

from dpassay.attacks.distinguishing import Classifier
from dpassay.audit import audit
from dpassay.audit.trials.execution import execute
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.progress import SilentReporter
from dpassay.audit.trials.repeated_outputs import ReplayGuard
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import Workers


class Elsewhere(SequentialBackend):
    """A joblib backend that counts its tasks, in the place of a cluster."""

    handed = 0

    def submit(self, func, callback=None):
        type(self).handed += 1
        return super().submit(func, callback)

    def configure(self, n_jobs=1, **options):
        type(self).handed += 1
        return super().configure(n_jobs, **options)


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setitem(BACKENDS, "elsewhere", Elsewhere)
    monkeypatch.setattr(Elsewhere, "handed", 0)
    with joblib.parallel_config(backend="elsewhere"):
        yield Elsewhere


@pytest.mark.usefixtures("without_power")
def test_classifiers_do_not_use_the_joblib_backend_of_the_trials(elsewhere):
    """A forest asks joblib for workers; on a cluster its sums came back with other last digits."""
    audit(Laplace(epsilon=1.0), attack=Classifier(model="forest"), trials=400, n_jobs=1)
    assert elsewhere.handed == 0


class ThreadsSeen:
    """A reduction that records the number of BLAS threads of each chunk."""

    def __init__(self):
        self.threads = []

    def add(self, chunk, arrays):
        self.threads += arrays["threads"].tolist()


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def in_threads(chunk):
    return {"threads": np.array(blas_threads()), "signature": np.empty(0, dtype=np.uint8)}


def in_processes(chunk):
    """Set two threads, which the next chunk must not inherit."""
    n_threads = in_threads(chunk)
    threadpool_limits(limits=2)
    return n_threads


class HandedOut(list):
    """Chunks that record the number of BLAS threads when each of them is submitted."""

    def __iter__(self):
        for chunk in super().__iter__():
            self.threads = [*getattr(self, "threads", []), *blas_threads()]
            yield chunk


@pytest.mark.parametrize(
    ("work", "workers", "n_jobs"),
    [
        (in_threads, Workers.THREADS, 1),
        (in_threads, Workers.THREADS, 2),
        (in_processes, Workers.PROCESSES, 2),
    ],
)
def test_every_chunk_has_one_blas_thread(work, workers, n_jobs):
    """Else the rounding of its products, and so its bytes, depend on when and where it ran."""
    recorded = ThreadsSeen()
    chunks = HandedOut(Chunk(Stage.EVALUATION, 0, index, 10 * index, 10) for index in range(12))
    with threadpool_limits(limits=2):
        options = {
            "store": None,
            "n_jobs": n_jobs,
            "repeats": ReplayGuard("test"),
            "reporter": SilentReporter(),
            "total": 120,
        }
        execute(chunks, work, recorded, workers=workers, **options)
        assert set(blas_threads()) == {2}
    looked_at = len(chunks.threads) // (len(chunks) + 1)  # the first chunk is looked at before
    assert set(chunks.threads[looked_at:]) == {1}
    assert len(recorded.threads) >= len(chunks)
    assert set(recorded.threads) == {1}
