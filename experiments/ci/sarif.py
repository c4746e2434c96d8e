"""SARIF 2.1.0 (OASIS 2020), which code scanning of GitHub and others shows in the sources.

A result is a claim that needs attention: a violation, an audit without power, or, as a note that fails nothing, a weak
one. Other claims have none, so that their alerts close. With a baseline, each
result has a `baselineState`: "new" for a new violation, "unchanged" for a known one. `partialFingerprints` depend on
the claim and not on the line or the numbers, so that an alert stays the same alert when the code moves.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...audit.results.result_text import Tone
from ...mechanisms.core import line, terminal
from ..present.results.provenance import versions
from .checked import CheckedClaim
from .comparison import Change, ComparedClaim
from .findings import Findings, Place

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VIOLATION, LOST_POWER, UNDERPOWERED, DEPENDENT = "privacy-violation", "lost-power", "underpowered", "dependent-trials"
WEAK = "weak-audit"
_RULES = {
    VIOLATION: (
        "error",
        "8.0",
        "The privacy claim is refuted",
        "A lower bound on epsilon, valid with the stated confidence, contradicts the claim: implementation, proof or "
        "accounting is wrong.",
        "Read the event in the message: on one of two neighbouring datasets it is more likely than the claim allows.",
    ),
    LOST_POWER: (
        "warning",
        "4.0",
        "The audit has less power than its baseline",
        "The audit can detect only larger excesses over the claim than before, or the claim is no longer tested.",
        "Restore trials, bounds and claim, or write a new baseline if the change is wanted.",
    ),
    UNDERPOWERED: (
        "warning",
        "3.0",
        "The audit cannot refute the claim",
        "No outcome of these trials could have contradicted the claim, so that passing is not informative.",
        "Follow the remedy in the message: more trials, a lower confidence, or a smaller delta.",
    ),
    DEPENDENT: (
        "warning",
        "3.0",
        "The trials are not independent",
        "No bound is valid for dependent trials, so that there is no verdict.",
        "Draw all randomness of a run from the rng that it receives, and keep no state between runs.",
    ),
    WEAK: (
        "note",
        "1.0",
        "The audit detects only an epsilon far above the claim",
        "The claim is not contradicted, but only a true epsilon above 1.5 claims would have been detected 9 times in "
        "10.",
        "Use more trials, or a lower confidence.",
    ),
}
"""Rule -> its level, its severity from 0 to 10, its title, description and advice."""
_BY_TONE = {
    Tone.VIOLATION: VIOLATION,
    Tone.UNDERPOWERED: UNDERPOWERED,
    Tone.DEPENDENT: DEPENDENT,
    Tone.WEAK: WEAK,
}
_STATES = {Change.NEW_VIOLATION: "new", Change.KNOWN_VIOLATION: "unchanged", Change.LOST_POWER: "new"}


def sarif(found: Findings) -> str:
    """Return the findings as SARIF 2.1.0; paths are relative to the current directory."""
    changes = {} if found.comparison is None else {row.name: row for row in found.comparison.claims}
    claims = zip(found.checked.claims, found.details, strict=True)
    results = [_result(found, claim, detail, changes.pop(claim.name, None)) for claim, detail in claims]
    results += [_gone(found, row) for row in changes.values() if row.change.fails]
    run = {
        "tool": {"driver": _driver()},
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": f"dpassay/{line(found.checked.title)}/"},
        "invocations": [{"executionSuccessful": True}],
        "results": [result for result in results if result is not None],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _driver() -> dict[str, Any]:
    version = versions()["dpassay"]
    rules = [
        {
            "id": rule,
            "name": "".join(word.capitalize() for word in rule.split("-")),
            "shortDescription": {"text": title},
            "fullDescription": {"text": description},
            "help": {"text": advice},
            "defaultConfiguration": {"level": level},
            "properties": {"tags": ["security", "privacy"], "precision": "very-high", "security-severity": severity},
        }
        for rule, (level, severity, title, description, advice) in _RULES.items()
    ]
    return {"name": "dpassay", **({} if version is None else {"version": version}), "rules": rules}


def _result(found: Findings, claim: CheckedClaim, detail: str, compared: ComparedClaim | None) -> dict[str, Any] | None:
    """Return the result of one claim; None for one that needs no attention."""
    lost = compared is not None and compared.change is Change.LOST_POWER
    rule = LOST_POWER if lost else _BY_TONE.get(claim.tone)
    if rule is None:
        return None
    reason = f"{compared.reason}\n" if lost and compared is not None else ""
    properties = {
        "claim": claim.claim_name,
        "claimedEpsilon": claim.claim,
        "delta": claim.delta,
        "relation": claim.relation,
        "epsilonLowerBound": _finite(claim.bound),
        "confidence": claim.confidence,
        "pValue": claim.p_value,
        "minimumDetectableEpsilon": _finite(claim.detectable),
        "verdict": claim.outcome,
    }
    body = _body(rule, f"{claim.name}: {reason}{detail}", claim, found.place, compared)
    return {**body, "properties": properties}


def _gone(found: Findings, compared: ComparedClaim) -> dict[str, Any]:
    """Return the result of a claim that is no longer tested."""
    assert compared.before is not None
    return _body(LOST_POWER, f"{compared.name}: {compared.reason}", compared.before, found.place, compared)


def _body(rule: str, text: str, claim: CheckedClaim, place: Place, compared: ComparedClaim | None) -> dict[str, Any]:
    same = json.dumps([rule, place.name, claim.name, claim.claim_name, claim.delta, claim.relation])
    state = {} if compared is None else {"baselineState": _STATES.get(compared.change, "updated")}
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "kind": "fail",
        "level": _RULES[rule][0],
        "message": {"text": terminal(text)},
        "locations": [_location(place)],
        "partialFingerprints": {"dpassayClaim/v1": hashlib.sha256(same.encode()).hexdigest()},
        **state,
    }


def _location(place: Place) -> dict[str, Any]:
    logical = {"logicalLocations": [{"fullyQualifiedName": line(place.name)}]}
    if place.file is None:
        return logical
    region = {"artifactLocation": {"uri": _relative_uri(place.file)}, "region": {"startLine": place.line}}
    return {"physicalLocation": region, **logical}


def _relative_uri(file: Path) -> str:
    """Return the URI of a file: relative to the current directory where it lies in it, else absolute."""
    path = file.resolve()
    try:
        return quote(path.relative_to(Path.cwd().resolve()).as_posix(), errors="surrogateescape")
    except ValueError:
        return path.as_uri()


def _finite(value: float) -> float | str:
    """Return a number that JSON has, or its text."""
    return value if value not in (float("inf"), float("-inf")) else str(value)
