"""Reads the tables of systems, and refuses a row with a field that is missing or unknown."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from ...mechanisms.errors import ConfigError

FAMILIES = {
    "a": "Definitions and conversions",
    "b": "Local randomisers",
    "c": "Additive noise",
    "d": "Selection",
    "e": "Composition",
    "f": "Amplification",
    "g": "Private learning",
    "h": "Histograms and query release",
    "i": "Synthetic data",
    "j": "Attacks",
    "k": "Deployment and limits",
    "beside": "Besides",
}
"""File -> title, in the order of the numbers; what has no number of its own stands in the last."""


@dataclass(frozen=True)
class System:
    """One system.

    Args:
        family: one of `FAMILIES`.
        name: for people.
        implementation: "package.module:object", one or several.
        guarantee: what it promises, in a few words; "none" for an attack.
        relation: the neighbouring relation of the promise.
        test: "tests/FILE.py::TEST": one that decides whether the row is true.
        shown_by: "dpassay run NAME", "dpassay demo NAME" or a page of docs/ with a running example.
        number: its place in the list of systems; None beside it.
    """

    family: str
    name: str
    implementation: tuple[str, ...]
    guarantee: str
    relation: str
    test: str
    shown_by: str
    number: int | None = None

    @property
    def title(self) -> str:
        """Number and name."""
        return self.name if self.number is None else f"{self.number} {self.name}"


def load() -> tuple[System, ...]:
    """All systems, by family and number.

    Raises:
        ConfigError: a file that is no TOML, or a row with a field that is missing or unknown.
    """
    found = [system for family in FAMILIES for system in _family(family)]
    families = list(FAMILIES)
    return tuple(sorted(found, key=lambda one: (families.index(one.family), one.number or 0, one.name)))


def _family(family: str) -> list[System]:
    path = Path(__file__).with_name(f"{family}.toml")
    if not path.exists():
        return []
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["system"]
        return [System(**{**row, "family": family, "implementation": tuple(row["implementation"])}) for row in rows]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        wanted = ", ".join(field.name for field in fields(System) if field.name != "family")
        raise ConfigError(f"{path.name} must hold tables [[system]] of {wanted}, but: {error}.") from error
