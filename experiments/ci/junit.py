"""JUnit XML, which GitLab, Jenkins and others show as a list of tests: one test case for each tested claim.

    violation      <failure>, with the evidence
    underpowered   <skipped>, since passing is not informative; <failure> with --strict
    dependent      <error>: there is no verdict
    consistent     passes, with the summary as its output

Each case states the verdict as a property, so that "consistent, weak" can be told from "consistent" among those that
pass.

With a baseline, a known violation is <skipped>, and lost power is a <failure>.
"""

from __future__ import annotations

from xml.etree import ElementTree

from ...audit.evidence.verdict import Verdict
from ...mechanisms.core import fixed, line, terminal
from .checked import CheckedClaim
from .comparison import Change, ComparedClaim
from .findings import Findings

Element = ElementTree.Element
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
FAILURE, ERROR, SKIPPED, PASSED = "failure", "error", "skipped", ""


def junit(found: Findings) -> str:
    """Return the findings as JUnit XML, in UTF-8."""
    checked = found.checked
    changes = {} if found.comparison is None else {row.name: row for row in found.comparison.claims}
    rows = zip(checked.claims, found.headlines, found.details, strict=True)
    cases = [_case(found, claim, why, detail, changes.pop(claim.name, None)) for claim, why, detail in rows]
    cases += [_gone(found, change) for change in changes.values() if change.change.fails]
    suite = ElementTree.Element("testsuite", {"name": line(f"dpassay: {checked.title}"), **_counts(found, cases)})
    suite.extend(cases)
    suites = ElementTree.Element("testsuites", {"name": "dpassay", **_counts(found, cases)})
    suites.append(suite)
    ElementTree.indent(suites)
    return f"{DECLARATION}{ElementTree.tostring(suites, encoding='unicode')}\n"


def _case(found: Findings, claim: CheckedClaim, headline: str, detail: str, compared: ComparedClaim | None) -> Element:
    """Return the test case of one claim."""
    case = _empty(found, claim.name)
    case.set("time", fixed(found.seconds.get(claim.name, 0.0)))
    properties = ElementTree.SubElement(case, "properties")
    ElementTree.SubElement(properties, "property", {"name": "verdict", "value": claim.outcome})
    kind, message = _kind(found, claim, headline, compared)
    if kind:
        inner = ElementTree.SubElement(case, kind, {"message": line(message), "type": claim.verdict.value})
        inner.text = terminal(detail)
    else:
        ElementTree.SubElement(case, "system-out").text = terminal(detail)
    return case


def _gone(found: Findings, compared: ComparedClaim) -> Element:
    """Return the test case of a claim that is no longer tested."""
    case = _empty(found, compared.name)
    ElementTree.SubElement(case, FAILURE, {"message": line(compared.reason), "type": compared.change.value})
    return case


def _empty(found: Findings, name: str) -> Element:
    attributes = {"classname": line(f"dpassay.{found.checked.title}"), "name": line(name)}
    if found.place.file is not None:
        attributes["file"] = line(found.place.file.as_posix())
    return ElementTree.Element("testcase", attributes)


def _kind(found: Findings, claim: CheckedClaim, headline: str, compared: ComparedClaim | None) -> tuple[str, str]:
    """Return the element inside a test case, empty for one that passes, and its message."""
    change = None if compared is None else compared.change
    if change is Change.KNOWN_VIOLATION:
        return SKIPPED, f"known violation, as in the baseline; {headline}"
    if change is Change.LOST_POWER and compared is not None:
        return FAILURE, f"lost power: {compared.reason}"
    powerless = FAILURE if found.strict else SKIPPED
    kinds = {Verdict.VIOLATION: FAILURE, Verdict.DEPENDENT: ERROR, Verdict.UNDERPOWERED: powerless}
    return kinds.get(claim.verdict, PASSED), headline


def _counts(found: Findings, cases: list[Element]) -> dict[str, str]:
    counts = {
        f"{kind}s" if kind != SKIPPED else kind: str(sum(case.find(kind) is not None for case in cases))
        for kind in (FAILURE, ERROR, SKIPPED)
    }
    return {"tests": str(len(cases)), **counts, "time": fixed(sum(found.seconds.values()))}
