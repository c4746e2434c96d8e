"""Workers, store and progress: what every game offers alike, and what no number depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ...mechanisms.errors import ParameterError
from ...mechanisms.fingerprint import opaque
from .progress import Reporter, reporter_for
from .store import TrialStore


@dataclass(frozen=True)
class RunOptions:
    """Where runs are made and kept, and who follows them.

    Args:
        n_jobs: workers; 1 runs here, -1 takes every core, None takes what `joblib.parallel_config` says.
        store: directory that keeps what is finished; None keeps nothing.
        progress: True shows a progress bar when stderr is a terminal; or a `Reporter`.

    Raises:
        ParameterError: a value that is none of these.
    """

    n_jobs: int | None = 1
    store: Path | str | None = None
    progress: bool | Reporter = False

    def __post_init__(self) -> None:
        n_jobs = self.n_jobs
        if n_jobs is not None and (
            isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0 or n_jobs < -1
        ):
            raise ParameterError(
                f"n_jobs must be a whole number >= 1, -1 for every core, or None, but is {n_jobs!r}.", argument="n_jobs"
            )
        if self.store is not None and not isinstance(self.store, (str, Path)):
            raise ParameterError(
                f"store must be the path of a directory, or None, but is {self.store!r}.", argument="store"
            )

    def below(self, name: str) -> RunOptions:
        """The same with the store in a folder of that name inside this one."""
        return replace(self, store=None if self.store is None else Path(self.store) / name)

    @contextmanager
    def opened(self, description: Mapping[str, Any]) -> Iterator[tuple[TrialStore | None, Reporter]]:
        """The store of what is described, None where nothing is kept, and the reporter; both are closed afterwards.

        Raises:
            ParameterError: something in the description hides its contents, and there is a store.
            FingerprintError, StoreError: see `TrialStore`.
        """
        if self.store is not None and opaque(description):
            raise ParameterError(
                f"store cannot be used here: what is run holds a {opaque(description)[0]}, which hides its contents, "
                "so that its trials could not be distinguished from others. Leave store out, or give it plain data.",
                argument="store",
            )
        reporter = reporter_for(self.progress)
        try:
            kept = None if self.store is None else TrialStore(Path(self.store), description, warn=reporter.message)
            with nullcontext() if kept is None else kept as store:
                yield store, reporter
        finally:
            reporter.close()


@lru_cache
def versions() -> dict[str, str]:
    """Versions that trials depend on: the code of this distribution is not part of a description."""
    try:
        own = version("dpassay")
    except PackageNotFoundError:
        own = "unknown"
    return {"numpy": np.__version__.rpartition(".")[0], "dpassay": own}
