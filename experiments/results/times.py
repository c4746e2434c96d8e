"""times.json: how long each audit of a run took. Apart from the numbers, which are the same on every machine.

A run that was continued has the seconds of all its sessions, added up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ...audit.trials.folder import Folder

NAME = "times.json"


def read(directory: Path) -> dict[str, float]:
    """Folder of the trials of an audit -> wall-clock seconds; empty where nothing was noted."""
    try:
        noted = json.loads(Folder(directory).read(NAME))
        return {str(point): float(seconds) for point, seconds in noted.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def written(times: Mapping[str, float]) -> str:
    """The text of the file."""
    return json.dumps({point: round(seconds, 3) for point, seconds in times.items()}, indent=1) + "\n"
