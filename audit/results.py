"""The result of an audit: frozen, complete, and with a versioned JSON form.

Everything that a table, a plot or a report shows is in here; nothing has to be run again to draw it.
"""

from __future__ import annotations

from dataclasses import dataclass

from audit.bounds.base import LedgerEntry, LowerBound
from audit.games import Tally
from audit.verdict import Verdict

FORMAT = "dpassay.audit-result"
VERSION = 1


@dataclass(frozen=True)
class Trials:
    """How many runs, per side.

    Args:
        per_side: all of them.
        pilot: used to train the attack and to choose thresholds; never counted in a bound.
        evaluation: counted.
    """

    per_side: int
    pilot: int
    evaluation: int


@dataclass(frozen=True)
class ClaimCurve:
    """The accountant's curve, sampled for drawing and for the table.

    Args:
        fpr, fnr: `(101,)` points of the trade-off curve.
        epsilon, delta: `(101,)` points of the privacy profile.
    """

    fpr: tuple[float, ...]
    fnr: tuple[float, ...]
    epsilon: tuple[float, ...]
    delta: tuple[float, ...]


@dataclass(frozen=True)
class AuditResult:
    """One audit: a mechanism, a pair, an attack, its bounds, and the verdict on the claim.

    Args:
        mechanism: how the mechanism was configured, such as "Laplace(epsilon=1.0, sensitivity=1.0)".
        relation: the neighbouring relation of the pair and of the claim.
        attack: name of the attack.
        claim: the claimed epsilon at `delta`.
        claim_name: the guarantee that it comes from, such as "PureDP(epsilon=1.0)".
        truth: the exact epsilon of the worst-case pair at `delta` where it is known and that pair was run.
        delta, confidence: of the whole statement "true epsilon >= bound".
        bounds: every bound that was computed, each at its share of the significance.
        p_value: smallest significance at which the claim would be refuted, over all the bounds.
        detectable: smallest true epsilon that a perfect attack would have shown to exceed the claim, with this many
            trials, 9 times in 10.
        trials: how many runs.
        seed: root of every random stream.
        verdict: bound against claim.
        ledger: what was looked at, and how it is paid for.
        tally: hits of both sides on at most about 400 thresholds, for the curves.
        claim_curve: the accountant's curve.
        events: outcomes that were not ordinary values, such as {"raised ValueError": (0, 12)}, (side 0, side 1).
        fingerprint: digest of everything that determines the trials.
    """

    mechanism: str
    relation: str
    attack: str
    claim: float
    claim_name: str
    truth: float | None
    delta: float
    confidence: float
    bounds: tuple[LowerBound, ...]
    p_value: float
    detectable: float
    trials: Trials
    seed: int
    verdict: Verdict
    ledger: tuple[LedgerEntry, ...]
    tally: Tally
    claim_curve: ClaimCurve
    events: dict[str, tuple[int, int]]
    fingerprint: str

    @property
    def bound(self) -> LowerBound:
        """The largest of the bounds; valid at `confidence` because they share the significance."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def ceiling(self) -> float:
        """The largest bound that these trials could have given."""
        return max(bound.ceiling for bound in self.bounds)
