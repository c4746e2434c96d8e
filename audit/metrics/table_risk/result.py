"""Result of the comparison of real with holdout records: findings, facts, and what they cannot tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ....mechanisms.core import listed, plural
from ...results.saved import Saved, require
from ...results.text import percent
from ..membership.roc import RateAt
from .tables import ColumnType

if TYPE_CHECKING:
    import pandas as pd

SUCCESS_TEXTS: dict[str, str] = {
    "copies": "stand in the synthetic table, equal in every compared column",
    "near copies": "have a row of the synthetic table five times nearer than any other person",
    "singled out": "are singled out: a narrow description made from the synthetic table fits them and no other record",
    "linked": "are linked: they are the nearest record to a row of the synthetic table by each half of the columns",
    "membership": "are among the people (2 %, or more with ties) that the synthetic table comes nearest to",
    "identifiers": "have their identifier in the synthetic table",
}
"""What is said of the records about which an attack succeeds."""
REPORT_LIMITS = (
    "No epsilon: one synthetic table does not bound the privacy loss of its generator. Audit the generator itself, "
    "with many runs on two neighbouring tables.",
    "No finding is no proof of safety: other attacks, or an attacker who knows more, may succeed.",
    "The distance of a synthetic row to the closest record is no evidence of safety: a table may have no near copies "
    "and disclose every record in other ways.",
    "One or two memorised records cannot be significant, however exposed they are: see the list of records.",
    "What the table tells about everyone (such as that smokers fall ill) counts as no leak: real and holdout records "
    "are inferred alike.",
    "The holdout must have been split off at random before the table was made. Records of another year or place differ "
    "from the real ones for other reasons.",
)
"""Limits of the report."""
ALL_RECORDS = "all records"
"""Group of a comparison of all records under attack."""
ASSUMPTION = (
    "records and rows are independent draws, each of any one law; repeated ones were not removed. A generator that "
    "draws from a law which depends on no single record then makes such agreements with probability at most"
)
CONTINUOUS_SHARE = 0.1
"""Share of the error that agreements in continuous columns take; comparisons take the rest."""


@dataclass(frozen=True)
class SplitTest:
    """Success of an attack about real and about holdout records.

    Args:
        attack: name of the attack.
        group: which records.
        hits_real, n_real, hits_holdout, n_holdout: records about which it is right, and all of them.
        baseline: share about which a guess without the synthetic table is right; None if there is no such guess.
        lower, upper: interval of the share of the real records about which it is right because the table was made of
            them; each interval by itself has the confidence.
        p_value: exact, over all splits into real and holdout.
        p_adjusted: the same, corrected for all comparisons.
    """

    attack: str
    group: str
    hits_real: int
    n_real: int
    hits_holdout: int
    n_holdout: int
    baseline: float | None = None
    lower: float | None = None
    upper: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None

    def corrected(self, p_adjusted: float) -> SplitTest:
        """Return this with the adjusted p-value."""
        return replace(self, p_adjusted=p_adjusted)

    @property
    def real(self) -> float:
        """Share of the real records about which the attack is right."""
        return self.hits_real / max(1, self.n_real)

    @property
    def holdout(self) -> float:
        """Share of the holdout records about which it is right."""
        return self.hits_holdout / max(1, self.n_holdout)

    def sentence(self, confidence: float, unit: str = "") -> str:
        """Return the comparison in a sentence; `unit` is the column of the units that are counted, if not records."""
        column = self.attack.removeprefix("inferred: ")
        what = SUCCESS_TEXTS.get(self.attack, f"have {column} inferred from their other columns")
        who = "of the real records" if self.group == ALL_RECORDS else f"of the real records with {self.group}"
        who = "of the real outliers" if self.group == "outliers" else who
        if unit:
            within = "" if self.group == ALL_RECORDS else f" with {self.group.replace('outliers', 'an outlier')}"
            who, what = f"of the real units ({unit}){within}", f"have records that {what}"
        text = f"{percent_of(self.real)} {who} {what}"
        if self.lower is None or self.upper is None:
            return f"{text}."
        due = f"{100 * self.lower:.1f} to {percent_of(self.upper)}"
        return (
            f"{text}; of the holdout {percent_of(self.holdout)}. Due to use: {due} ({percent(confidence)} confidence)."
        )


@dataclass(frozen=True)
class MemorisedRecords:
    """Agreements of distinct records with distinct rows of the table in all continuous columns; see agreements.py.

    Args:
        columns: continuous columns; empty if there are fewer than two.
        n_real, n_holdout: such agreements of real and of holdout records.
        n_record_pairs: pairs of pooled records that agree in these columns.
        n_row_pairs: such pairs of rows of the table.
        p_value: bound on the probability of so many agreements of real records, and no others, under the assumption.
        by_chance: read from files of version 0.1.0 only: a mean for independent columns, which is no evidence.
    """

    columns: tuple[str, ...]
    n_real: int
    n_holdout: int
    n_record_pairs: int = 0
    n_row_pairs: int = 0
    p_value: float = 1.0
    by_chance: float | None = None

    def sentence(self, unit: str = "") -> str:
        """Return the finding in a sentence, with its assumption."""
        one_each = f" (one of each {unit})" if unit else ""
        return (
            f"{plural(self.n_real, 'real record')}{one_each}, and no holdout record, agree with a row of the table in "
            f"{listed(self.columns)}, in which no two records and no two rows agree. Assumed: {ASSUMPTION} "
            f"{100 * self.p_value:.2g} %."
        )


@dataclass(frozen=True)
class Exposed:
    """A real record with a copy or a near copy.

    Args:
        row: row in the real table, from 1.
        exact: whether a row of the table equals it.
        nearby: number of other pooled records near it; 0 makes it recognisable.
        ratio: distance to the nearest row over that to the nearest different pooled record.
        remoteness: share of the pooled records that are less remote from the others.
    """

    row: int
    exact: bool
    nearby: int
    ratio: float
    remoteness: float


@dataclass(frozen=True)
class RiskResult(Saved):
    """Risks of one synthetic table.

    Args:
        n_real, n_synthetic, n_holdout: numbers of rows.
        n_attacked: records under attack, of both tables.
        confidence: of each interval; 1 - confidence is the error of all findings together.
        columns: inferred types.
        overall, parts: comparisons of all records; of groups, and of the inference of single columns.
        membership: share of the real records recognised at 1 % false alarms; None without a holdout.
        memorised: agreements in continuous columns.
        exposed: the most remote real records with a copy or a near copy.
        n_exposed: number of real records with a copy, and of those under attack with a near copy.
        fewest: smallest number of copied real records, with none in the holdout, that a comparison can show; None
            without a holdout, or if no number is enough. Of units, where `unit` names them.
        unit: column by which the holdout was split off: comparisons then count its values, not rows; "" if by row.
    """

    FORMAT: ClassVar[str] = "dpassay.table-risk"
    VERSION: ClassVar[int] = 1

    n_real: int
    n_synthetic: int
    n_holdout: int
    n_attacked: int
    confidence: float
    columns: tuple[ColumnType, ...]
    overall: tuple[SplitTest, ...]
    parts: tuple[SplitTest, ...]
    membership: RateAt | None
    memorised: MemorisedRecords
    exposed: tuple[Exposed, ...]
    n_exposed: int
    fewest: int | None
    unit: str = ""

    def check(self, at: str = "") -> None:
        for c in self.comparisons:
            possible = 0 <= c.hits_real <= c.n_real and 0 <= c.hits_holdout <= c.n_holdout
            require(possible, at, f"{c.attack} of {c.group} is right about more records than there are")

    @property
    def comparisons(self) -> tuple[SplitTest, ...]:
        """All comparisons."""
        return (*self.overall, *self.parts)

    @property
    def findings(self) -> tuple[SplitTest, ...]:
        """Significant comparisons, those of all records first."""
        return tuple(c for c in self.comparisons if c.p_adjusted is not None and c.p_adjusted <= 1.0 - self.confidence)

    @property
    def memorised_by_assumption(self) -> bool:
        """Whether agreements in continuous columns are a finding, under the named assumption."""
        return self.memorised.p_value <= CONTINUOUS_SHARE * (1.0 - self.confidence)

    @property
    def leaks(self) -> bool:
        """Whether there is a finding."""
        return bool(self.findings) or self.memorised_by_assumption

    @property
    def safe_so_far(self) -> bool:
        """Whether there is a holdout and no finding. This is no proof of safety."""
        return self.n_holdout > 0 and not self.leaks

    @property
    def worst_group(self) -> SplitTest | None:
        """Finding about a group with the largest lower limit of the share due to use; None without one."""
        groups = [c for c in self.findings if c.group != ALL_RECORDS]
        return max(groups, key=lambda c: (c.lower or 0.0, c.real - c.holdout), default=None)

    @property
    def headline(self) -> str:
        """The result in a few words."""
        if not self.n_holdout:
            (copies,) = (c for c in self.overall if c.attack == "copies")
            found = f"{copies.hits_real:,} of {copies.n_real:,} real records stand in the table"
            return f"No verdict, because there is no holdout; {found}"
        return "No leak found" if self.safe_so_far else "The table leaks records"

    @property
    def answer(self) -> str:
        """The result in two or three sentences."""
        if not self.n_holdout:
            return (
                "Without records that the table was not made of, copies by chance cannot be told from leaks. The rates "
                "below are facts, not findings. Split off a holdout at random, make the table without it, pass both."
            )
        who = f"unit ({self.unit})" if self.unit else "record"
        if self.safe_so_far:
            fewest = f" At least {self.fewest:,} copied {who}s would be needed." if self.fewest else ""
            return f"No attack succeeds more often about real {who}s than about holdout {who}s.{fewest}"
        n = len(self.findings) + self.memorised_by_assumption
        first = self._said(self.findings[0]) if self.findings else self.memorised.sentence(self.unit)
        return f"{plural(n, 'finding')}. {first}"

    def _said(self, c: SplitTest) -> str:
        return c.sentence(self.confidence, self.unit)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on the findings after the first one, which `answer` has: one each, and one on all groups."""
        whole = [self._said(c) for c in self.findings[1:] if c.group == ALL_RECORDS]
        groups: dict[str, list[str]] = {}
        for c in self.findings[1:]:
            if c.group != ALL_RECORDS:
                groups.setdefault(c.group, []).append(c.attack)
        if groups:
            listed_groups = "; ".join(f"{group} ({', '.join(attacks)})" for group, attacks in groups.items())
            whole.append(f"Also within groups of records: {listed_groups}.")
        if self.findings and self.memorised_by_assumption:
            whole.append(self.memorised.sentence(self.unit))
        return tuple(whole)

    @property
    def notes(self) -> tuple[str, ...]:
        """Facts that are no findings, and how to read the numbers."""
        notes, who = [], "units" if self.unit else "records"
        if self.membership is not None:
            m = self.membership
            notes.append(
                f"Membership at 1 % false alarms: {percent_of(m.tpr)} of the real {who} are recognised "
                f"({percent_of(m.lower)} to {percent_of(m.upper)} at {percent(self.confidence)} confidence, if {who} "
                "are independent draws); guessing recognises 1 %."
            )
        if self.n_holdout:
            notes.append(
                f"All findings together are false with probability at most {percent(1 - self.confidence)} if the "
                f"table does not depend on which {who} are real. Findings by comparison assume no law of the {who}."
            )
            notes.append(
                f"Each interval is of the share of real {who} about which the attack is right because the table was "
                f"made of them, and by itself has {percent(self.confidence)} confidence; it assumes that this has no "
                f"effect on the holdout {who}."
            )
            shown = "more than there are" if self.fewest is None else f"{self.fewest:,}"
            notes.append(f"Copied {who} needed for a finding by comparison, with none in the holdout: {shown}.")
        worst = self.worst_group
        if worst is not None:
            notes.append(f"Worst group ({worst.attack}): {self._said(worst)}")
        agree = self.memorised
        if agree.n_real and not self.memorised_by_assumption:
            beside = f" and {agree.n_holdout:,} of the holdout" if self.n_holdout else ""
            notes.append(
                f"{plural(agree.n_real, 'real record')}{beside} agree with a row in {listed(agree.columns)}; so do "
                f"{plural(agree.n_record_pairs, 'pair')} of records and {plural(agree.n_row_pairs, 'pair')} of rows."
            )
        notes.append(
            f"Real records with a copy in the table, or under attack and with a near copy in it: {self.n_exposed:,}."
        )
        return tuple(notes)

    def summary(self) -> str:
        """Return the result as plain text: findings, comparisons, types and limits."""
        table: list[tuple[str, ...]] = [
            ("attack", "records", "real", "holdout", "without table", "due to use", "p (Holm)")
        ]
        table += [cells(c) for c in shown_comparisons(self)]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        rows = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
        types = ", ".join(f"{c.name} ({c.kind})" for c in self.columns)
        return "\n".join(
            [
                f"{self.headline}. {self.answer}",
                "",
                *(f"* {sentence}" for sentence in self.sentences),
                *([""] if self.sentences else []),
                *rows,
                "",
                *self.notes,
                f"Columns: {types}.",
                "",
                "What this cannot tell",
                *(f"* {limit}" for limit in REPORT_LIMITS),
            ]
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per comparison."""
        import pandas as pd

        return pd.DataFrame([vars(c) for c in self.comparisons])


MAX_PARTS_SHOWN = 12


def shown_comparisons(result: RiskResult) -> tuple[SplitTest, ...]:
    """Return the comparisons of a table: all records, and the smallest p-values of groups and columns."""
    order = sorted(result.parts, key=lambda c: (c.p_value is None, c.p_value or 0.0, -c.real))
    return (*result.overall, *order[:MAX_PARTS_SHOWN])


def cells(c: SplitTest) -> tuple[str, ...]:
    """Return the cells of a comparison: attack, records, real, holdout, without the table, due to use, p-value."""
    compared = c.n_holdout > 0
    due = "" if c.lower is None or c.upper is None else f"{100 * c.lower:.1f} to {percent_of(c.upper)}"
    return (
        c.attack,
        c.group,
        f"{c.hits_real:,}/{c.n_real:,} ({percent_of(c.real)})",
        f"{c.hits_holdout:,}/{c.n_holdout:,} ({percent_of(c.holdout)})" if compared else "",
        "" if c.baseline is None else percent_of(c.baseline),
        due,
        "" if c.p_adjusted is None else ("1" if c.p_adjusted >= 1 else f"{c.p_adjusted:.2g}"),
    )


def percent_of(share: float) -> str:
    """Return a share as text in per cent."""
    return f"{100 * share:.1f} %"
