"""A second event where the first one, which promises the largest bound, is not the one that refutes the claim.

The event with the largest bound at delta may obey the claim by far while another one breaks it. An example: (1, 0.05)
is claimed, an event of probability 0.62 against 0.36 promises epsilon >= 0.47, and an event that only side 1 has, of
probability 0.0511, breaks the claim by so little that a small pilot promises no bound from it.

The pilot therefore asks of every event, in both directions, how likely the scores to come are to refute the claimed
curve with it. With pilot estimates p and q of its probabilities on the likelier and the other side, the largest excess

    p - e^epsilon q - delta(epsilon)        over all epsilon, delta(.) being the claimed curve

is known with the error of the pilot, and will be measured with the error of the evaluation: the predicted probability
of a rejection is Phi((excess - z s_eval) / sqrt(s_eval^2 + s_pilot^2)). Where that of another event is clearly larger
than that of the first one, both are tested: the second at `SHARE` of the significance, the first at the rest
(Bonferroni). Everything is chosen on pilot scores, so that the level holds whatever is chosen. The first event stays
that of the largest bound, which the second one costs at most the difference between the significance and 9/10 of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ....mechanisms.guarantees.base import Guarantee
from ...evidence.scores import Counts, Floats, Scores
from ...evidence.statement import Statement
from ..base import FixedBound, LedgerEntry, LowerBound
from ..curve import CurveViolation
from .pilot import IN, OUT, Event, chosen_threshold, looked_at, pilot_scores

SHARE = 0.1
"""Of the significance, for the second event."""
LEAST = 0.02
"""Predicted probability of a rejection from which on a second event is tested."""
MORE = 2.0, 0.2
"""It must be so many times that of the first event, or exceed it by so much."""
_GRID = 60  # epsilons at which the claimed curve is read


@dataclass(frozen=True)
class Against:
    """An event, and the delta of the promise that it contradicts most."""

    event: Event
    delta: float


def event_against(statement: Statement, pilot: Scores | None, sizes: tuple[int, ...], first: Event) -> Against | None:
    """Return the event that refutes the claimed curve with clearly more power than `first`; None if there is none.

    Args:
        statement: the claim, at the whole confidence.
        pilot: scores that will not be counted.
        sizes: of the scores to come, `(n_out, n_in)`.
        first: the event that promises the largest bound; its direction does not matter.
    """
    pilot = pilot_scores(pilot)
    tally, places = pilot.tally, looked_at(pilot.tally)
    hits_first = pilot.hits(first.threshold)
    predict = _Prediction(statement.claim, statement.epsilon, (tally.n_out, tally.n_in), sizes)
    z_first, z_second = (float(-special.ndtri(part * statement.significance)) for part in (1.0 - SHARE, SHARE))
    of_first, _ = predict.power(np.array([hits_first[0]]), np.array([hits_first[1]]), z_first)
    power, delta = predict.power(tally.hits_out[places], tally.hits_in[places], z_second)
    best = int(np.argmax(power))
    if power[best] < max(LEAST, min(MORE[0] * of_first.max(), of_first.max() + MORE[1])):
        return None
    way, at = divmod(best, len(places))
    among = f"best of {len(places)} on {tally.n_out} + {tally.n_in} pilot scores"
    return Against(Event(chosen_threshold(pilot, int(places[at])), (IN, OUT)[way], among), float(delta[best]))


@dataclass(frozen=True)
class _Prediction:
    """How likely events are to refute a claimed curve, as far as a pilot can tell.

    Args:
        claim: the claimed curve.
        epsilon: one of its epsilons that is looked at in any case: the curve may have its corner there.
        pilot, sizes: scores of side 0 and of side 1, of the pilot and of the evaluation.
    """

    claim: Guarantee
    epsilon: float
    pilot: tuple[int, ...]
    sizes: tuple[int, ...]

    def power(self, hits_out: Counts, hits_in: Counts, z: float) -> tuple[Floats, Floats]:
        """Return `(2 m,)` probabilities of a rejection at `z` standard errors, and the delta where each is largest.

        Args:
            hits_out, hits_in: `(m,)` hits of the pilot. The directions "in" come first, then "out".
            z: critical value of the test.
        """
        (m_out, m_in), (n_out, n_in) = self.pilot, self.sizes
        p = np.concatenate([(hits_in + 0.5) / (m_in + 1.0), (m_out - hits_out + 0.5) / (m_out + 1.0)])[:, None]
        q = np.concatenate([(hits_out + 0.5) / (m_out + 1.0), (m_in - hits_in + 0.5) / (m_in + 1.0)])[:, None]
        m1, m0, n1, n0 = (
            np.repeat(np.array(pair, dtype=np.float64), len(hits_out))[:, None]
            for pair in ((m_in, m_out), (m_out, m_in), (n_in, n_out), (n_out, n_in))
        )
        epsilons = self._epsilons(float(np.log(p / q).max()))
        deltas, growth = np.asarray(self.claim.delta(epsilons), dtype=np.float64), np.exp(epsilons)
        excess = p - growth * q - deltas
        spread1, spread0 = p * (1.0 - p), growth**2 * q * (1.0 - q)
        of_evaluation = np.sqrt(spread1 / n1 + spread0 / n0)
        of_both = np.sqrt(spread1 * (1.0 / n1 + 1.0 / m1) + spread0 * (1.0 / n0 + 1.0 / m0))
        power = special.ndtr((excess - z * of_evaluation) / of_both)
        best = power.argmax(axis=1)
        return power[np.arange(len(power)), best], deltas[best]

    def _epsilons(self, largest: float) -> Floats:
        grid = np.linspace(0.0, max(largest, 0.0), _GRID)
        return np.append(grid, self.epsilon) if self.epsilon < largest else grid


@dataclass(frozen=True)
class WithSecondEvent(FixedBound[Scores]):
    """Two fixed bounds that share the significance: the first at 1 - SHARE of it, the second at SHARE."""

    statement: Statement
    first: FixedBound[Scores]
    second: FixedBound[Scores]

    @property
    def thresholds(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(self.first.thresholds + self.second.thresholds))

    def lower_bound(self, evidence: Scores) -> LowerBound:
        found = [part.lower_bound(evidence) for _, part in self._parts]
        best = max(found, key=lambda one: one.epsilon)
        shared = LedgerEntry("events", "2: the largest bound, and the claimed curve", _shares())
        return replace(
            best,
            confidence=self.statement.confidence,
            ceiling=max(one.ceiling for one in found),
            ledger=(shared, *best.ledger),
        )

    def exceeds_claim(self, evidence: Scores) -> bool:
        return any(part.exceeds_claim(evidence) for _, part in self._parts)

    def p_value(self, evidence: Scores) -> float:
        """The smaller of both, each divided by its share."""
        return min(1.0, *(part.p_value(evidence) / share for share, part in self._parts))

    def curve_test(self, evidence: Scores) -> CurveViolation | None:
        found = [part.curve_test(evidence) for _, part in self._parts]
        return max(filter(None, found), key=lambda one: one.delta_lower - one.delta, default=None)

    @property
    def _parts(self) -> tuple[tuple[float, FixedBound[Scores]], ...]:
        return tuple(
            (share, replace(part, statement=self.statement.shared(1, share)))  # type: ignore[type-var]
            for share, part in ((1.0 - SHARE, self.first), (SHARE, self.second))
        )


def _shares() -> str:
    return f"{1.0 - SHARE:.0%} and {SHARE:.0%} of the significance; chosen on pilot trials only"


__all__ = ["SHARE", "Against", "WithSecondEvent", "event_against"]
