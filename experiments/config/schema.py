"""The schema of a configuration: what a question is made of.

    title, description    the question in words, and what to expect
    seed                  root of every random stream
    [data]                a dataset by name; without it the mechanism brings its own worst-case pair
    [neighbours]          which pair of datasets, or which canary
    [mechanism]           what is audited: a name, and its options
    [search]              a domain, in which a bad pair is looked for before it is audited
    [game]                one run with many canaries, or a guessed record, where it is not many runs on a pair
    [membership]          membership attacks on shadow models, measured, where no claim is audited
    [attack]              who attacks: a name, and its options
    [audit]               how many trials, at which delta, with which confidence, by which bounds
    [claim]               what is tested, where it is not what the mechanism itself promises
    [sweep]               dotted key -> list of values; one audit for each combination
    [[sweep.case]]        a name, and tables whose keys are set together; one audit for each

Checked here: keys, types and ranges. That names exist and options fit is checked in
`dpassay.experiments.tasks.planning`, before the first trial.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, Field, SerializeAsAny, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ...mechanisms.errors import ConfigError, unknown_name_message
from .cases import check_cases
from .games import catalogue as games
from .overrides import apply
from .sections import (
    OF_INTERVALS,
    AuditSection,
    DataSection,
    GameSection,
    MembershipSection,
    Named,
    NeighboursSection,
    SearchSection,
    Section,
    Values,
    Whole,
)
from .source import Source
from .sweep import CASE, swept_keys, unswept, without_published
from .toml_text import to_toml

UNKNOWN_GAME = "unknown_game"
"""Type of the error that pydantic reports for a game that is none."""
WORDS = ("title", "description")
"""Keys that explain an experiment and do not change it."""
AUDITS_ONLY = ("attack", "claim", "game", "neighbours", "search", "sweep")
"""Tables that nothing reads next to [membership]; of [audit] only the confidence is read."""
NOT_SWEPT = {
    **dict.fromkeys(WORDS, "it explains the experiment and is the same for all of its audits"),
    "audit.confidence": "the verdict over a sweep has one confidence",
    "sweep": "it is the sweep",
}


def _flat(value: Any) -> Any:
    """Entries of [sweep] whose dotted keys were not quoted, and so were read as tables."""
    if not isinstance(value, Mapping):
        return value
    flat: dict[str, Any] = {}
    for key, inside in value.items():
        nested = _flat(inside)
        flat |= {f"{key}.{k}": v for k, v in nested.items()} if isinstance(nested, Mapping) else {key: inside}
    return flat


def _game_section(table: Any) -> type[GameSection] | None:
    """The section of the game that a table [game] names; None where it names none."""
    name = table.get("name") if isinstance(table, Mapping) else None
    section: type[GameSection] | None = games.get(name).section if isinstance(name, str) and name in games else None
    return section


def _game(value: Any) -> Any:
    """The table [game], read by the section of the game that it names."""
    if not isinstance(value, Mapping):
        return value
    section = _game_section(value)
    if section is None:
        raise PydanticCustomError(UNKNOWN_GAME, "no game of this name")
    return section.model_validate(dict(value))


class Config(Section):
    """A whole configuration. See the top of this file for its parts."""

    title: str = Field(default="", description="text in quotes")
    description: str = Field(default="", description="text in quotes")
    seed: Whole = Field(default=0, ge=0, description="a whole number >= 0")
    data: DataSection | None = Field(default=None, description="a table [data]")
    neighbours: NeighboursSection = Field(default=NeighboursSection(), description="a table [neighbours]")
    search: SearchSection | None = Field(default=None, description="a table [search]")
    mechanism: Named = Field(description="a table [mechanism]")
    game: Annotated[SerializeAsAny[GameSection] | None, BeforeValidator(_game)] = Field(
        default=None, description="a table [game] with a name"
    )
    membership: MembershipSection | None = Field(default=None, description="a table [membership]")
    attack: Named = Field(default=Named(name="auto"), description="a table [attack]")
    audit: AuditSection = Field(default=AuditSection(), description="a table [audit]")
    claim: Named | None = Field(default=None, description="a table [claim]")
    sweep: Annotated[dict[str, Values], BeforeValidator(_flat)] = Field(
        default_factory=dict, description="a list of values that is not empty"
    )

    @model_validator(mode="before")
    @classmethod
    def _confidence_of_intervals(cls, table: Any) -> Any:
        """Fill in the confidence of [membership], whose intervals decide no verdict."""
        if not isinstance(table, Mapping) or table.get("membership") is None:
            return table
        given = table.get("audit", {})
        return {**table, "audit": {"confidence": OF_INTERVALS, **given}} if isinstance(given, Mapping) else table

    @classmethod
    def load(cls, name_or_path: str | Path, settings: Mapping[str, Any] | None = None) -> tuple[Config, Source]:
        """The configuration of that path, or of that name among the shipped ones, with `settings` on top.

        A key that is set is not swept as well.

        Returns:
            The configuration, and the source that can say where each of its keys stands.

        Raises:
            ConfigError: no such file, not TOML, or not a configuration; the message has file, line and key.
        """
        source = Source.find(name_or_path, settings)
        table = source.parse()
        source.check_values(table)
        config = cls.check(apply(table, source.settings), source)
        return config.model_copy(update={"sweep": unswept(config.sweep, source.settings)}), source

    @classmethod
    def check(cls, table: Mapping[str, Any], source: Source) -> Config:
        """The configuration in `table`; raises `ConfigError` with everything that is wrong with it."""
        try:
            config = cls.model_validate(dict(table))
        except ValidationError as error:
            tables = _tables(table)
            messages = [_message(detail, tables, source) for detail in error.errors(include_url=False)]
            raise ConfigError("\n".join(dict.fromkeys(messages))) from None
        _check_membership(config, source)
        _check_sweep(config, source)
        return config

    def resolved(self) -> dict[str, Any]:
        """Every key that is read with its value, defaults filled in; plain values, None left out."""
        unread: dict[str, Any] = {}
        if self.membership is not None:
            unread = dict.fromkeys(AUDITS_ONLY, True) | {"audit": set(AuditSection.model_fields) - {"confidence"}}
        elif self.game is not None:
            unread = {"audit": {"trials", "estimates"}}
        return _plain(self.model_dump(exclude_none=True, exclude=unread))  # type: ignore[no-any-return]

    @property
    def question(self) -> dict[str, Any]:
        """The part of `resolved()` that determines the numbers: all but the words, and what others have published."""
        question = {key: value for key, value in self.resolved().items() if key not in WORDS}
        if CASE in self.sweep:
            question["sweep"] = {key: without_published(key, value) for key, value in question["sweep"].items()}
        return question

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of the question."""
        canonical = json.dumps(self.question, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_toml(self) -> str:
        """The resolved configuration as TOML; reading it back gives an equal one."""
        return to_toml({key: value for key, value in self.resolved().items() if value not in ("", {})})


SECTIONS: dict[str, type[BaseModel]] = {
    "data": DataSection,
    "neighbours": NeighboursSection,
    "search": SearchSection,
    "mechanism": Named,
    "membership": MembershipSection,
    "attack": Named,
    "audit": AuditSection,
    "claim": Named,
}
"""The tables of a configuration whose keys are known beforehand."""


def _check_membership(config: Config, source: Source) -> None:
    """Raises `ConfigError` for tables and keys of an audit besides [membership], which would not be read."""
    if config.membership is None:
        return
    for key in AUDITS_ONLY:
        if _says_something(config, key):
            raise source.error(
                (key,), f"[{key}] is for audits, not for [membership], whose attacks stand in it. Leave it out."
            )
    for key in AuditSection.model_fields:
        if key != "confidence" and _says_something(config.audit, key):
            raise source.error(
                ("audit", key),
                f"audit.{key} is for audits: of [audit], [membership] reads the confidence. Leave it out.",
            )


def _says_something(section: BaseModel, key: str) -> bool:
    """Whether a key differs from its default."""
    default = type(section).model_fields[key].get_default(call_default_factory=True)
    return bool(getattr(section, key) != default)


def _check_sweep(config: Config, source: Source) -> None:
    """Raises `ConfigError` for keys that cannot be swept, and for values that occur twice."""
    for key, values in config.sweep.items():
        if key == CASE:
            check_cases(values, source)
        for part in swept_keys(key, values):
            reason = NOT_SWEPT.get(part) or NOT_SWEPT.get(part.partition(".")[0])
            if reason:
                raise source.error(("sweep", key), f"{part} cannot be swept: {reason}.")
        texts = [json.dumps(_plain(value), sort_keys=True) for value in values]
        twice = next((text for text in texts if texts.count(text) > 1), None)
        if twice is not None:
            raise source.error(
                ("sweep", key), f"the sweep over {key} holds {twice} twice. To repeat audits, sweep over seed."
            )


def _message(detail: Any, tables: Mapping[str, type[BaseModel]], source: Source) -> str:
    """One error of pydantic in our words: place, key, what is allowed, what was found."""
    if detail["type"] == UNKNOWN_GAME:
        return _unknown_game(detail["input"].get("name"), source)
    path = _table_path(detail["loc"], tables)
    key = ".".join(path)
    if detail["type"] == "extra_forbidden":
        known = _model_at(path[:-1], tables).model_fields
        place = f"key of [{'.'.join(path[:-1])}]" if path[:-1] else "key"
        return str(source.error(path, unknown_name_message(place, path[-1], known)))
    if detail["type"] == "missing":
        needed = f"[{key}] is missing" if len(path) == 1 else f"{key} is missing"
        return str(source.error(path, f"{needed}: give {_allowed(path, tables)}."))
    found = f"{detail['input']!r} ({type(detail['input']).__name__})"
    return str(source.error(path, f"{key} must be {_allowed(path, tables)}, but is {found}."))


def _unknown_game(name: Any, source: Source) -> str:
    """What is said of a game that is none."""
    known = " or ".join(map(repr, games))
    found = "is missing" if name is None else f"is {name!r}"
    allowed = f"game.name must be {known}, but {found}. Leave [game] out for runs on a pair of datasets."
    return str(source.error(("game", "name"), allowed))


def _tables(table: Mapping[str, Any]) -> Mapping[str, type[BaseModel]]:
    """The models of the tables of a configuration, that of its game among them."""
    section = _game_section(table.get("game"))
    return SECTIONS if section is None else SECTIONS | {"game": section}


def _table_path(loc: tuple[Any, ...], tables: Mapping[str, type[BaseModel]]) -> tuple[str, ...]:
    """The dotted path of an error, without what pydantic adds about unions and positions in lists."""
    path: list[str] = []
    for part in map(str, loc):
        if path and path[0] == "sweep":
            return ("sweep", part)
        model = _model_at(tuple(path), tables)
        if path and part not in getattr(model, "model_fields", {}):
            if _forbids_extra(model):
                path.append(part)
            break
        path.append(part)
    return tuple(path)


def _model_at(path: tuple[str, ...], tables: Mapping[str, type[BaseModel]]) -> Any:
    """The model of the table at `path`; None below a plain value."""
    model: Any = Config if not path else tables.get(path[0])
    for part in path[1:]:
        field = getattr(model, "model_fields", {}).get(part)
        kinds = () if field is None else (field.annotation, *get_args(field.annotation))
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Section)), None)
    return model


def _forbids_extra(model: Any) -> bool:
    return model is not None and model.model_config["extra"] == "forbid"


def _allowed(path: tuple[str, ...], tables: Mapping[str, type[BaseModel]]) -> str:
    """What may stand at `path`, from the description of its field."""
    if path[0] == "sweep":
        return str(Config.model_fields["sweep"].description)
    return str(_model_at(path[:-1], tables).model_fields[path[-1]].description)


def _plain(value: Any) -> Any:
    """Tuples to lists, all the way down, and every None left out."""
    if isinstance(value, Mapping):
        return {key: _plain(inside) for key, inside in value.items() if inside is not None}
    return [_plain(inside) for inside in value] if isinstance(value, list | tuple) else value
