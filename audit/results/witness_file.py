"""A violation as a JSON file that a third party can check with `checker.py`, which needs numpy and scipy only.

    {"format": "dpassay.witness", "version": 1, mechanism, relation, claim, datasets, witnesses, counts, again, ...}

`counts` has the event in words and, if possible, as a rule, the hits on the side where it is likelier and on the other,
and the (epsilon, delta) of the claim that they refute; null if only a witness decided.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...mechanisms.core import ResultError, StoreError
from ..trials.options import versions
from .refuting_event import ratio_of_rates
from .saved import encode
from .witness.base import Witness
from .witness.event import EventRule

FORMAT, VERSION = "dpassay.witness", 1
IN, OUT = "score >= {0:.6g} under the {1} attack", "score < {0:.6g} under the {1} attack"


def write(result: Any, path: Path | str) -> None:
    """Write the file of `AuditResult.to_witness`.

    Raises:
        ResultError: the verdict is not a violation.
        StoreError: the file cannot be written.
    """
    content = json.dumps(_content_of(result), indent=1, allow_nan=False) + "\n"
    try:
        Path(path).write_text(content, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}. Choose another file.") from error


def _content_of(result: Any) -> dict[str, Any]:
    """Return the content of the file."""
    if result.refuted_by is None:
        raise ResultError(
            f"only a violation has a witness, but the verdict on {result.mechanism} is {result.verdict.value!r}."
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": versions(),
        "mechanism": result.mechanism,
        "relation": result.relation,
        "claim": {"name": result.claim_name, "epsilon": result.claim, "delta": result.delta},
        "refuted_by": result.refuted_by,
        "datasets": None if result.datasets is None else list(result.datasets),
        "witnesses": [encode(witness, Witness) for witness in result.witnesses],
        "counts": _counts(result),
        "again": {
            "trials": encode(result.trials, type(result.trials)),
            "attack": result.attack,
            "seed": result.seed,
            "fingerprint": result.fingerprint,
        },
        "warnings": list(result.warnings),
    }


def _counts(result: Any) -> dict[str, Any] | None:
    """Return the deciding event and its counts; None if no bound decided, or not by a single event."""
    elsewhere, decided = result.refuted_elsewhere, result.decided_by
    refuted = elsewhere is not None or result.bound.epsilon > result.claim
    if not refuted or result.dependence is not None or decided.hits is None or decided.threshold is None:
        return None
    (false, true), n_out, n_in = decided.hits, result.tally.n_out, result.tally.n_in
    above, below = ((false, n_out), (true, n_in)), ((n_out - false, n_out), (n_in - true, n_in))
    exchanged = true * n_out < false * n_in  # reversed: the event is likelier on side 0
    events = {int(exchanged): below, int(not exchanged): above}
    directions = _directions(result)
    side = max(directions, key=lambda side: ratio_of_rates(events[side][side], events[side][1 - side]))
    likelier, other = events[side][side], events[side][1 - side]
    complement = events[side] is below
    claimed = (result.claim, result.delta) if elsewhere is None else (elsewhere.epsilon, elsewhere.delta)
    return {
        "event": (OUT if complement else IN).format(decided.threshold, result.attack),
        "rule": None if result.event_rule is None else encode(result.event_rule, EventRule),
        "complement": complement,
        "likelier_side": side,
        "likelier": list(likelier),
        "other": list(other),
        "refuted": {"epsilon": claimed[0], "delta": claimed[1]},
        "method": decided.method,
        "ordering_delta": result.delta,
        "significance": result.bound.significance,
        "directions": len(directions) if decided.method == "joint-exact" else 1,
        "bound": result.bound.epsilon,
    }


def _directions(result: Any) -> tuple[int, ...]:
    """Return the sides on which the event or its complement was tested as likelier, from the ledger of the bound."""
    directions = [entry.looked_at for entry in result.bound.ledger if entry.what == "direction"]
    named = tuple(side for side in (0, 1) if any(text.endswith(f"on side {side}") for text in directions))
    return named or (0, 1)
