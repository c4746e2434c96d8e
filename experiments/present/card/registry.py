"""registry.yaml: what a run can say in the form of the OpenDP deployments registry.

The registry (`schemas/deployments-schema.yaml` in opendp/deployments-registry-data, as of July 2026) describes
deployments: variant, unit and parameters of the guarantee, model, accounting, implementation, and "Was the process
validated and verified? If so, how?". A run answers this question and the fields about the claim. Every other required
field is marked TODO: texts are "TODO", and a choice or a date, which must be valid, has a comment that says what is
allowed (PyYAML writes no comments). The status is "Draft". The file is valid YAML and fits the schema; one file
describes one claim, that of the audit with the largest claimed epsilon, and its justification counts all audits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....mechanisms.core import line, number, plural
from ..results.parameters import parameters_text
from ..results.sweep_text import RELATION
from .card import AuditCard, Card

TODO = "TODO"
LEADING = (
    "# Fields of the OpenDP deployments registry (schema of July 2026) that this run can fill in. Replace each TODO,\n"
    "# and each value with a comment TODO; then review all of it.\n"
)


@dataclass(frozen=True)
class Choice:
    """Valid value that someone has to replace, with what is allowed."""

    value: Any
    allowed: str


def registry_yaml(card: Card) -> str:
    """Return the record of the registry as YAML, whose strings are quoted as in JSON."""
    curator = {
        "data_curator_name": TODO,
        "data_curator_type": Choice("Government", "Government, Industry or Nonprofit"),
    }
    products = "Summary statistics, Machine learning model, Dataset, Synthetic data, Interactive API or SQL queries"
    deployment: dict[str, Any] = {
        "basic": {
            "name": card.origin.title,
            "data_curators": [curator],
            "description": TODO,
            "intended_use": TODO,
            "data_product_type": Choice("Summary statistics", products),
            "data_product_region": TODO,
            "publication_date": Choice("1900-01-01", "YYYY-MM-DD"),
        }
    }
    if card.audits:
        claimed = max(card.audits, key=lambda audit: audit.claim["epsilon"])
        deployment |= {"dp_variant": _variant(claimed), "privacy_loss": _loss(claimed, card.origin.unit)}
    deployment["implementation"] = {
        "preprocessing_and_hyperparameter_tuning": TODO,
        "mechanisms": "; ".join(dict.fromkeys(audit.mechanism for audit in card.audits)) or TODO,
        "justification": justification(card),
    }
    deployment["administrative"] = {"registry_authors": [TODO]}
    record = {
        "url_slug": Choice(_slug(card.origin.title), "name, curator and year, with hyphens"),
        "status": "Draft",
        "tier": Choice(1, "1, 2 or 3: how complete the record is"),
        "deployment": deployment,
    }
    return LEADING + "\n".join(_lines(record, "")) + "\n"


def _slug(title: str) -> str:
    """Return a title as small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "record"


def justification(card: Card) -> str:
    """Return the answer to "Was the process validated and verified? If so, how?", with what it does not show."""
    question = "Was the process validated and verified?"
    if not card.audits:
        return f"{question} Not as a claim: membership attacks were measured, which test no claim. {card.outcome}"
    versions = card.origin.environment.get("versions", {})
    tool = f"dpassay {versions.get('dpassay') or ''}".strip()
    tests = " ".join(_test(audit) for audit in card.audits[:3])
    more = f" {len(card.audits) - 3} further audits are in card.json." if len(card.audits) > 3 else ""
    audits = f"{plural(len(card.audits), 'audit')} at confidence {number(card.confidence, 6)}"
    return (
        f"{question} By a statistical audit of the implementation with {tool}; verdict over {audits}: {card.verdict}. "
        f"{tests}{more} An audit supplements a proof and replaces none. Reproduce with: {card.origin.command} (seed "
        f"{card.seed})."
    )


def _test(audit: AuditCard) -> str:
    name = parameters_text(audit.parameters) or audit.mechanism
    bound, claim = number(audit.bound["epsilon"]), number(audit.claim["epsilon"])
    return (
        f"{name}: claimed epsilon {claim} at delta {number(audit.claim['delta'])}; epsilon at least {bound} with "
        f"confidence {number(audit.bound['confidence'], 6)} from {audit.trials['words']}, attack {audit.attack}; an "
        f"epsilon of {number(audit.power['detectable'])} would have been detected 9 times in 10."
    )


VARIANTS = {"ConcentratedDP": "Zero-concentrated DP", "ApproximateDP": "Approximate DP", "RenyiDP": "Renyi DP"}
"""Names of variants, by the class of the guarantee."""


def _variant(audit: AuditCard) -> dict[str, Any]:
    name, delta = str(audit.claim["guarantee"]), audit.claim["delta"]
    pure = "Pure DP" if delta == 0.0 and math.isfinite(audit.claim["epsilon"]) else "Custom"
    return {
        "variant_name": VARIANTS.get(name.partition("(")[0], pure),
        "data_domain": TODO,
        "unprotected_quantities": TODO,
    }


def _loss(audit: AuditCard, unit: str) -> dict[str, Any]:
    epsilon, delta = audit.claim["epsilon"], audit.claim["delta"]
    parameters = {"epsilon": epsilon, "delta": delta} if math.isfinite(epsilon) else {"delta": delta}
    return {
        "privacy_unit": unit or TODO,
        "privacy_unit_details": f"{audit.relation}: {RELATION.get(audit.relation, 'neighbouring datasets')}",
        "privacy_parameters": parameters,
        "privacy_parameters_details": f"epsilon at delta, from {audit.claim['guarantee']}",
    }


def _lines(record: Mapping[str, Any], indent: str) -> list[str]:
    """Return mappings and lists as block YAML; every scalar is JSON, which YAML 1.2 contains."""
    lines: list[str] = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{key}:", *_lines(value, indent + "  ")]
        elif isinstance(value, list):
            lines.append(f"{indent}{key}:")
            for item in value:
                first, *rest = _lines(item, indent + "    ") if isinstance(item, Mapping) else [_scalar(item)]
                lines += [f"{indent}  - {first.strip()}", *rest]
        elif isinstance(value, Choice):
            lines.append(f"{indent}{key}: {_scalar(value.value)}  # TODO: {value.allowed}")
        else:
            lines.append(f"{indent}{key}: {_scalar(value)}")
    return lines


def _scalar(value: Any) -> str:
    """Return a scalar; readers of YAML 1.1 take "1e-05" for text and "1.0e-05" for a number."""
    if isinstance(value, float):
        mantissa, exponent, power = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"
    return json.dumps(line(value), ensure_ascii=False) if isinstance(value, str) else json.dumps(value)


__all__ = ["justification", "registry_yaml"]
