"""The texts of the checks of a session, and of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...audit.results.result_text import ResultText, TextTable, Tone
from ...mechanisms.core import number, plural

if TYPE_CHECKING:
    from .checked import CheckedClaims
    from .comparison import ComparedClaim, Comparison

_HEAD = ("audit", "epsilon >=", "claimed", "detects", "verdict")


def describe(checked: CheckedClaims) -> ResultText:
    """Return the text of the tested claims of a session; violations that a test expects do not count."""
    counted = [claim for claim in checked.claims if not claim.expected]
    if not counted:
        return ResultText(tone=Tone.PLAIN, headline="No claims tested", answer="", table=_table(checked))
    n_those = sum(claim.tone is checked.tone for claim in counted)
    headline = f"{checked.tone.label} ({n_those} of {plural(len(counted), 'claim')})"
    return ResultText(tone=checked.tone, headline=headline, answer="", table=_table(checked))


def _table(checked: CheckedClaims) -> TextTable:
    rows = tuple(
        (
            claim.tone.value,
            (
                claim.name,
                *map(number, (claim.bound, claim.claim, claim.detectable)),
                f"{claim.tone.sign} {claim.outcome}{' (expected)' if claim.expected else ''}",
            ),
        )
        for claim in checked.claims
    )
    return TextTable(_HEAD, rows, 1)


def describe_comparison(comparison: Comparison, notes: Sequence[str] = ()) -> ResultText:
    """Return the text of a comparison; `notes` say what else differs."""
    failures = comparison.failures
    rows = tuple((Tone.VIOLATION.value if claim.change.fails else "", _cells(claim)) for claim in comparison.claims)
    return ResultText(
        tone=Tone.VIOLATION if failures else Tone.CONSISTENT,
        headline=comparison.headline(),
        answer=comparison.level(),
        table=TextTable((*_HEAD, "change"), rows, 1),
        warnings=tuple(f"{claim.name}: {claim.reason}" for claim in failures),
        notes=tuple(notes),
    )


def _cells(claim: ComparedClaim) -> tuple[str, ...]:
    """Return the cells of one claim, with both values where they differ in the digits that are shown."""
    both = [side for side in (claim.before, claim.after) if side is not None]
    numbers = [_arrow([number(getattr(side, name)) for side in both]) for name in ("bound", "claim", "detectable")]
    return (claim.name, *numbers, _arrow([side.outcome for side in both]), claim.change.value)


def _arrow(values: Sequence[str]) -> str:
    return " → ".join(dict.fromkeys(values)) if len(set(values)) > 1 else values[0]
