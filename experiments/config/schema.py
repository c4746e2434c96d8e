"""The schema of a configuration.

    title, description    the question in words, and the expected result
    unit                  the privacy unit in words, such as "a person"; for the evidence card
    seed                  root of every random stream
    expected              our own results for all audits, such as the verdict; a case states its own
    [data]                a dataset by name; the default is the worst-case pair of the mechanism
    [neighbours]          the pair of datasets, or the canary
    [mechanism]           the audited mechanism: a name, and its options
    [search]              a domain, which is searched for a bad pair before the audit
    [game]                one run with many canaries, or a guessed record, instead of many runs on a pair
    [membership]          metrics of membership attacks on shadow models, instead of an audit of a claim
    [attack]              the attack: a name, and its options
    [audit]               number of trials, delta, confidence and bounds
    [claim]               the guarantee under test, if it is not that of the mechanism
    [sweep]               dotted key -> list of values; one audit for each combination
    [[sweep.case]]        a name, and tables whose keys are set together; one audit for each

This module checks keys, types and ranges. `dpassay.experiments.config.tasks.planning` checks names and options before
the first trial.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from ...mechanisms.core import ConfigError, listed, unknown_name_message
from .command_table import command_of
from .exclusions import AUDITS_ONLY, check_exclusions, is_set
from .overrides import apply
from .sections import (
    GAMES,
    OF_INTERVALS,
    AuditSection,
    DataSection,
    MembershipSection,
    Named,
    NeighboursSection,
    OneRunSection,
    ReconstructionSection,
    SearchSection,
    Section,
    Values,
    Whole,
)
from .source import Source
from .sweep import (
    CASE,
    EXPECTED,
    check_cases,
    check_expected,
    repeated,
    settings,
    swept_keys,
    unswept,
    without_results,
)
from .toml_text import to_toml
from .trained_shadows import UNUSED, with_trained

WORDS = ("title", "description", "unit", EXPECTED)
"""Keys that explain an experiment and do not change it."""
UNUSED_IN_GAMES = ("trials", "estimates", "stop")
"""Keys of [audit] that are not used with [game]."""
MAX_ERRORS = 20
"""Largest number of errors that are listed."""
NOT_SWEPT = {
    **dict.fromkeys(WORDS, "it explains the experiment and is the same for all of its audits"),
    "audit.confidence": "the verdict over a sweep has one confidence",
    "sweep": "it is the sweep itself",
}


def _flat(value: Any) -> Any:
    """Flatten entries of [sweep] whose dotted keys were not quoted, and so were parsed as tables."""
    if not isinstance(value, Mapping):
        return value
    flat: dict[str, Any] = {}
    for key, inside in value.items():
        nested = _flat(inside)
        flat |= {f"{key}.{k}": v for k, v in nested.items()} if isinstance(nested, Mapping) else {key: inside}
    return flat


class Config(Section):
    """A complete configuration. See the top of this file for its parts."""

    title: str = Field(default="", description="text in quotes")
    description: str = Field(default="", description="text in quotes")
    unit: str = Field(default="", description='text in quotes: whose data differ, such as "a person"')
    seed: Whole = Field(default=0, ge=0, description="a whole number >= 0")
    expected: dict[str, Any] = Field(default_factory=dict, description="a table of expected results")
    data: DataSection | None = Field(default=None, description="a table [data]")
    neighbours: NeighboursSection = Field(default=NeighboursSection(), description="a table [neighbours]")
    search: SearchSection | None = Field(default=None, description="a table [search]")
    mechanism: Named = Field(description="a table [mechanism]")
    game: OneRunSection | ReconstructionSection | None = Field(
        default=None, discriminator="name", description="a table [game] with a name"
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
        audit = table.get("audit", {})
        return {**table, "audit": {"confidence": OF_INTERVALS, **audit}} if isinstance(audit, Mapping) else table

    @classmethod
    def load(cls, name_or_path: str | Path, settings: Mapping[str, Any] | None = None) -> tuple[Config, Source]:
        """Load a configuration by its path, or a shipped one by its name, with `settings` on top.

        A key in `settings` is removed from the sweep.

        Returns:
            The configuration, and its source, which locates each of its keys.

        Raises:
            ConfigError: no such file, not TOML, or not a valid configuration; the message has file, line and key.
        """
        source = Source.find(name_or_path, settings)
        return cls.of(source), source

    @classmethod
    def of(cls, source: Source) -> Config:
        """Validate the configuration of a source, with its settings; raises `ConfigError` as `load` does."""
        if (command := command_of(source)) is not None:
            raise source.error((command,), f"[{command}] has no trials of its own, as experiments have: run it alone.")
        source.check_values(source.tables)
        config = cls.check(apply(source.tables, source.settings), source)
        return config.model_copy(update={"sweep": unswept(config.sweep, source.settings)})

    @classmethod
    def check(cls, table: Mapping[str, Any], source: Source) -> Config:
        """Validate the configuration in `table`; raise `ConfigError` with its errors, of many the first."""
        try:
            config = cls.model_validate(with_trained(table, source))
        except ValidationError as error:
            details = error.errors(include_url=False)
            messages = dict.fromkeys(_message(detail, source) for detail in details[:MAX_ERRORS])
            more = [f"and {len(details) - MAX_ERRORS:,} more errors."] if len(details) > MAX_ERRORS else []
            raise ConfigError("\n".join([*messages, *more])) from None
        check_expected(config.expected, EXPECTED, (EXPECTED,), source)
        check_exclusions(config, source)
        _check_game(config, source)
        _check_sweep(config, source)
        return config

    def resolved(self) -> dict[str, Any]:
        """Return every used key with its value, defaults included; plain values, without None."""
        unused: dict[str, Any] = {}
        if self.membership is not None:
            unused = dict.fromkeys(AUDITS_ONLY, True) | {"audit": set(AuditSection.model_fields) - {"confidence"}}
            unused |= {} if self.data is None or self.data.shadows is None else UNUSED
        elif self.game is not None:
            unused = {"audit": {"trials", "estimates"}}
        return _plain(self.model_dump(exclude_none=True, exclude=unused))  # type: ignore[no-any-return]

    @property
    def setup(self) -> dict[str, Any]:
        """Part of `resolved()` that determines the numbers: without texts, published and expected results."""
        setup = {key: value for key, value in self.resolved().items() if key not in WORDS}
        if CASE in self.sweep:
            setup["sweep"] = {key: without_results(key, value) for key, value in setup["sweep"].items()}
        return setup

    @property
    def data_files(self) -> list[str]:
        """Paths of the files of the user that [data] names, at all points of the sweep."""
        own = None if self.data is None else self.data.shadows or self.data.options.get("path")
        swept = [[settings({key: value}).get("data.path") for value in values] for key, values in self.sweep.items()]
        paths = [] if any(all(values) for values in swept) else [own]
        return list(dict.fromkeys(path for path in chain(*swept, paths) if isinstance(path, str)))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of the setup."""
        canonical = json.dumps(self.setup, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_toml(self) -> str:
        """Return the resolved configuration as TOML, which loads as an equal configuration."""
        return to_toml({k: value for k, value in self.resolved().items() if value not in ("", {}) or k == "membership"})


def _check_game(config: Config, source: Source) -> None:
    """Raise `ConfigError` for a key of [audit] that is not used in the game, here or in the sweep."""
    if config.game is None:
        return
    swept = [part for key, values in config.sweep.items() for part in swept_keys(key, values)]
    at_a_point = bool(source.swept)  # of a sweep, other points of which may use all keys of [audit]
    given = [key for key in UNUSED_IN_GAMES if is_set(config, f"audit.{key}") and (key == "stop" or not at_a_point)]
    for key in (key for key in UNUSED_IN_GAMES if key in given or f"audit.{key}" in swept):
        advice = f", and set {config.game.counted} in [game]" if key == "trials" else ""
        raise source.error(
            ("audit", key), f"[audit] {key} is not used in the game {config.game.name!r}: leave it out{advice}."
        )


def _check_sweep(config: Config, source: Source) -> None:
    """Raise `ConfigError` for keys that cannot be swept, and for duplicate values."""
    for key, values in config.sweep.items():
        if key == CASE:
            check_cases(values, source)
        for part in swept_keys(key, values):
            reason = NOT_SWEPT.get(part) or NOT_SWEPT.get(part.partition(".")[0])
            if reason:
                raise source.error(("sweep", key), f"{part} cannot be swept: {reason}.")
        texts = [json.dumps(_plain(value), sort_keys=True) for value in values]
        duplicate = repeated(texts)
        if duplicate is not None:
            raise source.error(
                ("sweep", key), f"the sweep over {key} has {duplicate} twice. To repeat audits, sweep over seed."
            )


def _message(detail: Any, source: Source) -> str:
    """Return the message of a pydantic error: location, key, allowed values, and the value."""
    if detail["type"].startswith("union_tag"):
        return _unknown_game(detail["input"].get("name"), source)
    path, table = _locate(detail["loc"])
    key = ".".join(path)
    if detail["type"] == "extra_forbidden":
        if path == (key,) and (inside := _tables_with(key, source)):
            return str(source.error(path, f"unknown key {key!r}. Did you mean {listed(map(repr, inside), 'or')}?"))
        place = f"key of [{'.'.join(path[:-1])}]" if path[:-1] else "key"
        return str(source.error(path, unknown_name_message(place, path[-1], table.model_fields)))
    allowed = table.model_fields["sweep" if path[0] == "sweep" else path[-1]].description
    if detail["type"] == "missing":
        needed = f"[{key}] is missing" if len(path) == 1 else f"{key} is missing"
        return str(source.error(path, f"{needed}: add {allowed}."))
    if allowed == f"a table [{key}]" and isinstance(detail["input"], str):
        name = json.dumps(detail["input"])
        return str(source.error(path, f"[{key}] is a table: write name = {name} below a line [{key}]."))
    value = f"{detail['input']!r} ({type(detail['input']).__name__})"
    return str(source.error(path, f"{key} must be {allowed}, but is {value}."))


def _tables_with(key: str, source: Source) -> list[str]:
    """Return the dotted keys "TABLE.KEY" of tables that have the key, in the text or by their model."""
    given = {name: table for name, table in source.tables.items() if isinstance(table, Mapping)}
    models = {name: _table_at(Config, name) for name in Config.model_fields}
    return [
        f"{name}.{key}"
        for name, model in models.items()
        if model is not None and (key in model.model_fields or key in given.get(name, ()))
    ]


def _unknown_game(name: Any, source: Source) -> str:
    """Return the message for an unknown game."""
    known = " or ".join(map(repr, GAMES))
    value = "is missing" if name is None else f"is {name!r}"
    message = f"game.name must be {known}, but {value}. Leave [game] out for runs on a pair of datasets."
    return str(source.error(("game", "name"), message))


def _locate(loc: tuple[Any, ...]) -> tuple[tuple[str, ...], type[BaseModel]]:
    """Return the dotted path of an error, and the model of the table that contains its last key.

    The parts that pydantic adds for unions, the name of the game, and list positions are left out.
    """
    path: list[str] = []
    table: type[BaseModel] = Config
    inner: type[BaseModel] | None = Config
    for part in map(str, loc):
        if path == ["sweep"]:
            return ("sweep", part), Config
        if path == ["game"] and part in GAMES:
            inner = GAMES[part]
        elif inner is None or (part not in inner.model_fields and inner.model_config["extra"] != "forbid"):
            break
        else:
            path.append(part)
            table, inner = inner, _table_at(inner, part)
    return tuple(path), table


def _table_at(table: type[BaseModel], key: str) -> type[BaseModel] | None:
    """Return the model of the table at a key; None for a plain value or an unknown key."""
    field = table.model_fields.get(key)
    kinds = () if field is None else (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _plain(value: Any) -> Any:
    """Return nested values with tuples as lists, without None."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
