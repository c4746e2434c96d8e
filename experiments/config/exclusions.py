"""Tables and keys of a configuration that exclude each other.

Each exclusion is a row of `OF_STUDIES` or `OF_AUDITS`; `check_exclusions` checks all of them, before anything is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from .sections import AuditSection
from .source import Source

AUDITS_ONLY = ("attack", "claim", "expected", "game", "neighbours", "search", "sweep")
"""Tables that are not used with [membership]; of [audit] only the confidence is used."""


@dataclass(frozen=True)
class Exclusion:
    """Tables or keys that cannot be set next to another one.

    Args:
        given: dotted key of the other table or key.
        excluded: dotted keys that cannot be set next to it; the first of them that is set is reported.
        message: of the error; {key} stands for the excluded key, and {name} for its last part.
        value: the value of `given` that excludes them; None for any.
    """

    given: str
    excluded: tuple[str, ...]
    message: str
    value: str | None = None


OF_STUDIES = (
    Exclusion(
        "membership",
        AUDITS_ONLY,
        "[{key}] is for audits, not for [membership], which has its own key for attacks. Leave it out.",
    ),
    Exclusion(
        "membership",
        tuple(f"audit.{key}" for key in AuditSection.model_fields if key != "confidence"),
        "{key} is for audits: of [audit], [membership] uses only the confidence. Leave it out.",
    ),
)
"""Exclusions by [membership], which has no sweep."""
OF_AUDITS = (
    Exclusion(
        "search",
        ("data", "game", "neighbours"),
        "[{key}] cannot be combined with [search], which chooses the pair. Leave it out.",
    ),
    Exclusion(
        "game.name",
        tuple(f"neighbours.{key}" for key in ("relation", "replacement", "canary", "d0", "d1")),
        "[neighbours] the game 'reconstruction' uses only the record of [neighbours]: leave {name} out.",
        value="reconstruction",
    ),
    Exclusion(
        "neighbours.canary",
        tuple(f"neighbours.{key}" for key in ("record", "replacement", "d0", "d1")),
        "[neighbours] {name} cannot be combined with canary, which selects its own record: "
        "canary = {{name = ..., record = ...}}.",
    ),
    Exclusion("data", ("neighbours.d0",), "[neighbours] d0 is a dataset, and so is [data]. Leave one of them out."),
    Exclusion(
        "neighbours.d0",
        ("neighbours.replacement", "neighbours.record"),
        "[neighbours] {name} cannot be combined with d0 and d1, which are whole datasets.",
    ),
    Exclusion("data.columns", ("data.column",), "[data] set either column or columns, but not both."),
)
"""Exclusions among the tables of an audit; those of a sweep are checked at each point."""


def check_exclusions(config: BaseModel, source: Source) -> None:
    """Raise `ConfigError` for the first key that cannot be set next to another one."""
    for rule in (*OF_STUDIES, *(() if is_set(config, "sweep") else OF_AUDITS)):
        applies = is_set(config, rule.given) and rule.value in (None, _get(config, rule.given))
        for key in (key for key in rule.excluded if applies and is_set(config, key)):
            message = rule.message.format(key=key, name=key.rpartition(".")[2])
            raise source.error(tuple(key.split(".")), message)


def _get(config: BaseModel, key: str) -> Any:
    """Return the value at a dotted key; None if a table on the way is missing."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part, None)
    return value


def is_set(config: BaseModel, key: str) -> bool:
    """Return whether the value at a dotted key differs from its default."""
    table, _, name = key.rpartition(".")
    section = _get(config, table) if table else config
    if section is None:
        return False
    default = type(section).model_fields[name].get_default(call_default_factory=True)
    return bool(getattr(section, name) != default)
