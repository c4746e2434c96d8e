"""[data] shadows: shadow models that other code trained, in a file, for the attacks of [membership].

with_trained     check the keys next to `shadows`, and fill in those that the file replaces
digest           SHA-256 of the file: a key of the resolved configuration, and so a part of its fingerprint
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...audit.trials.array_files import open_regular
from .sections import MembershipSection
from .source import Source

OF_FILE = ("shadows", "fair", "signal", "sha256")
"""Keys of [data] that describe a file of shadow models."""
READ = ("attacks", "target", "per_model")
"""Keys of [membership] that are used with such a file."""
FILLED: dict[str, dict[str, Any]] = {
    "data": {"name": "shadows"},
    "mechanism": {"name": "shadows"},
    "membership": {"n_models": 2},
}
"""Values of required keys that the file replaces; they are not used, and no part of the resolved configuration."""
UNUSED: dict[str, Any] = {
    "mechanism": True,
    "data": {"name"},
    "membership": set(MembershipSection.model_fields) - set(READ),
}
"""Keys to exclude from the resolved configuration."""


def with_trained(table: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """Return the tables with the SHA-256 of `shadows` and the replaced keys; unchanged without `shadows`.

    Raises:
        ConfigError: keys that are not used with a file of shadow models, or only with one; no such file.
    """
    data, section = table.get("data"), table.get("membership")
    if not isinstance(data, Mapping) or "shadows" not in data:
        for key in (key for key in OF_FILE if isinstance(data, Mapping) and key in data):
            raise source.error(
                ("data", key), f"data.{key} describes the file of data.shadows, which is missing. Add it."
            )
        return dict(table)
    if not isinstance(section, Mapping):
        raise source.error(
            ("data", "shadows"), "data.shadows is a file of models for membership attacks: add [membership]."
        )
    if "mechanism" in table:
        raise source.error(
            ("mechanism",), "[mechanism] would train models, but data.shadows has trained ones. Leave one out."
        )
    for key in data:
        if key not in OF_FILE:
            raise source.error(
                ("data", key),
                f"data.{key} is not used with data.shadows, next to which only {', '.join(OF_FILE[1:])} are. "
                "Leave it out.",
            )
    for key in section:
        if key not in READ and key in MembershipSection.model_fields:
            raise source.error(
                ("membership", key),
                f"membership.{key} is for models that are trained here: with data.shadows only {', '.join(READ)} are "
                "used. Leave it out.",
            )
    path = data["shadows"]
    content = {} if "sha256" in data or not isinstance(path, str) else {"sha256": digest(path, source)}
    return {
        **table,
        "data": {**data, **content, **FILLED["data"]},
        "mechanism": FILLED["mechanism"],
        "membership": {**section, **FILLED["membership"]},
    }


def digest(path: str, source: Source) -> str:
    """Return the SHA-256 of the file; raise `ConfigError` with the line of `shadows` if it cannot be read."""
    try:
        with open_regular(Path(path)) as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise source.error(
            ("data", "shadows"),
            f"data.shadows is {path!r}, which cannot be read: {str(reason).removesuffix('.')}. Set a path relative to "
            "the folder in which dpassay runs, or an absolute path.",
        ) from error
