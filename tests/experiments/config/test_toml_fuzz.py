"""Untrusted configurations: every key is found on its line, and a broken text is a refused, never a traceback."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from dpassay.experiments.config.overrides import parse_settings
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import CONFIGS, Source, shipped
from dpassay.experiments.config.toml_lines import _lines_of_keys, locate
from dpassay.mechanisms.core import ConfigError

TEXTS = 400

# --- valid texts, with known lines ---------------------------------------------------------------------------

LURES = (
    "x", "[audit]", "trials = 1", "# no comment", 'a \\"""b', "\\U0001F600", "\\\\", "\u2028", "\u0085", "'''", "]",
)  # fmt: skip
"""What stands in strings: what looks like something else, and what breaks lines elsewhere."""


class Writer:
    """Writes a random TOML text, and keeps the line of every key that it writes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.text, self.lines = rng, "", {}
        self.names = (f"k{i}" for i in range(10**6))

    @property
    def line(self) -> int:
        return self.text.count("\n") + 1

    def document(self) -> str:
        for _ in range(self.rng.randrange(1, 4)):
            self.entry(())
        for _ in range(self.rng.randrange(1, 6)):
            self.rng.choice([self.table, self.table, self.array_of_tables])()
        return self.text

    def note(self, path: tuple[str, ...], line: int) -> None:
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def gap(self) -> None:
        self.text += self.rng.choice(["", "", "\n", "# [x]\n", "  # k0 = 1\n\n", "\t"])

    def space(self) -> None:
        """Inside an array."""
        self.text += self.rng.choice(["", " ", "\n", ' # ] k = 1 """\n  ', "\n\n\t"])

    def key(self) -> tuple[str, str]:
        """A part of a key, and how it is written."""
        name = next(self.names)
        return self.rng.choice(
            [
                (name, name),
                (name, f'"{name}"'),
                (f"{name} . [=#]", f"'{name} . [=#]'"),
                (f'{name}"\\', f'"{name}\\"\\\\"'),
                (f"{name}\U0001f600é", f'"{name}\\U0001F600\\u00e9"'),
            ]
        )

    def dotted(self) -> tuple[tuple[str, ...], str]:
        parts = [self.key() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        return tuple(name for name, _ in parts), self.rng.choice([".", " . "]).join(text for _, text in parts)

    def entry(self, table: tuple[str, ...], end: str = "\n") -> None:
        if end == "\n":
            self.gap()
        names, text = self.dotted()
        self.note(table + names, self.line)
        self.text += text + self.rng.choice(["=", " = ", " =\t"])
        self.value(table + names, 0, multiline=end == "\n")
        self.text += self.rng.choice(["", "  # 1 = 2"]) + end if end == "\n" else ""

    def value(self, path: tuple[str, ...], depth: int, *, multiline: bool = True) -> None:
        kinds = [self.scalar, self.scalar, self.string, self.string]
        kinds += [self.array, self.inline] if depth < 3 else []
        self.rng.choice(kinds)(path, depth, multiline)

    def scalar(self, *_: Any) -> None:
        self.text += self.rng.choice(
            [
                "1",
                "-2_000",
                "0x_f".replace("_", ""),
                "1e5",
                "inf",
                "true",
                "1979-05-27",
                "1979-05-27 07:32:00Z",
                "07:32:00",
            ]
        )

    def string(self, _: Any, __: Any, multiline: bool) -> None:
        body = [self.rng.choice(LURES) for _ in range(self.rng.randrange(4))]
        kind = self.rng.randrange(4 if multiline else 2)
        if kind == 0:
            self.text += '"' + "".join(part.replace('"', '\\"').replace('\\\\"', '\\"') for part in body) + '"'
        elif kind == 1:
            self.text += "'" + "".join(part.replace("'", "") for part in body) + "'"
        elif kind == 2:
            ends = self.rng.choice(["", '"', '""'])
            self.text += '"""' + "\n".join(['"', *body]).replace('a \\"""b', 'a \\"""\\"b') + f'\\"{ends}"""'
        else:
            self.text += (
                "'''" + "\n".join(part.replace("'''", "''") for part in body) + "x" + "'" * self.rng.randrange(3)
            )
            self.text += "'''"

    def array(self, path: tuple[str, ...], depth: int, _: bool) -> None:
        self.text += "["
        for place in range(n := self.rng.randrange(4)):
            self.space()
            self.note((*path, str(place)), self.line)
            self.value((*path, str(place)), depth + 1)
            self.space()
            self.text += "," if place < n - 1 or self.rng.random() < 0.5 else ""
        self.space()
        self.text += "]"

    def inline(self, path: tuple[str, ...], _: int, __: bool) -> None:
        self.text += "{ "
        for place in range(self.rng.randrange(3)):
            self.text += ", " if place else ""
            self.entry(path, end="")
        self.text += " }"

    def table(self) -> None:
        self.gap()
        names, text = self.dotted()
        self.note(names, self.line)
        self.text += f"[{text}]" + self.rng.choice(["\n", " # [no]\n"])
        for _ in range(self.rng.randrange(3)):
            self.entry(names)

    def array_of_tables(self) -> None:
        names, text = self.dotted()
        for place in range(self.rng.randrange(1, 4)):
            self.gap()
            self.note((*names, str(place)), self.line)
            self.text += f"[[ {text} ]]\n"
            for _ in range(self.rng.randrange(3)):
                self.entry((*names, str(place)))
            if self.rng.random() < 0.5:
                inner, inner_text = self.dotted()
                self.note((*names, str(place), *inner), self.line)
                self.text += f"[{text}.{inner_text}]\n"
                self.entry((*names, str(place), *inner))


def paths(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key and element of what the real parser reads."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from paths(one, (*path, str(key)))


def test_every_key_of_a_random_text_is_found_on_its_line():
    n_keys = 0
    for seed in range(TEXTS):
        writer = Writer(random.Random(seed))
        text = writer.document()
        known = set(paths(tomllib.loads(text)))
        assert known == set(writer.lines), "the writer and the real parser disagree"
        assert dict(_lines_of_keys(text)) == writer.lines
        n_keys += len(known)
        for path in list(known)[:5]:
            assert locate(text, path) == writer.lines[path]
            assert locate(text, (*path, "missing")) == writer.lines[path]
        windows = text.replace("\n", "\r\n")
        assert dict(_lines_of_keys(windows)) == writer.lines
    assert n_keys > 5_000


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = [\n  'x = 1',\nb = 2\n", ("b",), None),
        ("a = [\n1,\n2]\nb = 3", ("b",), 4),
        ('a = """\\"""\nb = 1\n"""\nb = 2', ("b",), 4),
        ('a = "\u2028"\nb = 2', ("b",), 2),
        ("[a.b]\nc = 1", ("a",), 1),
        ("[a.b]\nc = 1\n[a]\nd = 1", ("a",), 3),
        ('"\\U0001F600" = 1\nb = 2', ("\U0001f600",), 1),
        ("[sweep]\nseed = [1]\nmechanism.epsilon = [1]", ("sweep", "mechanism.epsilon"), 3),
        ("[[sweep.case]]\nname = 'a'\n[[sweep.case]]\n\na = {name = 1}", ("sweep", "case", "1", "a", "name"), 5),
        ("[sweep]\ncase = [\n{name = 'a'},\n{name = 'b'},\n]", ("sweep", "case", "1", "name"), 4),
        ("", ("a",), None),
    ],
)  # fmt: skip
def test_what_once_was_found_on_a_wrong_line(text, path, line):
    assert locate(text, path) == line


# --- broken texts --------------------------------------------------------------------------------------------

PIECES = (
    "[", "]", "[[", "]]", "{", "}", "=", '"', "'", '"""', "'''", "#", "\n", "\r", ".", ",", "\\U", "\\U0011FFFF",
    "\x00", "\x1b[31m", "\u2028", "inf", "nan", "1979-05-27", "9" * 5000, "9" * 30, "-", "[" * 300, "{a=" * 300, "true",
    "''", "\ud800",
)  # fmt: skip


def broken(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, size = rng.randrange(len(text) + 1), rng.choice((0, 0, 1, 5, 40))
        text = text[:at] + rng.choice(PIECES) + text[at + size :]
    return text


def error_or_config(text: str) -> str:
    """What is said about a text; nothing when it is a configuration."""
    source = Source("mine", "mine.toml", text)
    try:
        table = source.tables
        source.check_values(table)
        Config.check(table, source)
    except ConfigError as error:
        return str(error)
    return ""


def test_a_broken_text_raises_a_config_error_with_its_line():
    rng, said = random.Random(3), 0
    texts = [(CONFIGS / f"{name}.toml").read_text("utf-8") for name in shipped()]
    for turn in range(1_200):
        text = broken(texts[turn % len(texts)], rng)
        _lines_of_keys(text)
        refused = error_or_config(text)
        assert not refused or refused.startswith("mine.toml"), refused
        said += bool(refused)
    assert said > 600


def test_random_text_of_no_meaning_is_read_without_an_error():
    rng = random.Random(4)
    for _ in range(1_000):
        text = "".join(rng.choice((*PIECES, "a", "b = 1\n", " ", "[x]\n")) for _ in range(rng.randrange(12)))
        _lines_of_keys(text)
        error_or_config(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("epsilon = 1979-05-27", r"mine\.toml:2: mechanism\.epsilon is a date or a time, 1979-05-27, which no key"),
        ("epsilon = 07:32:00", r"mine\.toml:2: mechanism\.epsilon is a date or a time, 07:32:00"),
        ("epsilon = [1, 1979-05-27 07:32:00Z]", r"mine\.toml:2: mechanism\.epsilon\.1 is a date"),
        (f"epsilon = {'9' * 5000}", r"mine\.toml:2: a number with thousands of digits"),
        (f"epsilon = {'9' * 400}", r"mine\.toml:2: mechanism\.epsilon is a whole number of more than 64 bits"),
        (f"epsilon = {'[' * 5000}", r"mine\.toml:2: a number with thousands of digits, or hundreds of nested brackets"),
        (f"epsilon = {'[' * 60}{']' * 60}", r"mine\.toml:2: mechanism\.epsilon\.0.* is nested in more than 20 lists"),
    ],
)  # fmt: skip
def test_a_value_that_no_key_takes_is_named_with_its_line(line, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(f"[mechanism]\n{line}\nname = 'laplace'\n")
    with pytest.raises(ConfigError, match=message):
        Config.load("mine.toml")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("mechanism.epsilon=1979-05-27", r"^--set mechanism\.epsilon: mechanism\.epsilon is a date"),
        (f"mechanism.epsilon={'9' * 5000}", r"neither valid TOML nor a plain word"),
        (f"mechanism.epsilon={'9' * 400}", r"^--set mechanism\.epsilon: mechanism\.epsilon is a whole number of more"),
        (f"mechanism.epsilon={'[' * 5000}", r"neither valid TOML nor a plain word"),
        (f"mechanism.epsilon={'[' * 60}{']' * 60}", r"^--set mechanism\.epsilon: .* is nested in more than 20 lists"),
        (f"mechanism{'.a' * 60}=1", r"^--set mechanism\.a.* is nested in more than 20 lists or tables"),
    ],
)
def test_a_setting_that_no_key_takes_is_named(setting, message):
    with pytest.raises(ConfigError, match=message) as caught:
        Config.load("laplace-count", parse_settings([setting]))
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("name", ["x" * 5000, "x/" * 3000, "a\0b", "x" * 5000 + ".toml"])
def test_a_configuration_with_an_impossible_name_is_a_config_error(name):
    with pytest.raises(ConfigError, match=r"configuration|experiment"):
        Config.load(name)


def test_the_json_of_a_swept_date_never_comes_to_be():
    with pytest.raises(ConfigError, match="date"):
        Config.load("laplace-count", {"sweep.seed": [tomllib.loads("a = 1979-05-27")["a"]]})
    assert json.dumps(Config.load("laplace-count")[0].setup)
