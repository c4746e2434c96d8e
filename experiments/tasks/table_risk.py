"""Disclosure risks of a synthetic table in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ...audit.games.coins import Coins
from ...audit.metrics import TableKeys, risk
from ...audit.metrics.table_risk.claim import MEMBERSHIP
from ...audit.metrics.table_risk.result import RiskResult
from ...audit.trials.options import RunOptions
from ...mechanisms.core import ParameterError
from ...mechanisms.core.fingerprint import fingerprint
from ..data.table_files import csv_text, read_folder, read_table
from .base import HERE, FileTask, stated
from .judgement import claimed, require_coins


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRisk(FileTask):
    """A synthetic table, and records with which it is compared: `dpassay risk`.

    Args:
        real, synthetic, holdout: files in a format of `read_table`, or with keys folders of them; None for no holdout.
        keys: file of `TableKeys`, for several tables; None for one.
        ignore, unit, confidence, seed: see `dpassay.audit.metrics.risk`.
        secret, category: its `secrets` and `categories`.
        coins: file of the coins that split the records; None to test no claim.
        epsilon, delta: the claim, with coins.
        attack, looks: its `attacks` and `looks`, with coins; no attack for the default.

    Raises:
        ParameterError: one file for two tables, options that need coins, or coins without a claim or a holdout.
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
    coins: Path | None = None
    epsilon: float | None = None
    delta: float | None = None
    attack: tuple[str, ...] = ()
    looks: int = 1
    keys: Path | None = None

    def __post_init__(self) -> None:
        if self.keys is not None and self.unit is not None:
            raise ParameterError("--unit must be left out with --keys, whose person is the unit.", argument="unit")
        if self.keys is None and (folder := next((name for name, file in self._files.items() if file.is_dir()), None)):
            raise ParameterError(
                f"{folder} must be a table, but is a folder. For several tables that are joined by keys, give --keys "
                "SCHEMA.toml.",
                argument=folder,
            )
        require_coins(self, ("epsilon", "delta", "attack", "looks"), "the table is made")
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

    def run(self, options: RunOptions = HERE) -> dict[str, Any]:
        """Read the tables, and the coins if there are any; join several tables."""
        coins = {} if self.coins is None else {"coins": Coins.load(self.coins)}
        if self.keys is None:
            return coins | {name: read_table(file, argument=name) for name, file in self._files.items()}
        keys = TableKeys.load(self.keys)
        sides = {name: read_folder(file, keys.tables, argument=name) for name, file in self._files.items()}
        return coins | keys.people(**sides)

    def answer(self, evidence: Mapping[str, Any]) -> RiskResult:
        """Compare the tables, and with coins test the claim."""
        result = risk(
            evidence["real"],
            evidence["synthetic"],
            evidence.get("holdout"),
            ignore=self.ignore,
            secrets=self.secret,
            categories=self.category,
            unit=evidence.get("unit", self.unit),
            relations=evidence.get("relations"),
            confidence=self.confidence,
            seed=self.seed,
            coins=evidence.get("coins"),
            claim=None if self.epsilon is None else claimed(self.epsilon, self.delta or 0.0),
            attacks=self.attack or (MEMBERSHIP,),
            looks=self.looks,
        )
        return replace(result, real_file=self.real.name)

    @property
    def records_text(self) -> str:
        """CSV of the real records that were found, with their values."""
        return csv_text(self.result.records_frame(self.evidence["real"]))

    @property
    def privacy_unit(self) -> str:
        """The unit of the coins; empty without coins."""
        if self.coins is None:
            return ""
        unit = self.evidence.get("unit", self.unit)
        return f"all records of one {unit}" if unit else "one record"

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of each table, and of the coins."""
        coins = {"coins": self.evidence["coins"].digest} if self.coins is not None else {}
        tables = {name: self.evidence[name] for name in self._files}
        return {name: fingerprint({"rows": table.to_csv(index=False)}) for name, table in tables.items()} | coins

    @property
    def parts(self) -> Mapping[str, Any]:
        """The risks; with coins also the audit, in a folder each."""
        if self.result.audit is None:
            return {"": self.result}
        return {"risk": self.result, "audit": self.result.audit}
