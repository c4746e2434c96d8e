"""JUnit XML, SARIF, badges and summaries: their structure, and hostile names in them."""

import contextlib
import dataclasses
import io
import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.experiments.made_results import broken_sweep, elsewhere_result, laplace_result, laplace_sweep

from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.result_text import Tone
from dpassay.experiments.ci.checked import SESSION, CheckedClaims, claims_of
from dpassay.experiments.ci.comparison import compare
from dpassay.experiments.ci.findings import findings_of
from dpassay.experiments.ci.text import describe_comparison
from dpassay.experiments.cli.terminal import _show_text
from dpassay.experiments.present.builds.badge import COLOURS, badge, badge_text
from dpassay.experiments.present.builds.findings import Place, _line_of, line_of_table, place_of_target
from dpassay.experiments.present.builds.junit import junit
from dpassay.experiments.present.builds.sarif import _relative_uri, sarif
from dpassay.experiments.present.builds.step_summary import MAX_ROWS, section

HOSTILE = 'a]]><b> & "c" | `d` \x1b[2J \x00 \u202e\ud800\n### e'
PLACE = Place("noise.py:release", Path("noise.py"), 4)
UNDERPOWERED = dataclasses.replace(
    laplace_result(1.0, n=50),
    claim=9.0,
    claim_name="PureDP(epsilon=9)",
    verdict=Verdict.UNDERPOWERED,
    detectable=math.inf,
    p_value=1.0,
)
WEAK = dataclasses.replace(laplace_result(), detectable=3.0)
DEPENDENT = dataclasses.replace(laplace_result(), verdict=Verdict.DEPENDENT, dependence="equal runs")


def cases(text):
    """Name -> the elements of its test case, its properties apart."""
    return {
        case.attrib["name"]: [inner.tag for inner in case if inner.tag != "properties"]
        for case in ElementTree.fromstring(text).iter("testcase")
    }


# --- JUnit ------------------------------------------------------------------------------------------------------------


def test_junit_has_a_case_for_each_claim_and_counts_them():
    root = ElementTree.fromstring(junit(findings_of(broken_sweep(), PLACE, seconds={"epsilon = 1": 2.5})))
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("3", "2", "0")
    first = suite[0]
    assert (first.attrib["name"], first.attrib["file"], first.attrib["time"]) == ("epsilon = 1", "noise.py", "2.500")
    headline = broken_sweep().text().parts[0].headline
    assert first.find("failure").attrib["message"] == headline
    assert f"VIOLATION{headline.removeprefix('Violation')}" in first.find("failure").text


@pytest.mark.parametrize(
    ("result", "strict", "inner"),
    [
        (laplace_result(), False, "system-out"),
        (WEAK, True, "system-out"),
        (UNDERPOWERED, False, "skipped"),
        (UNDERPOWERED, True, "failure"),
        (DEPENDENT, False, "error"),
        (elsewhere_result(), False, "failure"),
    ],
)
def test_each_verdict_has_its_element(result, strict, inner):
    assert list(cases(junit(findings_of(result, PLACE, strict=strict))).values()) == [[inner]]


def test_with_a_baseline_known_violations_are_skipped_and_lost_audits_fail():
    before, after = laplace_sweep((1.0, 2.0)), broken_sweep()
    compared = compare(claims_of(before), claims_of(after), power_loss=9)
    found = cases(junit(findings_of(after, PLACE, comparison=compared)))
    assert found["epsilon = 1"] == ["failure"]
    known = compare(claims_of(after), claims_of(after))
    assert cases(junit(findings_of(after, PLACE, comparison=known)))["epsilon = 1"] == ["skipped"]
    gone = compare(claims_of(after), claims_of(laplace_sweep((4.0, 5.0))))
    found = cases(junit(findings_of(laplace_sweep((4.0, 5.0)), PLACE, comparison=gone)))
    assert found["epsilon = 1"] == found["epsilon = 2"] == ["failure"]


# --- SARIF ------------------------------------------------------------------------------------------------------------

LEVELS = {"none", "note", "warning", "error"}
STATES = {"new", "unchanged", "updated", "absent"}


def checked_sarif(text):
    """Results of a SARIF text, which has the required properties of the schema 2.1.0 and of code scanning."""
    log = json.loads(text)
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "dpassay"
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in LEVELS
        assert 0 <= float(rule["properties"]["security-severity"]) <= 10
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in LEVELS
        assert result["kind"] == "fail"
        assert result["message"]["text"]
        assert result.get("baselineState", "new") in STATES
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        for location in result["locations"]:
            physical = location.get("physicalLocation")
            assert physical is None or physical["region"]["startLine"] >= 1
            assert physical is None or not physical["artifactLocation"]["uri"].startswith("/")
    return run["results"]


@pytest.mark.parametrize(
    ("result", "rules"),
    [
        (laplace_result(), []),
        (broken_sweep(), ["privacy-violation"] * 2),
        (UNDERPOWERED, ["underpowered"]),
        (WEAK, ["weak-audit"]),
        (DEPENDENT, ["dependent-trials"]),
    ],
)
def test_claims_that_need_attention_are_results(result, rules):
    found = checked_sarif(sarif(findings_of(result, PLACE)))
    assert [result["ruleId"] for result in found] == rules
    for result in found:
        where = result["locations"][0]["physicalLocation"]
        assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("noise.py", 4)


def test_a_fingerprint_depends_on_the_claim_and_not_on_line_or_numbers():
    one, moved = (
        checked_sarif(
            sarif(findings_of(laplace_result(3.0, claim=1.0, seed=seed), Place("a.py:f", Path("a.py"), line)))
        )
        for seed, line in ((0, 1), (1, 9))
    )
    assert one[0]["partialFingerprints"] == moved[0]["partialFingerprints"]
    (other,) = checked_sarif(sarif(findings_of(laplace_result(3.0, claim=1.5), Place("a.py:f", Path("a.py"), 1))))
    assert other["partialFingerprints"] != one[0]["partialFingerprints"]


def test_results_have_the_state_of_the_baseline():
    after = broken_sweep()
    for before, states in ((after, ["unchanged"] * 2), (laplace_sweep((1.0, 2.0, 4.0)), ["new"] * 2)):
        compared = compare(claims_of(before), claims_of(after), power_loss=9)
        found = checked_sarif(sarif(findings_of(after, PLACE, comparison=compared)))
        assert [result["baselineState"] for result in found] == states
    gone = compare(claims_of(laplace_sweep((1.0, 2.0))), claims_of(laplace_sweep((1.0,))))
    (lost,) = checked_sarif(sarif(findings_of(laplace_sweep((1.0,)), PLACE, comparison=gone)))
    assert lost["ruleId"] == "lost-power"


def test_paths_are_relative_to_the_current_directory_and_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _relative_uri(tmp_path / "a b" / "ü.py") == "a%20b/%C3%BC.py"
    assert _relative_uri(tmp_path.parent / "x.py").startswith("file:///")


# --- places -----------------------------------------------------------------------------------------------------------


def test_the_place_of_a_target_is_the_line_that_defines_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "import os\n\nclass A:\n    x = 1\n\n    def f(self):\n        pass\n\ninstance = A()\nrate: int = 3\n"
    Path("mine.py").write_text(text)
    for name, line in (("A.f", 6), ("instance", 9), ("rate", 10), ("A", 3), ("instance.f", 9), ("missing", 1)):
        assert place_of_target(f"mine.py:{name}", None).line == line
    assert place_of_target(None, "python mine.py 'x").file is None
    assert place_of_target(None, "python mine.py x").file == Path("mine.py")
    assert place_of_target("json.decoder:JSONDecoder.decode", None).file.name == "decoder.py"
    assert place_of_target("not_imported:x", None) == Place("not_imported:x")
    Path("broken.py").write_text("def (")
    assert _line_of(Path("broken.py"), "f") == _line_of(Path("none.py"), "f") == 1
    Path("c.toml").write_text("seed = 1\n[mechanism]\n")
    assert (line_of_table(Path("c.toml"), "mechanism"), line_of_table(Path("no.toml"), "mechanism")) == (2, 1)


# --- badge ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (laplace_result(3.0, claim=1.0), r"Violation: ε ≥ 2\.\d+, but at most 1 is claimed"),
        (laplace_result(), r"Consistent: ε ≥ 0\.\d+, \d+ % of the claim of 1"),
        (elsewhere_result(), "Violation: the claim is refuted at another delta than .*"),
        (UNDERPOWERED, "Underpowered"),
        (WEAK, "Consistent, weak: detects only ε above 3, and 1 is claimed"),
        (DEPENDENT, "No verdict: the trials are not independent"),
        (broken_sweep(), r"Violation \(2 of 3 claims\)"),
        (laplace_sweep(), r"Consistent \(5 of 5 claims\)"),
    ],
)
def test_a_badge_is_the_headline(result, text):
    said = result.text()
    assert re.fullmatch(text, badge_text(said))
    root = ElementTree.fromstring(badge(said))
    assert root.find("{*}title").text == root.attrib["aria-label"] == f"dpassay: {badge_text(said)}"
    assert "private" not in badge(said)


def test_weak_is_said_in_all_files_and_fails_in_none():
    checked, text = claims_of(WEAK), "consistent, weak"
    found = findings_of(WEAK, PLACE, strict=True)
    suite = ElementTree.fromstring(junit(found))[0]
    assert [suite.attrib[name] for name in ("failures", "errors", "skipped")] == ["0", "0", "0"]
    assert suite.find("testcase/properties/property").attrib == {"name": "verdict", "value": text}
    (note,) = checked_sarif(sarif(found))
    assert (note["level"], note["properties"]["verdict"]) == ("note", text)
    assert section(checked.text(), heading="h").lower().count(text) == 2  # heading and row
    compared = compare(claims_of(laplace_result()), checked, power_loss=math.inf)
    assert f"consistent → {text}" in section(describe_comparison(compared), heading="h")
    assert not compared.failures
    for said in (WEAK.text().headline, WEAK.summary(), repr_of_terminal(WEAK)):
        assert text in said.lower()


def repr_of_terminal(result):
    """What the terminal shows of a result."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        _show_text(result.text())
    return shown.getvalue()


def test_every_badge_has_its_own_colour_with_contrast_to_white_text():
    assert len(set(COLOURS.values())) == len(COLOURS) == len(Tone) - 1  # all but plain
    for colour in COLOURS.values():
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 5.0


def test_a_badge_of_no_claims_or_a_hostile_label_is_a_whole_image():
    none = CheckedClaims("pytest", SESSION, ()).text()
    assert badge_text(none) == "No claims tested"
    ElementTree.fromstring(badge(none))
    ElementTree.fromstring(badge(laplace_result().text(), label=HOSTILE))


# --- text of others ---------------------------------------------------------------------------------------------------


def test_hostile_names_break_no_format():
    result = dataclasses.replace(laplace_result(3.0, claim=1.0), mechanism=HOSTILE, claim_name=HOSTILE)
    place = Place(HOSTILE, None)
    checked = claims_of(result)
    compared = compare(claims_of(laplace_result()), checked)
    found = findings_of(result, place, comparison=compared)
    ElementTree.fromstring(junit(found))
    (found,) = checked_sarif(sarif(found))
    assert "\x1b" not in found["message"]["text"]
    texts = (checked.text(), describe_comparison(compared), laplace_sweep().text(), result.text())
    for text in (section(each, heading=HOSTILE) for each in texts):
        assert text.count("\n###") == 0
        assert "<b>" not in text.partition("```")[0]  # inside the fence it is text
        text.encode("utf-8")


def test_a_long_table_is_cut():
    claim = claims_of(laplace_result()).claims[0]
    many = tuple(dataclasses.replace(claim, name=f"audit {i}") for i in range(MAX_ROWS + 7))
    text = section(CheckedClaims("many", SESSION, many).text(), heading="many")
    assert "... and 7 more" in text
    assert text.count("| audit ") == MAX_ROWS + 1  # with the head
