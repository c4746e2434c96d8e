"""What audited code changed in the process that ran it, over all chunks: warnings of a result."""

from __future__ import annotations

from ..plan import Chunk
from ..reduction import Reduction
from ..store import Arrays

RANDOM = "global random state of "


class Changed:
    """Collects the names from the chunks of one audit, those of the store included.

    Args:
        name: of the mechanism, for the warnings.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._names: set[str] = set()

    def noting(self, into: Reduction) -> Reduction:
        """`into`, and what changed is noted on the way."""
        return _Noting(into, self._names)

    def warnings(self) -> tuple[str, ...]:
        """A sentence on what was put back, and one on randomness that is not the audit's own."""
        drawn = sorted(name.removeprefix(RANDOM) for name in self._names if name.startswith(RANDOM))
        others = sorted(name for name in self._names if not name.startswith(RANDOM))
        found = []
        if others:
            found.append(
                f"{self._name} changes the process that it runs in: {', '.join(others)}. It was put back after every "
                "chunk of runs."
            )
        if drawn:
            found.append(
                f"{self._name} draws from the global random state of {' and of '.join(drawn)}, which other code may "
                "reset. It should draw from the rng that it is given. (The state was put back.)"
            )
        return tuple(found)


class _Noting:
    """A reduction that notes names before it hands chunks on."""

    def __init__(self, into: Reduction, names: set[str]) -> None:
        self._into = into
        self._names = names

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk."""
        if "changed" in arrays:
            self._names.update(arrays["changed"].tolist())
        self._into.add(chunk, arrays)
