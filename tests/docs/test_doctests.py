"""Every example in a docstring runs."""

import doctest
import importlib
import importlib.util
import linecache
import pkgutil
from pathlib import Path

import pytest

from dpassay import attacks, audit, experiments, mechanisms

MODULES = [
    module.name
    for room in (mechanisms, attacks, audit, experiments)
    for module in pkgutil.walk_packages(room.__path__, prefix=f"{room.__name__}.")
    if ">>> " in Path(module.module_finder.find_spec(module.name).origin).read_text()
    and (importlib.util.find_spec("opacus") or not module.name.endswith(".opacus.training"))
]
"""Modules with examples."""


@pytest.fixture(autouse=True)
def _files_stay_as_they_are(monkeypatch):
    """A debugger, which doctest makes ready for each docstring, looks whether one of a thousand files has changed."""
    monkeypatch.setattr(linecache, "checkcache", lambda filename=None: None)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_no_examples_disappear():
    """About 1,500 examples exist."""
    finder = doctest.DocTestFinder()
    n_examples = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert n_examples >= 1_400
