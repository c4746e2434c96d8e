"""Small projects that use the plugin, and sessions of pytest run on them in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree

import dpassay

LIBRARY = Path(dpassay.__file__).parent.parent
JUNIT = "junit.xml"
RULES = ("==", "__", "--")


@dataclass(frozen=True)
class Session:
    """What one session of pytest left behind."""

    code: int
    output: str
    checks: dict[tuple[str, int], dict[str, Any]]

    def section(self, title: str) -> list[str]:
        """Lines of the part of the output whose rule holds `title`, up to the next rule."""
        lines = self.output.splitlines()
        start = next(i for i, line in enumerate(lines) if title in line and line[:2] in RULES) + 1
        end = next(i for i, line in enumerate([*lines[start:], "=="], start) if line[:2] in RULES)
        return [line for line in lines[start:end] if line.strip()]


@dataclass(frozen=True)
class Project:
    """A folder with tests."""

    folder: Path

    def write(self, **files: str) -> Project:
        """`name="..."` writes name.py; `pytest_ini` is the ini file."""
        (self.folder / "pytest.ini").touch()
        for name, text in files.items():
            path = self.folder / ("pytest.ini" if name == "pytest_ini" else f"{name}.py")
            path.write_text(dedent(text))
        return self

    def run(self, *arguments: str, plugin: bool = True, path: tuple[Path, ...] = (), **environment: str) -> Session:
        """One session; the checks are read from its JUnit file."""
        junit = self.folder / JUNIT
        junit.unlink(missing_ok=True)
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
        variables |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "160", "PYTHONWARNINGS": "error"} | environment
        variables["PYTHONPATH"] = os.pathsep.join(map(str, (*path, LIBRARY)))
        ours = ["-p", "dpassay.pytest_plugin"] if plugin else []
        command = [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            *ours,
            "-p",
            "no:cacheprovider",
            f"--junitxml={junit}",
            *arguments,
        ]
        done = subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, timeout=600)
        return Session(done.returncode, done.stdout + done.stderr, _checks(junit))


def _checks(junit: Path) -> dict[tuple[str, int], dict[str, Any]]:
    if not junit.exists():
        return {}
    properties = ElementTree.parse(junit).iterfind(".//property[@name='dp_check']")
    checks = [json.loads(entry.attrib["value"]) for entry in properties]
    return {(check["test"], check["call"]): check for check in checks}
