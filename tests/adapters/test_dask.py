"""Trials on a local Dask cluster of two processes: run by `make test-adapters`, skipped where Dask is not installed."""

import joblib
import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from dpassay.audit import audit
from dpassay.audit.games import train_shadows
from dpassay.mechanisms import Laplace, Neighbours, PureDP
from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import ParameterError

PAIR = Neighbours([1], [1, 2], "add_remove")


def count(dataset, rng):
    return len(dataset) + rng.laplace(scale=1.0)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs dpassay[dask]")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as running, distributed.Client(running):
        yield running


def on(cluster, work):
    with joblib.parallel_config(backend="dask"):
        return work(n_jobs=None)


@pytest.mark.parametrize("stop", [None, "anytime"])
def test_a_vectorised_mechanism_gives_the_bytes_of_a_serial_run(cluster, stop):
    def work(n_jobs):
        return audit(Laplace(epsilon=1.0), trials=100_000, stop=stop, seed=1, n_jobs=n_jobs)

    assert on(cluster, work).to_json() == work(1).to_json()


def test_a_function_gives_the_bytes_of_a_serial_run(cluster):
    def work(n_jobs):
        return audit(count, PAIR, claim=PureDP(1.0), trials=2_000, seed=2, n_jobs=n_jobs)

    assert on(cluster, work).to_json() == work(1).to_json()


def test_trials_that_a_cluster_has_stored_are_taken_up_here(cluster, tmp_path):
    def work(n_jobs):
        return audit(count, PAIR, claim=PureDP(1.0), trials=600, seed=3, n_jobs=n_jobs, store=tmp_path)

    there = on(cluster, work)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.np*")}
    assert kept
    assert work(1).to_json() == there.to_json()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.np*")} == kept


def test_a_timeout_that_a_cluster_cannot_keep_is_refused(cluster):
    with pytest.raises(ParameterError, match=r"timeout is 5, but workers of the joblib backend DaskDistributedBackend"):
        on(cluster, lambda n_jobs: audit(count, PAIR, claim=PureDP(1.0), trials=300, timeout=5, n_jobs=n_jobs))


def test_shadow_models_are_those_of_a_serial_run(cluster):
    X, y = np.random.default_rng(4).normal(size=(40, 3)), np.arange(40) % 2

    def work(n_jobs):
        learner = EstimatorLearner(KNeighborsClassifier(1))
        return train_shadows(learner, (X, y), 6, seed=4, n_jobs=n_jobs)

    here, there = work(1), on(cluster, work)
    assert all(np.array_equal(here.signals[name], there.signals[name]) for name in here.signals)
    assert np.array_equal(here.inclusion, there.inclusion)
