"""Changes that audited code made in its process, over all chunks, as warnings of a result."""

from __future__ import annotations

from .plan import Chunk
from .reduction import Reduction
from .store import Arrays

RANDOM = "global random state of "


class Changed:
    """The names of changes, from all chunks of one audit, including stored ones.

    Args:
        name: name of the mechanism, for the warnings.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._names: set[str] = set()

    def noting(self, into: Reduction) -> Reduction:
        """Return a reduction that records changes in this object and passes chunks on to `into`."""
        return _Noting(into, self._names)

    def warnings(self) -> tuple[str, ...]:
        """Return a warning on changes that were restored, and one on the use of global random states."""
        drawn = sorted(name.removeprefix(RANDOM) for name in self._names if name.startswith(RANDOM))
        others = sorted(name for name in self._names if not name.startswith(RANDOM))
        texts = []
        if others:
            texts.append(
                f"{self._name} changes the process that it runs in: {', '.join(others)}. The changes were undone after "
                "every chunk of runs."
            )
        if drawn:
            texts.append(
                f"{self._name} draws from the global random state of {' and of '.join(drawn)}, which other code may "
                "reset. It should draw from the rng that it receives. (The state was restored.)"
            )
        return tuple(texts)


class _Noting:
    """A reduction that records names before it passes chunks on."""

    def __init__(self, into: Reduction, names: set[str]) -> None:
        self._into = into
        self._names = names

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk."""
        if "changed" in arrays:
            self._names.update(arrays["changed"].tolist())
        self._into.add(chunk, arrays)
