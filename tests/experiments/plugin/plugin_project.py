"""Small projects that use the plugin, and sessions of pytest run on them in processes of their own."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
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
    junit: str

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

    def run(
        self,
        *arguments: str,
        plugin: bool = True,
        fresh: bool = False,
        path: tuple[Path, ...] = (),
        columns: int = 160,
        **environment: str,
    ) -> Session:
        """One session; the checks are read from its JUnit file. It is `fresh` in a process that imported nothing."""
        junit = self.folder / JUNIT
        junit.unlink(missing_ok=True)
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))} | SETTINGS
        variables["COLUMNS"] = str(columns)
        ours = ["-p", "dpassay.pytest_plugin"] if plugin else []
        words = [*ours, "-p", "no:cacheprovider", f"--junitxml={junit}", *arguments]
        if fresh or environment:
            variables["PYTHONPATH"] = os.pathsep.join(map(str, (*path, LIBRARY)))
            command = [sys.executable, "-P", "-m", "pytest", *words]
            done = subprocess.run(
                command, cwd=self.folder, env=variables | environment, capture_output=True, text=True, timeout=600
            )
            return Session(done.returncode, done.stdout + done.stderr, _checks(junit), _text(junit))
        code, output = _copies().run(self.folder, list(map(str, path)), words, columns)
        return Session(code, output, _checks(junit), _text(junit))


SETTINGS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONWARNINGS": "error"}
COPYING = """
import gc, json, os, signal, sys, tempfile
import pytest, joblib, sklearn.ensemble, sklearn.linear_model, dpassay.audit, dpassay.mechanisms, dpassay.pytest_plugin
from dpassay.audit.games import diagnostics
from dpassay.audit.randomness import experiment

experiment.N_FEW = experiment.MAX_PROCESSES = diagnostics.N_FEW = 2  # each imports the project
gc.freeze()
for request in sys.stdin:
    folder, path, words, columns = json.loads(request)
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            signal.alarm(600)
            os.chdir(folder)
            os.environ["COLUMNS"] = str(columns)
            sys.path[:0] = path
            for number in (1, 2):
                os.dup2(output.fileno(), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.exit(pytest.main(words))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        print(json.dumps([code, output.read().decode()]), flush=True)
"""


class Copies:
    """A process that has imported the library, and runs each session in a copy of itself: nothing is imported twice."""

    def __init__(self) -> None:
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))} | SETTINGS
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", COPYING],
            env=variables | {"PYTHONPATH": str(LIBRARY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def run(self, folder: Path, path: list[str], words: list[str], columns: int) -> tuple[int, str]:
        """Exit code and output of a session."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), path, words, columns]) + "\n")
        self.process.stdin.flush()
        code, output = json.loads(self.process.stdout.readline())
        return code, output


@cache
def _copies() -> Copies:
    return Copies()


def _text(junit: Path) -> str:
    return junit.read_text(encoding="utf-8") if junit.exists() else ""


def _checks(junit: Path) -> dict[tuple[str, int], dict[str, Any]]:
    if not junit.exists():
        return {}
    properties = ElementTree.parse(junit).iterfind(".//property[@name='dp_check']")
    checks = [json.loads(entry.attrib["value"]) for entry in properties]
    return {(check["test"], check["call"]): check for check in checks}
