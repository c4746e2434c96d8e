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

from ....audit.results.result_text import Tone
from ....mechanisms.core import line, terminal
from ..results.provenance import versions
from .findings import Findings, FoundClaim, Place

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


def sarif(found: Findings) -> str:
    """Return the findings as SARIF 2.1.0; paths are relative to the current directory."""
    rules = [(LOST_POWER if claim.lost else _BY_TONE.get(claim.text.tone), claim) for claim in found.claims]
    run = {
        "tool": {"driver": _driver()},
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": f"dpassay/{line(found.title)}/"},
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(rule, claim, found.place) for rule, claim in rules if rule is not None],
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


def _result(rule: str, claim: FoundClaim, place: Place) -> dict[str, Any]:
    """Return the result of a claim that needs attention."""
    same = json.dumps([rule, place.name, claim.name, *claim.same])
    lost = f"{claim.lost}\n" if claim.lost else ""
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "kind": "fail",
        "level": _RULES[rule][0],
        "message": {"text": terminal(f"{claim.name}: {lost}{claim.detail}")},
        "locations": [_location(place)],
        "partialFingerprints": {"dpassayClaim/v1": hashlib.sha256(same.encode()).hexdigest()},
        **({"baselineState": claim.state} if claim.state else {}),
        "properties": {name: _finite(value) for name, value in claim.numbers.items()},
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


def _finite(value: Any) -> Any:
    """Return a value that JSON has, or its text."""
    return value if value not in (float("inf"), float("-inf")) else str(value)
