"""Result of the comparison of real with holdout records: findings, facts, and what they cannot tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ...evidence.verdict import Verdict
from ...results.audit_result import AuditResult
from ...results.saved import Saved, require
from ..membership.roc import RateAt
from .tables import ColumnType

if TYPE_CHECKING:
    import pandas as pd

ALL_RECORDS = "all records"
"""Group of a comparison of all records under attack."""
MEMORISED = "memorised"
"""Name of the agreements in continuous columns among the attacks of a cause."""
DENSITY = "density"
"""Name of the attack by an auxiliary density of the table; shown beside those of `overall`."""
MAX_FOUND = 10_000
"""Largest number of records that a result lists."""
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


@dataclass(frozen=True)
class Cause:
    """Findings about mostly the same real records: one leak, which several attacks and groups show.

    A row of the table identifies a record by the fewest columns in which it is nearer to this record than to any other
    pooled one; if the record is singled out, by those of the narrowest description.

    Args:
        findings: attack and group of each finding, the one that names the leak first; `MEMORISED` and `ALL_RECORDS` for
            agreements in continuous columns.
        n_records: real records about which the first attack is right.
        columns: columns that identify most of these records, or all columns of identifiers, of agreements, or that are
            inferred; empty if no column stands out.
        n_by: number of these records that are identified by these columns; 0 where that is not known.
        alone: whether no other columns are needed.
        n_examined: number of these records whose columns were looked for; 0 in files of older versions: all.
    """

    findings: tuple[tuple[str, str], ...]
    n_records: int
    columns: tuple[str, ...] = ()
    n_by: int = 0
    alone: bool = True
    n_examined: int = 0

    @property
    def attack(self) -> str:
        """Attack that names the leak."""
        return self.findings[0][0]


@dataclass(frozen=True)
class FoundRecord:
    """A real record about which attacks are right.

    Args:
        row: row in the real table, from 1.
        attacks: names of the attacks.
        columns: columns that identify it, see `Cause`; empty if none do, or were not looked for.
    """

    row: int
    attacks: tuple[str, ...]
    columns: tuple[str, ...] = ()


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
        causes: the findings, those about mostly the same records together.
        each: every finding about all records by itself, with the columns that identify its records.
        found: real records of the findings, and those with a copy or a near copy; at most `MAX_FOUND`.
        real_file: name of the file of the real table; "" if it was no file.
        audit: test of the claim of the generator; None without coins.
    """

    FORMAT: ClassVar[str] = "dpassay.table-risk"
    VERSION: ClassVar[int] = 1
    DESCRIBED_BY: ClassVar[str] = "audit.metrics.table_risk.text"

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
    causes: tuple[Cause, ...] = ()
    each: tuple[Cause, ...] = ()
    found: tuple[FoundRecord, ...] = ()
    real_file: str = ""
    audit: AuditResult | None = None

    def check(self, at: str = "") -> None:
        if self.audit is not None:
            self.audit.check(f"{at}audit")
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
    def verdict(self) -> Verdict | None:
        """That of the claim, if it is tested; else violation if there is a finding. None without a holdout."""
        if self.audit is not None:
            return self.audit.verdict
        if self.unanswered:
            return None
        return Verdict.VIOLATION if self.leaks else Verdict.CONSISTENT

    @property
    def unanswered(self) -> str:
        """Why there is no verdict, and what to do; empty with a verdict."""
        if self.n_holdout:
            return ""
        return "no verdict without a holdout: split one off at random before the table is made; pass --holdout."

    @property
    def worst_group(self) -> SplitTest | None:
        """Finding about a group with the largest lower limit of the share due to use; None without one."""
        groups = [c for c in self.findings if c.group != ALL_RECORDS]
        return max(groups, key=lambda c: (c.lower or 0.0, c.real - c.holdout), default=None)

    def records_frame(self, real: pd.DataFrame) -> pd.DataFrame:
        """Return the real records that were found, with their values: row, attacks, columns, and the record itself.

        Args:
            real: the real table. The values are those of real people: keep the table where it is.
        """
        import pandas as pd

        about = pd.DataFrame(
            {
                "row": [record.row for record in self.found],
                "found by": ["; ".join(record.attacks) for record in self.found],
                "identified by": ["; ".join(record.columns) for record in self.found],
            }
        )
        records = real.iloc[[record.row - 1 for record in self.found]].reset_index(drop=True)
        return pd.concat([about, records], axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per comparison."""
        import pandas as pd

        return pd.DataFrame([vars(c) for c in self.comparisons])
