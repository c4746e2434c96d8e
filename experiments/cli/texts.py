"""Language models from files: the texts of `dpassay text`, and the claim to test."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...attacks.membership.scored_texts import ScoredTexts
from ...attacks.membership.token_signals import MIN_K_SHARE
from ...audit.games.coins import Coins
from ...audit.metrics.membership.language_models import (
    EXTRACTION_PROBABILITY,
    NUMBERS_OF_QUERIES,
    LanguageModelResult,
    evaluate_texts,
)
from ...mechanisms.core import ParameterError, csv_cell
from ..data.text_files import load_texts
from .check import Claimed

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.writing import ConfigRun


@dataclass(frozen=True)
class TextStudy:
    """Texts in a file and what to compute, as given on the command line.

    Args:
        file: file in the format of `load_texts`.
        coins: file of coins; None for metrics only.
        epsilon, delta: the claim, with coins.
        signal, relation, confidence, share, queries, p, looks: see `evaluate_texts`.
        zeros: see `load_texts`.
    """

    file: Path
    coins: Path | None = None
    epsilon: float | None = None
    delta: float | None = None
    signal: str | None = None
    relation: str | None = None
    confidence: float = 0.95
    share: float = MIN_K_SHARE
    queries: tuple[int, ...] | None = None
    p: float = EXTRACTION_PROBABILITY
    looks: int = 1
    zeros: str = "auto"

    @cached_property
    def texts(self) -> ScoredTexts:
        """Texts in the file."""
        return load_texts(self.file, zeros=self.zeros)

    @cached_property
    def result(self) -> LanguageModelResult:
        """All metrics, and the audit if there are coins."""
        self._check_options()
        audited: dict[str, Any] = {} if self.coins is None else self._audited(self.coins)
        return evaluate_texts(
            self.texts,
            confidence=self.confidence,
            share=self.share,
            queries=self.queries or NUMBERS_OF_QUERIES,
            p=self.p,
            **audited,
        )

    def _audited(self, coins: Path) -> dict[str, Any]:
        assert self.epsilon is not None
        delta = self.delta or 0.0
        return {
            "coins": Coins.load(coins),
            "claim": Claimed(self.epsilon, delta).guarantee(),
            "delta": delta,
            "signal": self.signal,
            "relation": self.relation or "add_remove",
            "looks": self.looks,
        }

    def _check_options(self) -> None:
        if self.coins is not None and self.epsilon is None:
            raise ParameterError("--epsilon is required with --coins: the claim of the training.", argument="--epsilon")
        audited = {"epsilon": self.epsilon, "delta": self.delta, "signal": self.signal, "relation": self.relation}
        audited["looks"] = None if self.looks == 1 else self.looks
        given = [f"--{name}" for name, value in audited.items() if value is not None]
        if self.coins is None and given:
            raise ParameterError(
                f"{', '.join(given)} need --coins: without coins no epsilon follows from these scores. Toss them "
                "before training with `dpassay coins`.",
                argument=given[0],
            )

    @property
    def command(self) -> str:
        """Command line that reproduces the numbers."""
        options = {
            "coins": self.coins,
            "looks": None if self.looks == 1 else self.looks,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "signal": self.signal,
            "relation": self.relation,
            "confidence": self.confidence,
            "share": self.share,
            "p": self.p,
            "zeros": None if self.zeros == "auto" else self.zeros,
        }
        words = [word for key, value in options.items() if value is not None for word in (f"--{key}", str(value))]
        words += [word for n in self.queries or () for word in ("--queries", str(n))]
        return shlex.join(["dpassay", "text", self.file.name, *words])

    def keep(self, out: Path) -> list[ConfigRun]:
        """Write the signals of all texts, and the reports of the table and of the audit in folders of their own."""
        from ...mechanisms.core import describe
        from ...mechanisms.core.fingerprint import fingerprint
        from ..config.toml_text import to_toml
        from ..runs.directory import RunDirectory
        from ..runs.kept import keep

        result, directory = self.result, RunDirectory(out)
        request = {"command": self.command, "signals": fingerprint({"signals": describe(dict(result.signals))})}
        same: dict[str, Any] = {"name": self.file.name, "request": request, "command": self.command}
        directory.claim_judged(to_toml(request))
        directory.write("signals.csv", _csv(result.to_frame()))
        if result.extraction:
            directory.write("extraction.csv", _csv(result.extraction_frame()))
        runs = []
        if result.membership is not None:
            runs.append(keep(result.membership, out / "membership", ids=result.ids, **same))
        if result.audit is not None:
            runs.append(keep(result.audit, out / "audit", **same))
        return runs


def _csv(frame: pd.DataFrame) -> str:
    return frame.map(csv_cell).to_csv(index=False, lineterminator="\n")


__all__ = ["TextStudy"]
