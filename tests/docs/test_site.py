"""What makes the site: the check in a browser finds each kind of fault, and the cache of executed pages is safe."""

import runpy
import shutil
from pathlib import Path

import pytest

BROWSE = Path(__file__).parents[2] / "docs" / "site" / "browse.py"
EXECUTED = BROWSE.with_name("executed.py")
FAULTS = {
    '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">': "no alternative text",
    '<img alt="x" src="https://example.com/x.png">': "external request: https://example.com/x.png",
    '<article><table style="width:900px"><tr><td>x</td></tr></table></article>': "a table leaves its box",
    '<script src="gone.js"></script>': "request without an answer: /gone.js: 404",
    "<script>undefined_name()</script>": "undefined_name is not defined",
    "<article><svg></svg></article>": "an SVG without title",
}


@pytest.mark.slow
def test_the_browser_check_names_each_fault(tmp_path):
    browse = runpy.run_path(str(BROWSE))
    browser = next(filter(None, map(shutil.which, browse["BROWSERS"])), None)
    if browser is None:
        pytest.skip("needs Chromium")
    for number, fault in enumerate(FAULTS):
        (tmp_path / f"{number}.html").write_text(f"<!doctype html>{fault}")
    (tmp_path / "right.html").write_text(
        '<!doctype html><article><img alt="x" src="data:,"><svg><title>x</title></svg>'
    )
    found = browse["problems"](tmp_path, browser)
    assert [said for said in FAULTS.values() if not any(said in line for line in found)] == []
    assert [line for line in found if line.startswith("right.html")] == []


def test_an_executed_page_is_stale_when_code_that_it_used_has_changed(tmp_path):
    executed = runpy.run_path(str(EXECUTED))
    digest = executed["digest"].__wrapped__
    module = tmp_path / "module.py"
    module.write_text("def f():\n    return 1\n")
    before = digest(module)
    assert digest(module) == before
    module.write_text("def f():\n    return 2\n")
    assert digest(module) != before
    assert digest(tmp_path / "gone.py") is None
