"""The evidence card: one page and one JSON file that say what a run claims, how it was tested and what it showed.

    result, origin -> Card -> card.json, card.md

A card restates numbers of `results.json` and adds what a reader elsewhere needs: the unit, the assumptions, the
ledger, versions, and the SHA-256 of each file that the numbers come from. It computes no new number and no verdict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ....audit.bounds.base import LedgerEntry
from ....audit.metrics.membership.result import MembershipResult
from ....audit.results.result_text import Tone
from ....audit.results.withheld import without_values
from ....mechanisms.core import confidence_text, markdown, number, p_value_text
from ..results.latex import ATTACKS
from ..results.parameters import parameters_text
from ..results.sweep import SweepPoint, SweepResult
from ..results.sweep_text import RELATION, tone_of_point
from .hazards import Covered, coverage, of_metrics

FORMAT, VERSION = "dpassay.evidence-card", 2
LIMITS = (
    "A verdict `consistent` is no proof of privacy: these attacks, on these pairs, with this many runs did not "
    "contradict the claim.",
    "Side channels such as running time were not audited.",
    "The hashes show that files belong together. They are no signature.",
)


@dataclass(frozen=True)
class Origin:
    """Where the numbers of a run come from.

    Args:
        title: of the run.
        unit: the privacy unit in words; empty if the run does not state it.
        command: command that reproduces the numbers.
        environment: versions, digest of the code, commit and machine, as in `environment.json`.
        hashes: name of a file -> its SHA-256: configuration, numbers, journals of trials, data and user code.
    """

    title: str
    command: str
    environment: Mapping[str, Any]
    unit: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditCard:
    """One audit: claim, test, outcome, power, assumptions and data-dependent choices."""

    parameters: Mapping[str, Any]
    mechanism: str
    tier: str | None
    claim: Mapping[str, Any]
    relation: str
    attack: str
    trials: Mapping[str, Any]
    bound: Mapping[str, Any]
    p_value: float
    p_adjusted: float
    power: Mapping[str, Any]
    verdict: str
    tone: str
    weak: bool
    assumptions: tuple[str, ...]
    ledger: tuple[LedgerEntry, ...]
    warnings: tuple[str, ...]
    fingerprint: str
    valid_if: str


@dataclass(frozen=True)
class Card:
    """Evidence card of a run.

    Args:
        origin: where the numbers come from.
        outcome: the main result in one line.
        next_steps: what to do now, a sentence each.
        verdict: over all audits; None for metrics, which test no claim.
        tone: of the outcome: the verdict, "weak" for a consistent one with little power, "plain" without one.
        confidence: of all verdicts jointly, or of the intervals of the metrics.
        seed: of all randomness; None where the run records none.
        audits: one entry per audit; empty for metrics.
        metrics: one row per membership attack; empty for audits.
        notes: on the metrics.
        ledger: choices over all audits.
        hazards: what the run covers of the hazards of NIST SP 800-226.
    """

    origin: Origin
    outcome: str
    next_steps: tuple[str, ...]
    verdict: str | None
    tone: str
    confidence: float
    seed: int | None
    audits: tuple[AuditCard, ...]
    metrics: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    ledger: tuple[LedgerEntry, ...]
    hazards: tuple[Covered, ...]

    def to_json(self) -> str:
        """Return the card as JSON; infinite numbers are the texts "inf" and "-inf"."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self), "limits": LIMITS}
        return json.dumps(_plain(content), indent=1, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """Return the card as one Markdown page, with every text escaped."""
        parts = [
            f"# Evidence card: {markdown(self.origin.title)}",
            *(f"Condition: {markdown(text)}" for text in _distinct([a.valid_if] for a in self.audits) if text),
            f"{Tone(self.tone).sign} {markdown(self.outcome)}".lstrip(),
            *(f"Next step: {markdown(step)}" for step in self.next_steps),
            *(self._audit_parts() if self.audits else self._metric_parts()),
            "## What the run covers of the hazards in NIST SP 800-226",
            _table(("", "hazard", "this run", "how"), [_hazard_row(covered) for covered in self.hazards]),
            "## Limits",
            "\n".join(f"* {text}" for text in LIMITS),
            "## Origin",
            _table(("", ""), _origin_rows(self)),
            _table(("file", "SHA-256"), [(_cell(name), _cell(sha)) for name, sha in self.origin.hashes.items()]),
        ]
        return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"

    def _audit_parts(self) -> list[str]:
        """Return claim, test and outcome of the audits, then their assumptions, choices and warnings."""
        unit = self.origin.unit
        stated = f"The unit is {markdown(unit)}." if unit else "The run does not say whether a record is a person."
        relations = dict.fromkeys(audit.relation for audit in self.audits)
        meant = [f"Relation {name}: {RELATION.get(name, 'neighbouring datasets')}." for name in relations]
        return [
            "## Claim and unit",
            " ".join([f"Privacy unit: {stated}", *map(markdown, meant)]),
            _table(
                ("audit", "mechanism", "trust tier", "claim", "epsilon", "delta"),
                [_claim_row(audit) for audit in self.audits],
            ),
            "## Test and outcome",
            _table(
                (
                    "audit",
                    "runs",
                    "epsilon at least",
                    "confidence of each",
                    "ceiling",
                    "detectable",
                    "p",
                    "verdict",
                ),
                [_test_row(audit) for audit in self.audits],
            ),
            f"Epsilon is at least the bound with the confidence beside it, which is of one audit. The verdicts hold "
            f"jointly with {confidence_text(self.confidence)} confidence, and p is corrected for their number. The "
            "ceiling is the largest bound that these runs could give; detectable is the least true epsilon that a "
            "perfect attack shows 9 times in 10.",
            "## Assumptions and choices",
            "\n".join(f"* {markdown(text)}" for text in _distinct(a.assumptions for a in self.audits)),
            "\n".join(f"* Attack: {markdown(name)}" for name in _distinct([a.attack] for a in self.audits)),
            _table(("choice", "looked at", "correction", "audit")[: 3 + (len(self.audits) > 1)], _ledger_rows(self)),
            "\n".join(f"* Warning: {markdown(text)}" for text in _distinct(a.warnings for a in self.audits)),
        ]

    def _metric_parts(self) -> list[str]:
        names = [name for name in ATTACKS if self.metrics and name in self.metrics[0]]
        rows = [tuple(_cell(row[name]) for name in names) for row in self.metrics]
        return [
            "## Metrics",
            "These are metrics of attacks. They test no claim and are no bounds on epsilon. The area under the ROC "
            "curve (AUC) is the share of pairs of a member and a non-member in which the member has the higher score.",
            _table([ATTACKS[name] for name in names], rows),
            "\n".join(f"* {markdown(text)}" for text in self.notes),
        ]


def card_of(result: SweepResult | MembershipResult, origin: Origin) -> Card:
    """Return the card of a result."""
    if isinstance(result, MembershipResult):
        return Card(
            origin=origin,
            outcome=result.text().headline,
            next_steps=result.text().next_steps,
            verdict=None,
            tone=result.text().tone.value,
            confidence=result.confidence,
            seed=None,
            audits=(),
            metrics=tuple(_rows(result)),
            notes=result.text().notes,
            ledger=(),
            hazards=of_metrics(result),
        )
    return Card(
        origin=origin,
        outcome=result.text().headline,
        next_steps=result.text().next_steps,
        verdict=result.verdict.value,
        tone=result.text().tone.value,
        confidence=result.confidence,
        seed=result.seed,
        audits=tuple(map(_audit_card, result.points)),
        metrics=(),
        notes=(),
        ledger=result.ledger,
        hazards=coverage([point.result for point in result.points], unit=origin.unit),
    )


def _rows(result: MembershipResult) -> list[dict[str, Any]]:
    """Return the metrics of each attack as a row."""
    return [{str(name): value for name, value in row.items()} for row in result.to_frame().to_dict(orient="records")]


def _audit_card(point: SweepPoint) -> AuditCard:
    result, bound = without_values(point.result), point.result.bound
    game = result.game
    return AuditCard(
        parameters=point.parameters,
        mechanism=result.mechanism,
        tier=result.tier,
        claim={"guarantee": result.claim_name, "epsilon": result.claim, "delta": result.delta},
        relation=result.relation,
        attack=result.attack,
        trials={**asdict(result.trials), "words": game.describe_trials(result.trials), "game": game.value},
        bound={
            "epsilon": bound.epsilon,
            "delta": bound.delta,
            "confidence": result.confidence,
            "confidence_alone": bound.confidence,
            "method": bound.method,
            "exact_epsilon": result.exact_epsilon,
        },
        p_value=result.p_value,
        p_adjusted=point.p_adjusted,
        power={"ceiling": result.ceiling, "detectable": result.detectable, "family": result.detectable_family},
        verdict=point.verdict.value,
        tone=tone_of_point(point).value,
        weak=tone_of_point(point) is Tone.WEAK,
        assumptions=_distinct([[game.words.assumes], *(each.assumptions for each in result.bounds)]),
        ledger=(*result.ledger, *(entry for entry in bound.ledger if entry not in result.ledger)),
        warnings=result.warnings,
        fingerprint=result.fingerprint,
        valid_if=result.valid_if,
    )


def _claim_row(audit: AuditCard) -> tuple[str, ...]:
    claim = audit.claim
    epsilon, delta = number(claim["epsilon"]), number(claim["delta"])
    return _name(audit), _cell(audit.mechanism), audit.tier or "-", _cell(claim["guarantee"]), epsilon, delta


def _test_row(audit: AuditCard) -> tuple[str, ...]:
    bound, power = audit.bound, audit.power
    shown = [
        number(bound["epsilon"]),
        confidence_text(bound["confidence"]),
        number(power["ceiling"]),
        number(power["detectable"]),
        _cell(p_value_text(audit.p_adjusted, 1.0 - bound["confidence"])),
    ]
    verdict = f"{Tone(audit.tone).sign} {audit.verdict}{', weak' * audit.weak}"
    return _name(audit), _cell(audit.trials["words"]), *shown, verdict


def _hazard_row(covered: Covered) -> tuple[str, ...]:
    return str(covered.number), covered.name, covered.status, _cell(covered.how).replace("\\`", "`")


def _ledger_rows(card: Card) -> list[tuple[str, ...]]:
    places: dict[LedgerEntry, list[str]] = {entry: [] for entry in card.ledger}
    for audit in card.audits:
        for entry in dict.fromkeys(audit.ledger):
            places.setdefault(entry, []).append(_name(audit))
    several = len(card.audits) > 1
    return [
        (
            _cell(entry.what),
            _cell(entry.looked_at),
            _cell(entry.correction),
            *[_audits(names, len(card.audits))][:several],
        )
        for entry, names in places.items()
    ]


def _audits(names: Sequence[str], n_audits: int) -> str:
    """Return the audits that an entry of the ledger belongs to."""
    return "all" if len(names) in (0, n_audits) else "; ".join(names)


def _origin_rows(card: Card) -> list[tuple[str, ...]]:
    known = card.origin.environment
    versions = ", ".join(f"{name} {version}" for name, version in known.get("versions", {}).items() if version)
    seed = "-" if card.seed is None else str(card.seed)
    rows: list[tuple[str, ...]] = [
        ("command", _cell(card.origin.command)),
        ("seed", seed),
        ("versions", _cell(versions)),
    ]
    rows += [(name, _cell(known[name])) for name in ("commit", "code") if known.get(name)]
    return rows


def _name(audit: AuditCard) -> str:
    return _cell(parameters_text(audit.parameters) or "the audit")


def _cell(value: Any) -> str:
    """Return a value as a cell of a Markdown table."""
    return number(value) if isinstance(value, float) else markdown(str(value))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; empty without rows."""
    if not rows:
        return ""
    return "\n".join([f"| {' | '.join(row)} |" if row else "" for row in (head, ["---"] * len(head), *rows)])


def _distinct(several: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in several for text in texts))


def _plain(value: Any) -> Any:
    """Return a JSON-ready value; infinite numbers as text, NaN as None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inside) for inside in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(float(value))
    return value.item() if hasattr(value, "item") else value


__all__ = ["Card", "Origin", "card_of"]
