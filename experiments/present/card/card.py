"""The evidence card: one page and one JSON file that say what a run claims, how it was tested and what it showed.

    result, origin -> Card -> card.json, card.md, card.html

A card restates numbers of `results.json` and adds what a reader elsewhere needs: the unit, the assumptions, the
ledger, versions, and the SHA-256 of each file that the numbers come from. It computes no new number and no verdict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ....audit.bounds.base import LedgerEntry
from ....audit.metrics.membership.result import MembershipResult
from ....audit.results.result_text import ResultText, Row, TextSection, TextTable, Tone
from ....audit.results.withheld import without_values
from ....mechanisms.core import confidence_text, markdown, number, p_value_text
from ..results.latex import ATTACKS
from ..results.parameters import parameters_text
from ..results.sweep import SweepPoint, SweepResult
from ..results.sweep_text import RELATION, tone_of_point
from .hazards import Covered, coverage, of_metrics

FORMAT, VERSION = "dpassay.evidence-card", 2
COVERED = "What the run covers of the hazards in NIST SP 800-226"
OWN_WORDS = (COVERED, "Limits")
"""Sections without a text from elsewhere."""
CLAIMED = ("audit", "mechanism", "trust tier", "claim", "epsilon", "delta")
TESTED = (
    "audit", "runs", "epsilon at least", "confidence of each", "ceiling", "detectable", "p", "verdict"
)  # fmt: skip
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

    def text(self) -> ResultText:
        """Return the card as the text of a page: the outcome, then a section for each question of a reader."""
        return ResultText(
            tone=Tone(self.tone),
            headline=self.outcome,
            answer="",
            conditions=tuple(text for text in _distinct([audit.valid_if] for audit in self.audits) if text),
            next_steps=self.next_steps,
            details=(
                *(self._audit_sections() if self.audits else self._metric_sections()),
                TextSection(
                    COVERED,
                    table=_table(
                        ("number", "hazard", "this run", "how"), [_hazard_row(one) for one in self.hazards], 4
                    ),
                ),
                TextSection("Limits", paragraphs=LIMITS),
                TextSection(
                    "Origin", _origin_rows(self), table=_table(("file", "SHA-256"), self.origin.hashes.items(), 2)
                ),
            ),
        )

    def to_markdown(self) -> str:
        """Return the card as one Markdown page, with every text escaped."""
        text = self.text()
        parts = [
            f"# Evidence card: {markdown(self.origin.title)}",
            *(f"Condition: {markdown(condition)}" for condition in text.conditions),
            f"{text.tone.sign} {markdown(text.headline)}".lstrip(),
            *(f"Next step: {markdown(step)}" for step in text.next_steps),
        ]
        for section in text.details:
            shown = _coded if section.title in OWN_WORDS else markdown
            bullet = "* " if len(section.paragraphs) > 1 else ""
            parts += [
                f"## {section.title}",
                "\n".join(f"{bullet}{shown(paragraph)}" for paragraph in section.paragraphs),
                _markdown_table(("", ""), section.facts, shown),
            ]
            if (table := section.table) is not None:
                parts += [_markdown_table(table.head, [row for _, row in table.rows], shown), markdown(table.caption)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _audit_sections(self) -> tuple[TextSection, ...]:
        """Return claim, test and outcome of the audits, then their assumptions, choices and warnings."""
        unit = self.origin.unit
        stated = f"The unit is {unit}." if unit else "The run does not say whether a record is a person."
        relations = dict.fromkeys(audit.relation for audit in self.audits)
        meant = [f"Relation {name}: {RELATION.get(name, 'neighbouring datasets')}." for name in relations]
        tested = (
            f"Epsilon is at least the bound with the confidence beside it, which is of one audit. The verdicts hold "
            f"jointly with {confidence_text(self.confidence)} confidence, and p is corrected for their number. The "
            "ceiling is the largest bound that these runs could give; detectable is the least true epsilon that a "
            "perfect attack shows 9 times in 10."
        )
        warnings = _distinct(audit.warnings for audit in self.audits)
        choices = ("choice", "looked at", "correction", "audit")[: 3 + (len(self.audits) > 1)]
        return (
            TextSection(
                "Claim and unit",
                paragraphs=(" ".join([f"Privacy unit: {stated}", *meant]),),
                table=_table(CLAIMED, [_claim_row(audit) for audit in self.audits], 4),
            ),
            TextSection(
                "Test and outcome",
                table=TextTable(TESTED, tuple((audit.tone, _test_row(audit)) for audit in self.audits), 3, tested),
            ),
            TextSection(
                "Assumptions and choices",
                paragraphs=(
                    *_distinct(audit.assumptions for audit in self.audits),
                    *(f"Attack: {name}" for name in _distinct([audit.attack] for audit in self.audits)),
                ),
                table=_table(choices, _ledger_rows(self), 4),
            ),
            *([TextSection("Warnings", paragraphs=warnings)] if warnings else []),
        )

    def _metric_sections(self) -> tuple[TextSection, ...]:
        names = [name for name in ATTACKS if self.metrics and name in self.metrics[0]]
        rows = [tuple(_text(row[name]) for name in names) for row in self.metrics]
        said = (
            "These are metrics of attacks. They test no claim and are no bounds on epsilon. The area under the ROC "
            "curve (AUC) is the share of pairs of a member and a non-member in which the member has the higher score."
        )
        head = tuple(ATTACKS[name] for name in names)
        return (TextSection("Metrics", paragraphs=(said, *self.notes), table=_table(head, rows, 1)),)


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
    return _name(audit), audit.mechanism, audit.tier or "-", str(claim["guarantee"]), epsilon, delta


def _test_row(audit: AuditCard) -> tuple[str, ...]:
    bound, power = audit.bound, audit.power
    shown = [
        number(bound["epsilon"]),
        confidence_text(bound["confidence"]),
        number(power["ceiling"]),
        number(power["detectable"]),
        p_value_text(audit.p_adjusted, 1.0 - bound["confidence"]),
    ]
    verdict = f"{Tone(audit.tone).sign} {audit.verdict}{', weak' * audit.weak}"
    return _name(audit), str(audit.trials["words"]), *shown, verdict


def _hazard_row(covered: Covered) -> tuple[str, ...]:
    return str(covered.number), covered.name, covered.status, covered.how


def _ledger_rows(card: Card) -> list[tuple[str, ...]]:
    places: dict[LedgerEntry, list[str]] = {entry: [] for entry in card.ledger}
    for audit in card.audits:
        for entry in dict.fromkeys(audit.ledger):
            places.setdefault(entry, []).append(_name(audit))
    several = len(card.audits) > 1
    return [
        (entry.what, entry.looked_at, entry.correction, *[_audits(names, len(card.audits))][:several])
        for entry, names in places.items()
    ]


def _audits(names: Sequence[str], n_audits: int) -> str:
    """Return the audits that an entry of the ledger belongs to."""
    return "all" if len(names) in (0, n_audits) else "; ".join(names)


def _origin_rows(card: Card) -> tuple[Row, ...]:
    known = card.origin.environment
    versions = ", ".join(f"{name} {version}" for name, version in known.get("versions", {}).items() if version)
    rows: list[Row] = [
        ("command", card.origin.command),
        ("seed", "-" if card.seed is None else str(card.seed)),
        ("versions", versions),
    ]
    return (*rows, *((name, str(known[name])) for name in ("commit", "code") if known.get(name)))


def _name(audit: AuditCard) -> str:
    return parameters_text(audit.parameters) or "the audit"


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _table(head: Sequence[str], rows: Iterable[tuple[str, ...]], n_text: int) -> TextTable | None:
    """Return a table without verdicts; None without rows."""
    shown = tuple(("", row) for row in rows)
    return TextTable(tuple(head), shown, n_text) if shown else None


def _markdown_table(head: Sequence[str], rows: Iterable[tuple[str, ...]], shown: Callable[[str], str]) -> str:
    """Return a Markdown table; empty without rows."""
    lines = [f"| {' | '.join(map(shown, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|{' --- |' * len(head)}", *lines[1:]]) if len(lines) > 1 else ""


def _coded(text: str) -> str:
    """Return a text of this library as Markdown, in which words between backticks are code."""
    return markdown(text).replace("\\`", "`")


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
