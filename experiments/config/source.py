"""Where a configuration came from, so that every error in it points at the file, the line and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from datetime import time as clock
from itertools import chain
from pathlib import Path
from typing import Any

from ...mechanisms.errors import ConfigError, UnknownNameError
from .toml_lines import locate

DEEPEST = 20
"""Lists and tables that may lie in each other."""
UNREADABLE = "a number with thousands of digits, or hundreds of brackets in each other, cannot be read"
CONFIGS = Path(__file__).parents[1] / "configs"


@dataclass(frozen=True)
class Source:
    """The text of a configuration, and what was set on top of it.

    Args:
        name: of the experiment: the file name without `.toml`.
        label: the file, as shown in messages.
        text: its content.
        settings: dotted key -> value of each `--set`.
        swept: dotted key -> where the sweep sets it, for the point that is being checked.
    """

    name: str
    label: str
    text: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    swept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def find(cls, name_or_path: str | Path, settings: Mapping[str, Any] | None = None) -> Source:
        """The configuration of that path, or of that name among those that come with dpassay.

        Raises:
            ConfigError: no such file (the nearest names are listed), or it cannot be read.
        """
        try:
            path = _path_of(name_or_path)
            content = path.read_bytes()
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise ConfigError(f"{path}:{line}: this is not UTF-8 text, as TOML has to be. Save it as UTF-8.") from error
        except (OSError, ValueError) as error:
            path, reason = Path(name_or_path), getattr(error, "strerror", None) or error
            raise ConfigError(f"cannot read the configuration {path}: {str(reason).removesuffix('.')}.") from error
        return cls(path.stem, _shown(path), text, dict(settings or {}))

    def parse(self) -> dict[str, Any]:
        """The tables of the text; raises `ConfigError` with the line where the TOML breaks off."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            message, line = _syntax(str(error), self.text)
            raise ConfigError(f"{self.label}:{line}: not valid TOML: {message}.") from error
        except (ValueError, RecursionError) as error:  # too many digits, brackets in brackets
            raise ConfigError(f"{self.label}:{_monster(self.text)}: {UNREADABLE}.") from error

    def check_values(self, table: Mapping[str, Any]) -> None:
        """Raises `ConfigError` with the place of the first value, also of a setting, that no key takes."""
        set_here = (_values(value, tuple(key.split("."))) for key, value in self.settings.items())
        for path, value in chain(*set_here, _values(table)):
            if (reason := _refused(value, len(path))) is not None:
                raise self.error(path, f"{'.'.join(path)[:60]} {reason}")

    def where(self, path: tuple[str, ...]) -> str:
        """The place where the key at `path` was set: "--set KEY", or "FILE:LINE", that of the sweep if it is swept.

        An error in a table is about what was set in it on top of the file, if anything was.
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
        """The error `message` about the key at `path`, with its place."""
        return ConfigError(f"{self.where(path)}: {message}")


def _values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value with its path, as deep as a configuration may go."""
    yield path, value
    if len(path) > DEEPEST:
        return
    inside = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from _values(one, (*path, str(key)))


def _refused(value: Any, depth: int) -> str | None:
    """Why no key of a configuration takes a value; None if one may."""
    if isinstance(value, date | clock):
        return f"is a date or a time, {value}, which no key takes. Put it in quotes to make it text."
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "is a whole number of more than 64 bits, which TOML does not allow."
    if depth > DEEPEST:
        return f"lies in more than {DEEPEST} lists or tables, one in the other. Take some of the brackets away."
    return None


def _monster(text: str) -> int:
    """The line of what is too much for the reader of TOML: the most digits, or the most brackets."""
    lines = text.split("\n")
    longest = max(range(len(lines)), key=lambda i: max(map(len, re.findall(r"[\d_]+|[\[{]+", lines[i])), default=0))
    return longest + 1


def _overlap(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one of two keys is the other, or a table around it."""
    return path[: len(other)] == other[: len(path)]


LISTED_BY = "`dpassay list experiments` lists the names."


def shipped() -> list[str]:
    """Names of the configurations that come with dpassay."""
    return sorted(path.stem for path in CONFIGS.glob("*.toml"))


def _path_of(name_or_path: str | Path) -> Path:
    """A file by its path, or one of the shipped ones by its name."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    name = path.name.removesuffix(".toml")
    if path.parent == Path() and name in shipped():
        return CONFIGS / f"{name}.toml"
    if path.suffix == ".toml" or path.parent != Path():
        kind = "is a folder" if path.is_dir() else "does not exist"
        raise ConfigError(f"the configuration {path} {kind}. Give a .toml file, or a name. {LISTED_BY}")
    raise ConfigError(f"{UnknownNameError('experiment', str(name_or_path), shipped())} {LISTED_BY}")


def _shown(path: Path) -> str:
    """The path as a person would write it from the current folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _syntax(message: str, text: str) -> tuple[str, int]:
    """What is wrong, without the position, and the line of it."""
    if found := re.search(r" \(at line (\d+), column \d+\)$", message):
        return message[: found.start()].rstrip("."), int(found[1])
    return message.removesuffix(" (at end of document)").rstrip("."), text.count("\n") + 1
