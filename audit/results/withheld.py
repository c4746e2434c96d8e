"""A result without values of the data: for cards, and for build servers, which keep and show what they receive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ...mechanisms.adapters.functions.same_seed import SAME_SEED
from .audit_result import AuditResult, WithoutLowBits
from .found_pair import without_pairs
from .refuting_event import RefutingEvent
from .witness.base import Witness

_KINDS = re.compile(r"nan\b|inf\b|-inf\b|None$|shape\b|type\b")
"""Labels of exceptional outputs that contain no values."""
_NAMED = {"text": "a text", "keys": "other keys", "fields": "other fields", "integer": "a large whole number"}


def without_values(result: AuditResult) -> AuditResult:
    """Return the result without outputs, their distance, values in the rule of its event, ids, and datasets.

    Verdict, bounds, counts and all other numbers stay. The parts of the output that the rule names stay as well.
    """
    return replace(
        result,
        datasets=None,
        event_rule=None,
        deciding=None if result.deciding is None else _without_outputs(result.deciding),
        guessed=None,
        witnesses=tuple(_without_witnessed(witness) for witness in result.witnesses),
        events=_kinds(result.events),
        notes=tuple(note for note in result.notes if not note.startswith(SAME_SEED)),
        ledger=without_pairs(result.ledger),
        without_low_bits=_without_rule(result.without_low_bits),
    )


def _without_outputs(event: RefutingEvent) -> RefutingEvent:
    where = f"mostly {event.where}" if event.where else ""
    return replace(event, rule=where, outputs0=(), outputs1=())


def _without_witnessed(witness: Witness) -> Witness:
    what = witness.what
    for output in sorted((text for side in witness.outputs for text in side), key=len, reverse=True):
        what = what.replace(f"gave {output}", "gave an output").replace(f"and {output} on side", "and another on side")
    return replace(witness, what=what, outputs=((), ()), datasets=None)


def _without_rule(without: WithoutLowBits | None) -> WithoutLowBits | None:
    return None if without is None else replace(without, rule="")


def _kinds(events: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return the counts of the kinds of exceptional outputs.

    >>> _kinds({"raised KeyError: 'Ada'": (0, 3), "raised KeyError: 'Bob'": (1, 0), "text 'ok'": (2, 2)})
    {'raised KeyError': (1, 3), 'a text': (2, 2)}
    """
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    kinds = dict.fromkeys(map(_kind, events))
    for label, sides in events.items():
        for side, count in enumerate(sides):
            counts[side][_kind(label)] += count
    return {kind: (counts[0][kind], counts[1][kind]) for kind in kinds}


def _kind(label: str) -> str:
    if label.startswith("raised "):
        return label.partition(":")[0]
    if "text " in label:
        return _NAMED["text"]
    if _KINDS.match(label):
        return label
    return _NAMED.get(label.partition(" ")[0], "another exceptional output")
