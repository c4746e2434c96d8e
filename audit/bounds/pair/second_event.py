"""A second event, for claims that are refuted by another event than the one with the largest expected bound.

The event with the largest bound at delta may satisfy the claim by a wide margin while another event violates it. An
example: the claim is (1, 0.05), an event of probability 0.62 against 0.36 gives an expected bound epsilon >= 0.47, and
an event that only side 1 has, of probability 0.0511, violates the claim by so little that a small pilot expects no
bound from it.

The pilot therefore predicts for every event, in both directions, the probability that the evaluation scores refute the
claimed curve with it. With pilot estimates p and q of its probabilities on the likelier and the other side, the largest
excess

    p - e^epsilon q - delta(epsilon)        over all epsilon, delta(.) being the claimed curve

is known with the error of the pilot, and will be measured with the error of the evaluation: the predicted probability
of a rejection is Phi((excess - z s_eval) / sqrt(s_eval^2 + s_pilot^2)). If this is clearly larger for another event
than for the first one, both are tested: the second at `SECOND_SHARE` of the significance, the first at the rest
(Bonferroni). Everything is chosen on pilot scores, so the level holds for every choice. The first event remains the one
with the largest expected bound, at 9/10 of the significance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ....mechanisms.core import Floats, Guarantee, percent
from ...evidence.scores import Counts, Scores
from ...evidence.statement import Statement
from ..base import FixedBound, LedgerEntry, LowerBound
from ..curve import CurveViolation
from .pilot import IN, OUT, ThresholdEvent, chosen_threshold, pilot_scores, tried_thresholds

SECOND_SHARE = 0.1
"""Share of the significance for the second event."""
MIN_PREDICTED_POWER = 0.02
"""Smallest predicted probability of a rejection at which a second event is tested."""
MORE = 2.0, 0.2
"""Smallest ratio to, or difference from, the probability of the first event; one of the two is required."""
_GRID = 60  # number of epsilons at which the claimed curve is read


@dataclass(frozen=True)
class AlternativeEvent:
    """An event, and the delta of the point of the claim that it contradicts most."""

    event: ThresholdEvent
    delta: float


def alternative_event(
    statement: Statement, pilot: Scores | None, sizes: tuple[int, ...], first: ThresholdEvent
) -> AlternativeEvent | None:
    """Return the event that refutes the claimed curve with clearly more power than `first`; None if there is none.

    Args:
        statement: the claim, at the whole confidence.
        pilot: scores that will not be counted.
        sizes: numbers of evaluation scores, `(n_out, n_in)`.
        first: the event with the largest expected bound; its direction does not matter.
    """
    pilot = pilot_scores(pilot)
    tally, indices = pilot.tally, tried_thresholds(pilot.tally)
    hits_first = pilot.hits(first.threshold)
    predict = _Prediction(statement.claim, statement.epsilon, (tally.n_out, tally.n_in), sizes)
    parts = (1.0 - SECOND_SHARE, SECOND_SHARE)
    z_first, z_second = (float(-special.ndtri(part * statement.significance)) for part in parts)
    power_first, _ = predict.power(np.array([hits_first[0]]), np.array([hits_first[1]]), z_first)
    power, delta = predict.power(tally.hits_out[indices], tally.hits_in[indices], z_second)
    best = int(np.argmax(power))
    if power[best] < max(MIN_PREDICTED_POWER, min(MORE[0] * power_first.max(), power_first.max() + MORE[1])):
        return None
    direction, position = divmod(best, len(indices))
    among = f"best of {len(indices)} on {tally.n_out} + {tally.n_in} pilot scores"
    threshold = chosen_threshold(pilot, int(indices[position]))
    return AlternativeEvent(ThresholdEvent(threshold, (IN, OUT)[direction], among), float(delta[best]))


@dataclass(frozen=True)
class _Prediction:
    """The predicted power of events to refute a claimed curve, from pilot counts.

    Args:
        claim: the claimed curve.
        epsilon: an epsilon that is always tested: the curve may have a corner there.
        pilot, sizes: numbers of scores of side 0 and of side 1, of the pilot and of the evaluation.
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
        evaluation_error = np.sqrt(spread1 / n1 + spread0 / n0)
        total_error = np.sqrt(spread1 * (1.0 / n1 + 1.0 / m1) + spread0 * (1.0 / n0 + 1.0 / m0))
        power = special.ndtr((excess - z * evaluation_error) / total_error)
        best = power.argmax(axis=1)
        return power[np.arange(len(power)), best], deltas[best]

    def _epsilons(self, largest: float) -> Floats:
        grid = np.linspace(0.0, max(largest, 0.0), _GRID)
        return np.append(grid, self.epsilon) if self.epsilon < largest else grid


@dataclass(frozen=True)
class WithSecondEvent(FixedBound[Scores]):
    """Two fixed bounds that share the significance: `SECOND_SHARE` of it for the second, the rest for the first."""

    first: FixedBound[Scores]
    second: FixedBound[Scores]

    @property
    def thresholds(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(self.first.thresholds + self.second.thresholds))

    def lower_bound(self, evidence: Scores) -> LowerBound:
        bounds = [part.lower_bound(evidence) for _, part in self._parts]
        best = max(bounds, key=lambda bound: bound.epsilon)
        correction = (
            f"{percent(1.0 - SECOND_SHARE)} and {percent(SECOND_SHARE)} "
            "of the significance; chosen on pilot trials only"
        )
        shared = LedgerEntry("events", "2: the largest bound, and the claimed curve", correction)
        return replace(
            best,
            confidence=self.statement.confidence,
            ceiling=max(bound.ceiling for bound in bounds),
            ledger=(shared, *best.ledger),
        )

    def exceeds_claim(self, evidence: Scores) -> bool:
        return any(part.exceeds_claim(evidence) for _, part in self._parts)

    def p_value(self, evidence: Scores) -> float:
        """Return the smaller of the two p-values, each divided by its share of the significance."""
        return min(1.0, *(part.p_value(evidence) / share for share, part in self._parts))

    def curve_test(self, evidence: Scores) -> CurveViolation | None:
        violations = [part.curve_test(evidence) for _, part in self._parts]
        return max(
            filter(None, violations), key=lambda violation: violation.delta_lower - violation.delta, default=None
        )

    @property
    def _parts(self) -> tuple[tuple[float, FixedBound[Scores]], ...]:
        return tuple(
            (share, replace(part, statement=self.statement.shared(1, share)))
            for share, part in ((1.0 - SECOND_SHARE, self.first), (SECOND_SHARE, self.second))
        )
