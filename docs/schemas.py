"""JSON Schemas of the files that dpassay reads and writes, from the classes that read them: `make docs`.

docs/reference/schemas/NAME.schema.json   results.json by kind of result, and the file of scores

A test validates files against them. They describe the form only: `Saved.from_json` also checks that the digest fits and
that the numbers agree with each other.
"""

import dataclasses
import json
import types
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from dpassay.audit.calibration.certificate import Certificate
from dpassay.audit.metrics.membership.result import MembershipResult
from dpassay.audit.metrics.table_risk.result import RiskResult
from dpassay.audit.results.audit_result import AuditResult
from dpassay.audit.results.saved import DIGEST_KEY, Saved
from dpassay.audit.search.result import SearchResult
from dpassay.audit.search.stress_result import StressResult
from dpassay.experiments.ci.checked import CheckedClaims
from dpassay.experiments.data.score_files import FORMAT, VERSION
from dpassay.experiments.present.results.sweep import SweepResult
from dpassay.mechanisms.core import Floats, Ints

SCHEMA = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parent / "reference" / "schemas"
RESULTS = (
    SweepResult,
    AuditResult,
    MembershipResult,
    RiskResult,
    SearchResult,
    StressResult,
    CheckedClaims,
    Certificate,
)
NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]}
PLAIN: dict[Any, dict[str, Any]] = {
    float: {"$ref": "#/$defs/number"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    Any: {},
    Floats: {"type": "array", "items": {"$ref": "#/$defs/number"}},
    Ints: {"type": "array", "items": {"type": "integer"}},
}


def schemas() -> dict[str, str]:
    """Return the text of each schema by the name of its file."""
    made = {kind.FORMAT.removeprefix("dpassay."): of_result(kind) for kind in RESULTS}
    return {
        f"{name}.schema.json": json.dumps(made, indent=1) + "\n"
        for name, made in (made | {"score-file": SCORES}).items()
    }


def of_result(kind: type[Saved]) -> dict[str, Any]:
    """Return the schema of the JSON form of a result: its fields, and format, version and digest."""
    definitions: dict[str, Any] = {"number": NUMBER}
    _of(kind, definitions)
    form = definitions.pop(kind.__name__)
    stated = {"format": {"const": kind.FORMAT}, "version": {"const": kind.VERSION}}
    form["properties"] = stated | form["properties"] | {DIGEST_KEY: {"type": "string", "pattern": "^[0-9a-f]{64}$"}}
    form["required"] = ["format", "version", *form["required"], DIGEST_KEY]
    return {"$schema": SCHEMA, "title": kind.FORMAT, **form, "$defs": dict(sorted(definitions.items()))}


def _of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type, and add those of the classes in it to the definitions."""
    if hint in PLAIN:
        return PLAIN[hint]
    if dataclasses.is_dataclass(hint):
        name = hint.__name__
        if name not in definitions:
            definitions[name] = {}  # a class may contain itself
            definitions[name] = _of_class(hint, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(each, definitions) for each in inner if each is not type(None)] + [{"type": "null"}]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1], definitions)}
    if origin is tuple and inner[1:] == (Ellipsis,):
        return {"type": "array", "items": _of(inner[0], definitions)}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_of(each, definitions) for each in inner], "items": False}
    raise TypeError(f"{hint} has no JSON form")


def _of_class(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints, fields = get_type_hints(kind), dataclasses.fields(kind)
    missing = dataclasses.MISSING
    needed = [each.name for each in fields if each.default is missing and each.default_factory is missing]
    said: Mapping[str, str] = {"description": (kind.__doc__ or "").partition("\n")[0]}
    return {
        **said,
        "type": "object",
        "properties": {each.name: _of(hints[each.name], definitions) for each in fields},
        "required": needed,
        "additionalProperties": False,
    }


def _column(kind: dict[str, Any], text: str) -> dict[str, Any]:
    return {"type": "array", "items": kind, "description": text}


SCORES: dict[str, Any] = {
    "$schema": SCHEMA,
    "title": FORMAT,
    "description": "Scores of an attack: of runs on two datasets, of canaries with coins, or of guesses of a secret.",
    "type": "object",
    "properties": {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "unit": {"type": "string", "description": "the privacy unit in words, such as a person"},
        "coins": {"type": "string", "description": "digest of the coins that decided which canaries were in the run"},
        "columns": {
            "type": "object",
            "description": "columns of one length",
            "properties": {
                "score": _column({"type": ["number", "null"]}, "higher = the record was in the run"),
                "loss": _column({"type": ["number", "null"]}, "lower = the record was in the run"),
                "side": _column({"enum": [0, 1]}, "1 for a run on the dataset with the record"),
                "bit": _column({"enum": [0, 1]}, "1 for a canary that a coin put into the run"),
                "run": _column({"type": ["string", "number"]}, "the run of a canary, where there are several"),
                "canary": _column({"type": ["string", "number"]}, "the name of a canary, in every run the same"),
                "id": _column({"type": "string"}, "the name of a canary in the file of coins"),
                "success": _column({"enum": [0, 1]}, "1 for a guess within the tolerance"),
            },
            "anyOf": [
                {"required": ["score", "side"]},
                {"required": ["score", "bit"]},
                {"required": ["id", "score"]},
                {"required": ["id", "loss"]},
                {"required": ["success"]},
            ],
        },
    },
    "required": ["format", "version", "columns"],
    "additionalProperties": False,
}


if __name__ == "__main__":
    for name, text in schemas().items():
        (FOLDER / name).write_text(text)
