"""Language models from the log probabilities of texts in a file, with coins an audit of the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...audit.games.coins import Coins
from ...audit.metrics.membership.language_models import NUMBERS_OF_QUERIES, LanguageModelResult, evaluate_texts
from ...audit.trials.options import RunOptions
from ...mechanisms.core import describe
from ...mechanisms.core.fingerprint import fingerprint
from ..data.text_files import load_texts
from .base import HERE, FileTask, stated
from .judgement import bounds_of_bits, claimed, require_coins

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class TextStudy(FileTask):
    """Texts in a file and what to compute: `dpassay text`.

    Args:
        file, zeros: see `load_texts`.
        from_release: file of released texts, whose model scores the texts, see `load_texts`; None for the log
            probabilities in the file.
        coins: file of coins; None for metrics only.
        looks, signal, relation, confidence, share, p, queries: see `evaluate_texts`; no queries for its default.
        epsilon, delta: the claim, with coins.
        bound, negatives: see `Judgement`.

    Raises:
        ParameterError: options that need coins, or coins without a claim.
    """

    command: ClassVar[str] = "text"

    file: Path
    from_release: Path | None = None
    coins: Path | None = None
    looks: int = 1
    epsilon: float | None = None
    delta: float | None = None
    signal: str | None = None
    relation: str | None = None
    bound: tuple[str, ...] = ()
    negatives: float | None = None
    confidence: float = stated(0.95)
    share: float = stated(0.2)
    p: float = stated(0.5)
    zeros: str = "auto"
    queries: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_coins(self, ("epsilon", "delta", "signal", "relation", "bound", "negatives", "looks"), "training")

    def run(self, options: RunOptions = HERE) -> dict[str, Any]:
        """Read the texts, and with a claim the coins; return them as arguments of `evaluate_texts`."""
        audited: dict[str, Any] = {}
        if self.coins is not None and self.epsilon is not None:
            delta = self.delta or 0.0
            audited = {
                "coins": Coins.load(self.coins),
                "claim": claimed(self.epsilon, delta),
                "delta": delta,
                "signal": self.signal,
                "relation": self.relation or "add_remove",
                "looks": self.looks,
                "bound": bounds_of_bits(self.bound, self.negatives),
            }
        return audited | {"texts": load_texts(self.file, zeros=self.zeros, release=self.from_release)}

    def answer(self, evidence: Mapping[str, Any]) -> LanguageModelResult:
        """Compute all metrics, and the audit if there are coins."""
        queries = self.queries or NUMBERS_OF_QUERIES
        return evaluate_texts(**evidence, confidence=self.confidence, share=self.share, queries=queries, p=self.p)

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of the signals."""
        return {"signals": fingerprint({"signals": describe(dict(self.result.signals))})}

    @property
    def parts(self) -> Mapping[str, Any]:
        """The table of membership attacks and the audit, where there are any."""
        parts = {"membership": self.result.membership, "audit": self.result.audit}
        return {folder: part for folder, part in parts.items() if part is not None}

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The signals of all texts, and the table of extraction."""
        extraction = {"extraction.csv": self.result.extraction_frame()} if self.result.extraction else {}
        return {"signals.csv": self.result.to_frame(), **extraction}

    @property
    def record_ids(self) -> Sequence[str]:
        """Names of the texts."""
        ids: Sequence[str] = self.result.ids
        return ids
