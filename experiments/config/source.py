"""The source of a configuration, which locates errors by file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time as clock
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from ...mechanisms.core import ConfigError, ParameterError, PlugInError, UnknownNameError, registered
from .toml_lines import locate

DEEPEST = 20
"""Largest depth of nested lists and tables."""
MAX_KEY_PARTS = 100
"""Largest number of parts of a dotted key: the time to read one grows with their square."""
_LONG_KEY = re.compile(rf"^[ \t\[]*(?:[A-Za-z0-9_'\"-]+[ \t]*\.[ \t]*){{{MAX_KEY_PARTS}}}", re.MULTILINE)
UNREADABLE = "a number with thousands of digits, or hundreds of nested brackets, cannot be read"
CONFIGS = Path(__file__).parents[1] / "configs"


@dataclass(frozen=True)
class Source:
    """The text of a configuration, and the settings on top of it.

    Args:
        name: of the experiment: the file name without `.toml`.
        label: the file, as shown in messages.
        text: its content.
        settings: dotted key -> value of each `--set`.
        swept: dotted key -> path of the sweep entry that sets it, for the point that is being checked.
        allowed: name of a module -> its file, or the name again: user code that the caller, not the text, allows.
    """

    name: str
    label: str
    text: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    swept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allowed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def find(cls, name_or_path: str | Path, settings: Mapping[str, Any] | None = None) -> Source:
        """Find a configuration by its path, or by its name among those that come with dpassay.

        Raises:
            ConfigError: no such file (the nearest names are listed), or it cannot be read.
            ParameterError: `settings` is no mapping.
        """
        if not isinstance(settings, Mapping | None):
            allowed = 'map dotted keys to values, such as {"audit.trials": 1000}'
            raise ParameterError(argument="settings", value=settings, allowed=allowed)
        try:
            path = _path_of(name_or_path)
            content = path.read_bytes()
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise ConfigError(
                f"{path}:{line}: this is not UTF-8 text, which TOML requires. Save it as UTF-8."
            ) from error
        except (OSError, ValueError) as error:
            path, reason = Path(name_or_path), getattr(error, "strerror", None) or error
            raise ConfigError(f"cannot read the configuration {path}: {str(reason).removesuffix('.')}.") from error
        label = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        return cls(path.stem, str(label), text, dict(settings or {}))

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The tables of the text; raises `ConfigError` with the line of a syntax error."""
        if (key := _LONG_KEY.search(self.text)) is not None:
            raise ConfigError(
                f"{self.label}:{self.text.count(chr(10), 0, key.start()) + 1}: a key has more than {MAX_KEY_PARTS} "
                "parts, which stand between dots. Shorten it."
            )
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            message, line = _syntax(str(error), self.text)
            hint = " Text stands in quotes, as in name = 'laplace'." if message == "Invalid value" else ""
            raise ConfigError(f"{self.label}:{line}: not valid TOML: {message}.{hint}") from error
        except (ValueError, RecursionError) as error:  # too many digits or nested brackets
            raise ConfigError(f"{self.label}:{_extreme_line(self.text)}: {UNREADABLE}.") from error

    def check_values(self, table: Mapping[str, Any]) -> None:
        """Raise `ConfigError` with the location of the first value, also of a setting, that no key accepts."""
        set_here = (_values(value, tuple(key.split("."))) for key, value in self.settings.items())
        for path, value in chain(*set_here, _values(table)):
            if isinstance(value, date | clock):
                reason = f"is a date or a time, {value}, which no key accepts. Put it in quotes to make it text."
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                reason = "is a whole number of more than 64 bits, which TOML does not allow."
            elif len(path) > DEEPEST:
                reason = f"is nested in more than {DEEPEST} lists or tables. Remove some of the brackets."
            else:
                continue
            raise self.error(path, f"{'.'.join(path)[:60]} {reason}")

    def where(self, path: tuple[str, ...]) -> str:
        """Return the location of the key at `path`: "--set KEY", or "FILE:LINE", that of the sweep if it is swept.

        An error in a table is located at a setting on top of the file, if there is one in this table.
        """
        for key, place in self.swept.items():
            if _overlap(path, tuple(key.split("."))):
                return replace(self, swept={}).where(place)
        for key in self.settings:
            if _overlap(path, tuple(key.split(".", 1) if key.startswith("sweep.") else key.split("."))):
                return f"--set {key}"
        line = locate(self.text, path)
        return self.label if line is None else f"{self.label}:{line}"

    def error(self, path: tuple[str, ...], message: str) -> ConfigError:
        """Return an error with `message` about the key at `path`, with its location."""
        return ConfigError(f"{self.where(path)}: {message}")


def _values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every value with its path, down to one level below the largest depth of a configuration."""
    yield path, value
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items if len(path) <= DEEPEST else ():
        yield from _values(item, (*path, str(key)))


def _extreme_line(text: str) -> int:
    """Return the line that the TOML parser cannot handle: the most digits, or the most brackets."""
    lines = text.split("\n")
    longest = max(range(len(lines)), key=lambda i: max(map(len, re.findall(r"[\d_]+|[\[{]+", lines[i])), default=0))
    return longest + 1


def _overlap(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether one of two keys equals the other, or is a table that contains it."""
    return path[: len(other)] == other[: len(path)]


LISTED_BY = "`dpassay list experiments` lists the names."


def allowed_modules(allow: Sequence[str]) -> dict[str, str]:
    """Return name -> location of modules that a caller allows a configuration to name: files, or importable modules.

    Raises:
        ParameterError: a file does not exist, or two have one name.

    >>> allowed_modules(["package.mine"])
    {'package.mine': 'package.mine'}
    """
    allowed: dict[str, str] = {}
    for location in map(str, allow):
        name = Path(location).stem if location.endswith(".py") else location
        if location.endswith(".py") and not Path(location).is_file():
            raise ParameterError(
                argument="allow", value=location, allowed="be an existing Python file, or an importable module"
            )
        if not name or ":" in name or allowed.setdefault(name, location) != location:
            raise ParameterError(
                argument="allow", value=location, allowed="name one module, such as mine.py, and each name once"
            )
    return allowed


def shipped() -> list[str]:
    """Return the names of the configurations that come with dpassay."""
    return sorted(path.stem for path in CONFIGS.glob("*.toml"))


def named() -> dict[str, Path]:
    """Return name -> file of the configurations that come with dpassay, and with installed packages.

    An entry point of the group "dpassay.experiments" names a package, whose folder has the files.

    Raises:
        PlugInError: a folder cannot be found, or a name stands twice.
    """
    files = {path.stem: path for path in sorted(CONFIGS.glob("*.toml"))}
    for entry in (entry for entries in registered("dpassay.experiments").values() for entry in entries):
        try:
            spec = find_spec(entry.location)
        except ImportError:
            spec = None
        folders = [] if spec is None else spec.submodule_search_locations or []
        paths = sorted(path for folder in folders for path in Path(folder).glob("*.toml"))
        if not paths:
            raise PlugInError(f"{entry.package} registers experiments in {entry.location}, which has no .toml file.")
        for path in paths:
            if files.setdefault(path.stem, path) != path:
                raise PlugInError(
                    f"experiment {path.stem!r} stands twice: {files[path.stem]} and {path} of {entry.package}. Rename "
                    "one of the files, or uninstall the package."
                )
    return files


def _path_of(name_or_path: str | Path) -> Path:
    """Return a file by its path, or a shipped one by its name."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.parent == Path() and (found := named().get(path.name.removesuffix(".toml"))):
        return found
    if path.suffix == ".toml" or path.parent != Path():
        kind = "is a folder" if path.is_dir() else "does not exist"
        raise ConfigError(f"the configuration {path} {kind}. Pass a .toml file, or a name. {LISTED_BY}")
    raise ConfigError(f"{UnknownNameError('experiment', str(name_or_path), named())} {LISTED_BY}")


def _syntax(message: str, text: str) -> tuple[str, int]:
    """Return the message of a syntax error without the position, and its line."""
    if position := re.search(r" \(at line (\d+), column \d+\)$", message):
        return message[: position.start()].rstrip("."), int(position[1])
    return message.removesuffix(" (at end of document)").rstrip("."), text.count("\n") + 1
