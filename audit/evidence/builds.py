"""The evidence of one build against a claim, and what a history of builds must answer during an audit.

`audit(..., history=...)` computes the evidence before its verdict, and asks the history whether it leads to an alarm:
only then does an audit without a violation of its own make the experiment with fresh processes that stands before
every violation. `dpassay.experiments.ci.history` is such a history.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True)
class BuildEvidence:
    """The evidence of one build.

    Args:
        code: SHA-256 of a description of the audited code.
        outputs: SHA-256 of the pilot outputs, which repeat only if their noise repeats.
        log_e_values: logarithm of the e-value of each stake; given all earlier builds, each e-value has expectation at
            most 1 if the claim is true.
        left_out: why each e-value is replaced by 1, a clause; "" if they count.
    """

    code: str
    outputs: str
    log_e_values: tuple[float, ...]
    left_out: str = ""

    def without(self, reason: str) -> BuildEvidence:
        """Return the evidence with each e-value replaced by 1."""
        return replace(self, log_e_values=(0.0,) * len(self.log_e_values), left_out=reason)


class Builds(Protocol):
    """A history of builds with the same claim."""

    def alarms(self, evidence: BuildEvidence) -> bool:
        """Return True if the history with this evidence refutes the claim."""

    def keep(self, evidence: BuildEvidence) -> None:
        """Receive the evidence that counts."""
