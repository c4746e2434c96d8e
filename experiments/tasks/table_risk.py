"""Disclosure risks of a synthetic table in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...audit.metrics import risk
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.trials.options import RunOptions
from ...mechanisms.core import ParameterError
from ...mechanisms.core.fingerprint import fingerprint
from ..data.table_files import csv_text, read_table
from .base import HERE, FileTask, stated

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRisk(FileTask):
    """A synthetic table, and records with which it is compared: `dpassay risk`.

    Args:
        real, synthetic, holdout: files in a format of `read_table`; None for no holdout.
        ignore, unit, confidence, seed: see `dpassay.audit.metrics.risk`.
        secret, category: its `secrets` and `categories`.

    Raises:
        ParameterError: one file for two tables.
    """

    command: ClassVar[str] = "risk"
    arguments: ClassVar[tuple[str, ...]] = ("real", "synthetic")

    real: Path
    synthetic: Path
    holdout: Path | None = None
    ignore: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    unit: str | None = None
    confidence: float = stated(0.95)
    seed: int = stated(0)

    def __post_init__(self) -> None:
        named: dict[Path, str] = {}
        for name, file in self._files.items():
            other = named.setdefault(file.resolve(), name)
            if other != name:
                raise ParameterError(
                    f"{name} must be another file than {other}, but both are {file}. Pass the three tables: real, "
                    "synthetic, holdout.",
                    argument=name,
                )

    @property
    def _files(self) -> dict[str, Path]:
        files = {"real": self.real, "synthetic": self.synthetic, "holdout": self.holdout}
        return {name: file for name, file in files.items() if file is not None}

    def run(self, options: RunOptions = HERE) -> dict[str, pd.DataFrame]:
        """Read the tables."""
        return {name: read_table(file, argument=name) for name, file in self._files.items()}

    def answer(self, evidence: Mapping[str, pd.DataFrame]) -> RiskResult:
        """Compare the tables."""
        result = risk(
            evidence["real"],
            evidence["synthetic"],
            evidence.get("holdout"),
            ignore=self.ignore,
            secrets=self.secret,
            categories=self.category,
            unit=self.unit,
            confidence=self.confidence,
            seed=self.seed,
        )
        return replace(result, real_file=self.real.name)

    @property
    def records_text(self) -> str:
        """CSV of the real records that were found, with their values."""
        return csv_text(self.result.records_frame(self.evidence["real"]))

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of each table."""
        return {name: fingerprint({"rows": table.to_csv(index=False)}) for name, table in self.evidence.items()}
