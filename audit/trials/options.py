"""Options of every game that do not affect its numbers: workers, store and progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ...mechanisms.core import ParameterError, opaque
from .progress import Reporter, reporter_for
from .store import SlicedStore, TrialStore

Store = Path | str | SlicedStore | None
"""Directory for finished chunks; or that of a slice, of which only its chunks are run; None for no store."""


@dataclass(frozen=True)
class RunOptions:
    """Options for workers, store and progress.

    Args:
        n_jobs: number of workers; 1 runs in this process, -1 uses every core, None takes `joblib.parallel_config`.
        store: see `Store`.
        progress: True shows a progress bar if stderr is a terminal; or a `Reporter`.

    Raises:
        ParameterError: an invalid value.
    """

    n_jobs: int | None = 1
    store: Store = None
    progress: bool | Reporter = False

    def __post_init__(self) -> None:
        n_jobs = self.n_jobs
        if n_jobs is not None and (
            isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0 or n_jobs < -1
        ):
            raise ParameterError(
                f"n_jobs must be a whole number >= 1, -1 for every core, or None, but is {n_jobs!r}.", argument="n_jobs"
            )
        if self.store is not None and not isinstance(self.store, (str, Path, SlicedStore)):
            raise ParameterError(argument="store", value=self.store, allowed="be the path of a directory, or None")

    def below(self, name: str) -> RunOptions:
        """Return the options with the store in a subfolder of that name; raise `ParameterError` for a slice."""
        if isinstance(self.store, SlicedStore):
            raise ParameterError(
                "slice cannot be used here: the outcome of some chunks decides what the others run, such as one call "
                "per run after a call with many runs raised. Run it without slices.",
                argument="slice",
            )
        return replace(self, store=None if self.store is None else Path(self.store) / name)

    @contextmanager
    def opened(self, description: Mapping[str, Any]) -> Iterator[tuple[TrialStore | None, Reporter]]:
        """Open the store of the described trials (None without a store) and the reporter; both are closed afterwards.

        Raises:
            ParameterError: there is a store, but an object in the description hides its contents.
            FingerprintError, StoreError: see `TrialStore`.
        """
        if self.store is not None and opaque(description):
            raise ParameterError(
                f"store cannot be used here: the mechanism holds a {opaque(description)[0]}, which hides its contents, "
                "so that its trials could not be distinguished from others. Leave store out, or use plain data.",
                argument="store",
            )
        reporter = reporter_for(self.progress)
        try:
            trials = None
            if isinstance(self.store, SlicedStore):
                sliced = self.store
                trials = TrialStore(sliced.directory, description, warn=reporter.message, share=sliced.share)
            elif self.store is not None:
                trials = TrialStore(Path(self.store), description, warn=reporter.message)
            with nullcontext() if trials is None else trials as store:
                yield store, reporter
        finally:
            reporter.close()


@lru_cache
def versions() -> dict[str, str]:
    """Return the versions that trials depend on: the code of this distribution is not part of a description."""
    try:
        dpassay = version("dpassay")
    except PackageNotFoundError:
        dpassay = "unknown"
    return {"numpy": np.__version__.rpartition(".")[0], "dpassay": dpassay}
