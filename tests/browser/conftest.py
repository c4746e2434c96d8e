"""A browser, and small runs whose pages it opens."""

import importlib
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from tests.browser.runs import RUNS

SITE = Path(__file__).parents[2] / "docs" / "site"
sys.path.append(str(SITE))


@pytest.fixture(scope="session")
def browser():
    """Chromium; tests are skipped where it is not installed."""
    chromium = importlib.import_module("chromium")
    if chromium.installed() is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with chromium.Chromium() as found:
        yield found


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core, which `make test-browser` installs."""
    try:
        return distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js").read_text()
    except PackageNotFoundError:
        pytest.skip("axe-core is not installed: make test-browser")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A function that returns the folder `out` of a run by its name; each run is made once."""

    @cache
    def folder(name):
        place = tmp_path_factory.mktemp(name)
        RUNS[name](place)
        return place / "out"

    return folder
