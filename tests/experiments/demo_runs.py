"""Demos, each played once in a process: what it found, and what it printed."""

import contextlib
import functools
import io
import tempfile
from pathlib import Path

import pytest

from dpassay.audit.power.power import Detectable
from dpassay.experiments.demos import catalogue, get

LONG = {"error-of-mwem", "five-generators", "five-marginals"}
"""Demos of 15 seconds and more, whose numbers have tests of their own."""
FOR_THE_FIGURE = {"dp-sgd"}
"""Demos that compute curves for their figure alone; these have tests of their own."""


def demos_in(folder):
    """A mark: for each demo of a folder of the demos, "" for none."""
    names = [name for name, entry in catalogue.entries.items() if _folder(entry) == folder]
    marked = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in names]
    return pytest.mark.parametrize("name", marked)


def _folder(entry):
    module = entry.partition(":")[0].removeprefix("dpassay.experiments.demos.")
    return module.rpartition(".")[0]


def play(name):
    """What the demo found."""
    return _played(name)[0]


def check_reading(name):
    """What the demo printed reads well in a pipe."""
    text = _played(name)[1]
    assert text.count("──") > 3
    assert max(map(len, text.splitlines())) <= 92
    assert "\x1b" not in text
    assert "{" not in text


@functools.cache
def _played(name):
    """Panels are drawn, but not laid out and saved; what an audit could have detected is not searched for."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as out,
    ):
        patch.setattr("dpassay.audit.power.power.detectable_epsilon", lambda *_, **__: Detectable(1.0, "any"))
        patch.setattr("dpassay.experiments.demos.demo.save", lambda *_, **__: [])
        result = get(name)(Path(out) if name not in FOR_THE_FIGURE else None)
    return result, printed.getvalue()
