"""Membership attacks on shadow models in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...audit.metrics.membership import evaluate
from ...audit.metrics.membership.result import MembershipResult
from ...audit.trials.options import RunOptions
from ...mechanisms.core import describe
from ...mechanisms.core.fingerprint import fingerprint
from ..data.shadow_files import NamedShadows, load_shadows
from .base import HERE, FileTask, stated


@dataclass(frozen=True, eq=False, kw_only=True)
class MembershipStudy(FileTask):
    """Shadow models in a file, and the attacks on them: `dpassay membership`.

    Args:
        file, signal, fair: see `load_shadows`.
        target, per_model, confidence: see `evaluate`.
        attack: names of attacks; empty for all that apply.
    """

    command: ClassVar[str] = "membership"

    file: Path
    target: str | None = None
    attack: tuple[str, ...] = ()
    signal: str | None = None
    fair: bool = False
    per_model: bool = False
    confidence: float = stated(0.95)

    def run(self, options: RunOptions = HERE) -> NamedShadows:
        """Read the shadow models."""
        return load_shadows(self.file, fair=self.fair, signal=self.signal)

    def answer(self, evidence: NamedShadows) -> MembershipResult:
        """Run the attacks, and compute the metrics."""
        return evaluate(
            evidence.shadows,
            self.attack or None,
            target=self.target,
            models=evidence.models,
            per_model=self.per_model,
            confidence=self.confidence,
        )

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of the arrays."""
        shadows = self.evidence.shadows
        return {"shadows": fingerprint({"arrays": describe({"membership": shadows.inclusion, **shadows.signals})})}

    @property
    def record_ids(self) -> Sequence[str]:
        """Names of the records of the file."""
        ids: Sequence[str] = self.evidence.ids
        return ids
