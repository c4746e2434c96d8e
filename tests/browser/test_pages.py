"""Every kind of page that a command writes, in a browser: at two widths and in both themes, and its numbers.

No page is wider than the window, requests anything, or has an error in the console; all that is shown has a label and
enough contrast; and numbers of the page are those of `results.json`.
"""

import importlib
import json
import re
from pathlib import Path

import pytest
from tests.browser.runs import RUNS

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
SITE_PAGES = (
    "index.html",
    "tutorials/first-audit.html",
    "how-to/reading-results.html",
    "demos/gaussian-tails.html",
    "reference/api/dpassay.audit.results.html",
)
OF_SPHINX = ("definition-list: ", "dlitem: ")
"""Rules about lists of definitions, in which Sphinx writes the parameters of a long signature."""
every_run = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in RUNS])
AXE = """axe.run(document, {runOnly: ["wcag2a", "wcag2aa"], resultTypes: ["violations"]}).then(done =>
  done.violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.target} ${node.failureSummary}`)))"""
FIGURES = """(() => {
  const channels = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = colour => channels(colour).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const page = light(getComputedStyle(document.body).backgroundColor);
  const texts = [...document.querySelectorAll("svg text")].filter(text => text.getClientRects().length);
  const ratio = text => {
    const own = light(getComputedStyle(text).fill);
    return (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05);
  };
  const pixels = text => {
    const matrix = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.a, matrix.b);
  };
  return {
    contrast: texts.filter(text => ratio(text) < 4.5).map(text => `${text.textContent} ${ratio(text).toFixed(2)}`),
    small: texts.map(text => [text.textContent, pixels(text)])
      .filter(([_, size]) => size < SMALLEST).map(([text, size]) => `${text} ${size.toFixed(1)} px`),
  };
})()""".replace("SMALLEST", "7.4")
ROWS = """[...document.querySelectorAll("table tbody tr")].map(row =>
  Object.fromEntries([...row.cells].map(cell => [cell.dataset.label, cell.textContent.trim()])))"""


def pages_of(folder):
    pages = sorted(folder.rglob("*.html"))
    assert pages
    return pages


@every_run
def test_a_page_fits_any_window_and_is_complete(name, made, browser):
    folder = made(name)
    assert list(importlib.import_module("browse").problems(browser, pages_of(folder), folder)) == []
    for path in pages_of(folder):
        page = browser.open(path.as_uri())
        assert {address for address in page.requests() if not address.startswith("data:")} == {path.as_uri()}


@every_run
def test_everything_on_a_page_has_a_label_and_enough_contrast(name, made, browser, axe):
    found = {}
    for path in pages_of(made(name)):
        page = browser.open(path.as_uri())
        page.run(f"{axe}; 0")
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true; }); 0")
        for width in (1200, 390):
            for dark in (False, True):
                page.look(width, dark=dark)
                in_figures = page.run(FIGURES)
                found[path.name, width, dark] = page.run(AXE) + in_figures["contrast"] + in_figures["small"]
    assert {key: lines for key, lines in found.items() if lines} == {}


@pytest.mark.xdist_group("site")
@pytest.mark.parametrize("name", SITE_PAGES)
def test_pages_of_the_site_fit_and_have_labels_and_contrast(name, browser, axe):
    if not (SITE / name).exists():
        pytest.skip("the site is not built: make site")
    assert list(importlib.import_module("browse").problems(browser, [SITE / name], SITE)) == []
    page, found = browser.open((SITE / name).as_uri()), {}
    page.run(f"{axe}; 0")
    for width in (1200, 390):
        for dark in (False, True):
            page.look(width, dark=dark)
            in_figures = page.run(FIGURES)
            lines = [line for line in page.run(AXE) if not line.startswith(OF_SPHINX)]
            found[width, dark] = lines + in_figures["contrast"] + in_figures["small"]
    assert {key: lines for key, lines in found.items() if lines} == {}


def test_the_checks_find_planted_faults(browser, axe, tmp_path):
    figure = (
        '<figure><svg role="img" aria-label="x"><text y="20" style="fill:#777;font-size:{}">x</text></svg></figure>'
    )
    (tmp_path / "wrong.html").write_text(
        '<!doctype html><html lang="en"><title>x</title><body style="background:#fff"><p style="color:#999">pale</p>'
        f"<button></button>{figure.format('20px')}{figure.format('4px')}</body></html>"
    )
    page = browser.open((tmp_path / "wrong.html").as_uri())
    page.run(f"{axe}; 0")
    page.look(390, dark=False)
    found = page.run(AXE)
    assert [any(line.startswith(rule) for line in found) for rule in ("color-contrast", "button-name")] == [True, True]
    assert page.run(FIGURES) == {"contrast": ["x 4.48", "x 4.48"], "small": ["x 4.0 px"]}


# --- numbers ----------------------------------------------------------------------------------------------------------


def agrees(text, value):
    """Whether the last number in a text is a value, rounded either way to the digits of the text."""
    if value is None or value == float("inf"):
        return not re.search(r"\d", text)
    *_, digits = re.findall(r"[\d.,]+(?:e[-+]?\d+)?", text)
    mantissa, _, power = digits.replace(",", "").partition("e")
    unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    if "%" in text:
        value *= 100.0
    return abs(float(digits.replace(",", "")) - value) <= 1.001 * unit


def test_a_number_agrees_with_its_own_rounding_only():
    right = [("3.874", 3.87434), ("0.98", 0.981), ("≤ 1e-12", 1e-12), ("4.6e-5", 4.58e-5), ("20.0 %", 0.2), ("∞", None)]
    assert [agrees(text, value) for text, value in right] == [True] * len(right)
    wrong = [("3.874", 3.871), ("0.98", 0.96), ("4.6e-5", 4.6e-4), ("20.0 %", 0.21), ("3", None)]
    assert [agrees(text, value) for text, value in wrong] == [False] * len(wrong)


def shown(made, browser, name, part="."):
    """The rows of all tables of a report, by the labels of their cells, and the results."""
    folder = made(name) / part
    rows = browser.open((folder / "report.html").as_uri()).run(ROWS)
    rows = [{label.replace("\u00a0", " "): text for label, text in row.items()} for row in rows]
    return rows, json.loads((folder / "results.json").read_text())


AUDITS = [("single", "."), ("consistent", "."), ("refuted", "."), ("texts", "audit")]


@pytest.mark.parametrize(
    ("name", "part"), [pytest.param(*audits, marks=pytest.mark.xdist_group(audits[0])) for audits in AUDITS]
)
def test_numbers_of_audits_are_those_of_the_results(name, part, made, browser):
    rows, results = shown(made, browser, name, part)
    rows = [row for row in rows if {"claim", "verdict"} <= row.keys()]
    assert len(rows) == len(results["points"]) > 0
    for row, point in zip(rows, results["points"], strict=True):
        result = point["result"]
        values = {label: result[key] for label, key in {"claim": "claim", "exact": "exact_epsilon"}.items()}
        values |= {"p-value": result["p_value"], "detectable": result["detectable"]}
        values |= {
            label: max(bound["epsilon"] for bound in result["bounds"]) for label in row if label.startswith("epsilon")
        }
        assert any(label.startswith("epsilon") for label in row)
        wrong = {label: (row[label], value) for label, value in values.items() if label in row}
        assert {label: pair for label, pair in wrong.items() if not agrees(*pair)} == {}
        assert result["verdict"] in row["verdict"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("risk-clean", "risk-leaking")]
)
def test_numbers_of_a_table_are_those_of_the_results(name, made, browser):
    rows, results = shown(made, browser, name)
    found = {(one["attack"], one["group"]): one for one in results["overall"]}
    rows = [row for row in rows if (row.get("attack"), row.get("records")) in found]
    assert len(rows) >= len(found)
    for row in rows:
        one = found[row["attack"], row["records"]]
        for side in ("real", "holdout"):
            hits, n = one[f"hits_{side}"], one[f"n_{side}"]
            assert row[side].startswith(f"{hits}/{n} ")
            assert agrees(row[side].rpartition("(")[2], hits / n)


@pytest.mark.xdist_group("membership")
def test_numbers_of_attacks_are_those_of_the_results(made, browser):
    rows, results = shown(made, browser, "membership")
    rows = {row["attack"]: row for row in rows if "AUC" in row}
    assert set(rows) == {one["attack"] for one in results["attacks"]}
    for one in results["attacks"]:
        row = rows[one["attack"]]
        assert agrees(row["AUC"].partition(" ")[0], one["auc"])
        assert agrees(row["AUC"].partition("-")[2], one["auc_upper"])
        for rate in one["rates"]:
            assert agrees(row[f"TPR@{100 * rate['fpr']:g} % FPR"], rate["tpr"])
