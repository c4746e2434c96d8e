"""times.json: the duration of each audit of a run, separate from the numbers, which are the same on every machine.

For a continued run the seconds of all sessions are added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ....audit.trials.folder import Folder

NAME = "times.json"


def read(directory: Path) -> dict[str, float]:
    """Return wall-clock seconds by the folder of the trials of an audit; empty without a record."""
    try:
        seconds_by_point = json.loads(Folder(directory).read(NAME))
        return {str(point): float(seconds) for point, seconds in seconds_by_point.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def written(times: Mapping[str, float]) -> str:
    """Return the text of the file."""
    return json.dumps({point: round(seconds, 3) for point, seconds in times.items()}, indent=1) + "\n"
