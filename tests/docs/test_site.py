"""What makes the site: links stay links, the checks find each kind of fault, the cache of executed pages is safe."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
FAULTS = {
    '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">': "no alternative text",
    '<img alt="x" src="https://example.com/x.png">': "external request: https://example.com/x.png",
    '<article><table style="width:1300px"><tr><td>x</td></tr></table></article>': "a table leaves its box",
    '<script src="gone.js"></script>': "ERR_FILE_NOT_FOUND",
    "<script>undefined_name()</script>": "undefined_name is not defined",
    '<script>console.error("said so")</script>': "said so",
    "<article><svg></svg></article>": "an SVG without title",
    '<p style="width:1300px">x</p>': "1308 pixels wide: P.null",
    '<div class="highlight"><pre style="overflow:auto">' + 300 * "x" + "</pre></div>": "code is cut: xxx",
}
SOURCE = ROOT / "docs" / "how-to" / "a.md"
PLACES = {ROOT / "docs" / "how-to" / "b.md": "how-to/b.md", ROOT / "README.md": "index.md"}


@pytest.fixture
def site(monkeypatch):
    """The modules of docs/site, by name."""
    monkeypatch.syspath_prepend(SITE)
    return importlib.import_module


def write(folder, pages):
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[b](b.md)", "[b](b.md)"),
        ("[two\nlines](b.md#there)", "[two\nlines](b.md#there)"),
        ("[home](../../README.md)", "[home](../index.md)"),
        ("[`code`](../../pyproject.toml)", '<a href="../files/pyproject.toml.txt">`code`</a>'),
        ("`[b](gone.md)` and\n```python\nf[0](x)\n```\n", "`[b](gone.md)` and\n```python\nf[0](x)\n```\n"),
        ("![picture](b.png), [away](https://example.com/b.md), [here](#here)",) * 2,
    ],
)
def test_a_link_leads_from_the_place_of_its_page_to_the_same_target(site, text, written):
    assert site("links").rewritten(text, "how-to/a.md", SOURCE, PLACES, {}) == written


def test_links_of_the_front_page_start_from_its_source(site):
    links, source = site("links"), SITE / "index.md"
    place = {ROOT / "docs" / "tutorials" / "first-audit.md": "tutorials/first-audit.md"}
    text = links.rewritten("[first](../tutorials/first-audit.md)", "index.md", source, place, {})
    assert text == "[first](tutorials/first-audit.md)"


def test_files_that_are_linked_to_are_copied_and_missing_ones_refused(site):
    files = {}
    site("links").rewritten("[x](../../tests/conftest.py)", "how-to/a.md", SOURCE, PLACES, files)
    assert files == {"files/tests/conftest.py.txt": ROOT / "tests" / "conftest.py"}
    with pytest.raises(ValueError, match=r"a\.md: a link to gone\.md"):
        site("links").rewritten("[x](gone.md)", "how-to/a.md", SOURCE, PLACES, files)


@pytest.mark.parametrize(
    ("shown", "problem"),
    [
        ('<a href="b.html#there">b</a>', None),
        ("<span>b</span>", "the link to how-to/b.html of a.md is no link in the page"),
        ('<a href="b.html#there">b</a> <a href="gone.html">x</a>', "a link to gone.html, which does not exist"),
        ('<a href="b.html#gone">b</a>', "a link to b.html#gone, which does not exist"),
        ('<a href="../how-to/b.html">b</a> <a href="../">x</a>', "a link to ../, which does not exist"),
    ],
)
def test_the_check_of_links_finds_a_planted_fault(site, tmp_path, shown, problem):
    write(tmp_path, {"how-to/a.html": shown, "how-to/b.html": '<h2 id="there">b</h2>'})
    sources = {"how-to/a.md": (SOURCE, "See [b](b.md#there).")}
    found = site("links").problems(tmp_path, sources, PLACES)
    assert found == ([] if problem is None else [f"how-to/a.html: {problem}"])


def test_a_link_that_occurs_twice_in_a_source_occurs_twice_in_the_page(site, tmp_path):
    write(tmp_path, {"how-to/a.html": '<a href="b.html">b</a>', "how-to/b.html": ""})
    sources = {"how-to/a.md": (SOURCE, "[b](b.md) and [again](b.md)"), "how-to/c.md": (SOURCE, "")}
    found = site("links").problems(tmp_path, sources, PLACES)
    assert [line.partition(":")[0] for line in found] == ["how-to/a.html", "how-to/c.html"]


# --- executed pages ---------------------------------------------------------------------------------------------------


@pytest.fixture
def job(site, tmp_path):
    """A demo that was executed with a module and a table."""
    executed = site("executed")
    files = {
        "docs/demos/d.md": "# Is it?\n\n```{code-cell} python\n:tags: [hide-input]\n\nx = 1\n```\n\n+++\n\nText.\n"
    }
    write(tmp_path, files | {"module.py": "x = 1", "table.csv": "1"})
    one = executed.Job(tmp_path / "docs" / "demos" / "d.md", tmp_path, tmp_path / "cache")
    known = {file: executed.digest.__wrapped__(tmp_path / file) for file in (*files, "module.py", "table.csv")}
    uses = json.dumps({"libraries": executed.versions(), "files": known})
    write(one.folder, {"body.md": "executed", "uses.json": uses})
    executed.digest.cache_clear()
    yield one
    executed.digest.cache_clear()


def test_an_executed_page_is_reused_while_nothing_that_it_used_has_changed(job):
    assert job.is_fresh()
    assert job.body() == "executed"


@pytest.mark.parametrize("changed", ["docs/demos/d.md", "module.py", "table.csv"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_page_is_executed_again_when_a_file_that_it_used_has_changed(job, changed, gone):
    path = job.root / changed
    if gone and path != job.page:
        path.unlink()
    else:
        path.write_text(path.read_text() + "\n")
    assert not job.is_fresh()


def test_a_page_is_executed_again_with_another_version_of_a_library(job, site, monkeypatch):
    monkeypatch.setattr(site("executed"), "versions", lambda: {"python": "4.0"})
    assert not job.is_fresh()


def test_a_page_that_is_not_executed_yet_has_its_text_and_code(job):
    (job.folder / "uses.json").unlink()
    assert job.body() == "# Is it?\n\n```python\nx = 1\n```\n\n\nText.\n"


def test_an_executed_page_records_its_modules_and_the_tables_that_it_reads(site, monkeypatch):
    executed = site("executed")
    job = executed.Job(ROOT / "docs" / "demos" / "dp-sgd.md")
    opened = {str(ROOT / "experiments" / "configs" / "zoo.toml"), str(ROOT / "docs" / "_build" / "x"), "3"}
    used = executed.used(opened, job)
    expected = {"docs/demos/dp-sgd.md", "docs/site/executed.py", "experiments/configs/zoo.toml"}
    assert expected <= set(used)
    assert not any(name.startswith("docs/_build") or name.endswith(".pyc") for name in used)


@pytest.mark.slow
def test_a_page_that_fails_is_reported_and_the_others_are_executed(site, tmp_path):
    executed, code = site("executed"), "```python\nfrom dpassay.audit import audit\n{}\n```\n"
    plot = "from dpassay.experiments.present.plots import Profile\nfrom dpassay.mechanisms import Laplace\n"
    drawn = f"{plot}Profile.from_result(audit(Laplace(1.0), trials=2_000, seed=0)).plot()"
    write(tmp_path / "gallery", {"right.md": code.format(drawn), "wrong.md": code.format("1 / 0\naudit.plot()")})
    jobs = [executed.Job(path, ROOT, tmp_path) for path in sorted((tmp_path / "gallery").glob("*.md"))]
    done = {job.page.stem: error for job, _, error in executed.execute_all(jobs)}
    assert done["right"] == ""
    assert "ZeroDivisionError" in done["wrong"]
    text = (jobs[0].folder / "body.md").read_text()
    assert text.index("<figure>") < text.index("```python")


# --- the site in a browser --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_browser_check_names_each_fault(site, tmp_path):
    chromium, browse = site("chromium"), site("browse")
    if chromium.installed() is None:
        pytest.skip("needs Chromium")
    write(tmp_path, {f"{number}.html": f"<!doctype html>{fault}" for number, fault in enumerate(FAULTS)})
    right = '<!doctype html><article><img alt="x" src="data:,"><svg><title>x</title></svg>'
    write(tmp_path, {"right.html": right})
    with chromium.Chromium() as browser:
        found = list(browse.problems(browser, sorted(tmp_path.glob("*.html")), tmp_path))
    assert [said for said in FAULTS.values() if not any(said in line for line in found)] == []
    assert [line for line in found if line.startswith("right.html")] == []
