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

from ....audit.results.result_text import Tone
from ....mechanisms.core import fixed, line, terminal
from .findings import Findings, FoundClaim

Element = ElementTree.Element
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"


def junit(found: Findings) -> str:
    """Return the findings as JUnit XML, in UTF-8."""
    cases = [_case(found, claim) for claim in found.claims]
    seconds = fixed(sum(claim.seconds for claim in found.claims))
    kinds = {"failures": FAILURE, "errors": ERROR, "skipped": SKIPPED}
    counts = {name: str(sum(case.find(kind) is not None for case in cases)) for name, kind in kinds.items()}
    shared = {"tests": str(len(cases)), **counts, "time": seconds}
    suites = ElementTree.Element("testsuites", {"name": "dpassay", **shared})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": line(f"dpassay: {found.title}"), **shared})
    suite.extend(cases)
    ElementTree.indent(suites)
    return f"{DECLARATION}{ElementTree.tostring(suites, encoding='unicode')}\n"


def _case(found: Findings, claim: FoundClaim) -> Element:
    """Return the test case of one claim."""
    case = ElementTree.Element("testcase", {"classname": line(f"dpassay.{found.title}"), "name": line(claim.name)})
    if found.place.file is not None:
        case.set("file", line(found.place.file.as_posix()))
    case.set("time", fixed(claim.seconds))
    properties = ElementTree.SubElement(case, "properties")
    ElementTree.SubElement(properties, "property", {"name": "verdict", "value": claim.numbers["verdict"]})
    kind, message = _kind(claim, strict=found.strict)
    shown = {"message": line(message), "type": claim.text.tone.value} if kind else {}
    ElementTree.SubElement(case, kind or "system-out", shown).text = terminal(claim.detail)
    return case


def _kind(claim: FoundClaim, *, strict: bool) -> tuple[str, str]:
    """Return the element inside a test case, empty for one that passes, and its message."""
    headline = claim.text.headline
    if claim.state == "unchanged":
        return SKIPPED, f"known violation, as in the baseline; {headline}"
    if claim.lost:
        return FAILURE, f"lost power: {claim.lost}"
    kinds = {Tone.VIOLATION: FAILURE, Tone.DEPENDENT: ERROR, Tone.UNDERPOWERED: FAILURE if strict else SKIPPED}
    return kinds.get(claim.text.tone, ""), headline
