"""The workers of a Dask cluster for a run: `dpassay run CONFIG --cluster tcp://HOST:PORT`, or `local:N`.

joblib sends chunks of trials to them (`dpassay.audit.trials.execution`). The audits of a sweep run at the same time,
each in a process of this machine that fits its attack, writes its store and computes its bounds, as in a serial run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from ...audit.trials.options import versions
from ...audit.trials.workers import cluster_lost_error, different_versions
from ...mechanisms.adapters.functions.source import cloudpickle
from ...mechanisms.core import ClusterError, ParameterError

FORMS = "be the address of a Dask scheduler, such as tcp://HOST:8786, or local:N for N processes of this machine"
CONNECT_SECONDS, WORKER_SECONDS = 30, 60
"""Longest time to reach the scheduler, and to wait for its first worker."""


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster that has workers.

    Args:
        address: of its scheduler.
    """

    address: str

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Let joblib run trials on the workers, in this thread."""
        from joblib import parallel_config

        with _client(self.address) as client, parallel_config(backend="dask", client=client):
            yield


@contextmanager
def connected(where: str | None, allowed: Mapping[str, str]) -> Iterator[Cluster | None]:
    """Connect to a cluster, or start one on this machine, and give it the code of the user; None for no cluster.

    Args:
        where: address of a scheduler, or "local:N".
        allowed: name of a module -> its file, or the name again. Files are uploaded; the objects of all these modules
            are sent by value.

    Raises:
        ParameterError: `where` has another form, or Dask is not installed.
        ClusterError: there is no scheduler, it has no workers, or they have other versions.
    """
    if where is None:
        yield None
        return
    n_local = _n_local(where)
    try:
        from distributed import LocalCluster
    except ImportError as error:
        raise ParameterError(
            f"cluster is {where!r}, which needs Dask: install dpassay with its extra dask.", argument="cluster"
        ) from error
    with ExitStack() as stack:
        address = where
        if n_local:
            running = LocalCluster(
                n_workers=n_local, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=40
            )
            address = stack.enter_context(running).scheduler_address
        client = stack.enter_context(_client(address))
        _check_workers(client, address)
        for name, file in allowed.items():
            if file.endswith(".py"):
                client.upload_file(file, load=False)
            elif name in sys.modules:
                cloudpickle().register_pickle_by_value(sys.modules[name])
        yield Cluster(address)


def _n_local(where: str) -> int:
    """Return the number of processes of "local:N"; 0 for an address."""
    local = re.fullmatch(r"local:([1-9]\d{0,3})", where)
    if local is None and not re.fullmatch(r"[a-z]+://.+:\d+", where):
        raise ParameterError(argument="cluster", value=where, allowed=FORMS)
    return 0 if local is None else int(local[1])


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """Connect to a scheduler; raise `ClusterError` if it does not answer."""
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise cluster_lost_error(str(error)) from error
    try:
        yield client
    finally:
        client.close(timeout=2)


def _check_workers(client: Any, address: str) -> None:
    """Raise `ClusterError` unless there are workers, and all can import this version of dpassay."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError as error:
        raise ClusterError(
            f"the cluster at {address} has no worker after {WORKER_SECONDS} seconds. Start some: dask worker {address}"
        ) from error
    for worker, answer in client.run(different_versions, versions(), on_error="return").items():
        if isinstance(answer, BaseException):
            raise ClusterError(f"worker {worker} cannot import dpassay ({answer}). Install it on all workers.")
        if answer:
            raise ClusterError(f"worker {worker} has {answer}. Install the same versions on all workers.")


__all__ = ["Cluster", "connected"]
