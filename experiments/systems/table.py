"""Tables of systems: loading, with an error for a missing or unknown field."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from ...mechanisms.core import ConfigError

FAMILIES = {
    "definitions": "Definitions and conversions",
    "local_randomisers": "Local randomisers",
    "additive_noise": "Additive noise",
    "selection": "Selection",
    "composition": "Composition",
    "amplification": "Amplification",
    "private_learning": "Private learning",
    "query_release": "Histograms and query release",
    "synthetic_data": "Synthetic data",
    "attacks": "Attacks",
    "deployment": "Deployment and limits",
    "further": "Other systems",
}
"""File name -> title, in the order of the numbers; systems without a number are in the last file."""


@dataclass(frozen=True)
class System:
    """One system of the literature, with its guarantee and what shows it.

    Args:
        family: one of `FAMILIES`.
        name: display name.
        implementation: "package.module:object", one or several.
        guarantee: its guarantee, in a few words; "none" for an attack.
        relation: the neighbouring relation of the guarantee.
        shown_by: "dpassay run NAME", "dpassay demo NAME" or a page of docs/ with a running example.
        number: its number in the list of systems; None for a system without a number.
    """

    family: str
    name: str
    implementation: tuple[str, ...]
    guarantee: str
    relation: str
    shown_by: str
    number: int | None = None

    @property
    def title(self) -> str:
        """Number and name of the system."""
        return self.name if self.number is None else f"{self.number} {self.name}"


def load() -> tuple[System, ...]:
    """Load all systems, ordered by family and number.

    Raises:
        ConfigError: a file is not valid TOML, or a row has a missing or unknown field.
    """
    systems = [system for family in FAMILIES for system in _family(family)]
    families = list(FAMILIES)
    return tuple(sorted(systems, key=lambda system: (families.index(system.family), system.number or 0, system.name)))


def _family(family: str) -> list[System]:
    path = Path(__file__).with_name(f"{family}.toml")
    if not path.exists():
        return []
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["system"]
        return [System(**{**row, "family": family, "implementation": tuple(row["implementation"])}) for row in rows]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        names = ", ".join(field.name for field in fields(System) if field.name != "family")
        raise ConfigError(f"{path.name} must contain tables [[system]] of {names}, but: {error}.") from error
