"""E-values of the trials of one build against a claim, from bets that the pilot of the build fixes.

**Null.** The pair is (epsilon, delta)-DP: p <= e^epsilon q + delta for each event, with p its probability on the side
where it is likelier, and q on the other.

**Fixed before the evaluation**, on pilot trials of the same build: the event (threshold and direction, that of the
largest expected bound at 95 %), and the centre of the bets, the rate q on the pilot. Fixed for all builds: the stakes.
`numerics.martingale` shows that each factor of the wealth has expectation at most 1 under the null, given all earlier
trials. So the wealth at the end is an e-value for each stake, given the pilot and everything before it:
E[e | past] <= 1. This also holds at a number of trials that a rule of stopping chose (optional stopping).

The stakes are not averaged here: `experiments.ci.history` multiplies the e-values of each stake over builds, and
averages the products, so that the average costs ln 10 once, and not once a build. A stake between those of the grid
would grow by at most 15 % faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....mechanisms.core import Floats
from ...evidence.scores import PairScores, Scores
from ...evidence.statement import Statement
from ..numerics.martingale import Bets, Stretch
from ..numerics.rectangle import Rectangle
from ..numerics.unconditional import Ordering
from .betting import STAKES
from .pilot import IN, choose_event, reversed_on

_LEVEL = 0.05  # significance of the expected bounds, whose largest chooses the event


@dataclass(frozen=True)
class PilotBet:
    """Bets on one event, fixed on a pilot.

    Args:
        statement: the claim; its confidence is not used.
        threshold: of the event {score >= threshold}.
        above: True if the bet is on the event, False if it is on its complement.
        in_gains: True if what the bet is on is likelier on side 1, False if it is likelier on side 0.
        centre: expected rate of what the bet is on, on the side where it is less likely; in [0, 1/2].
    """

    statement: Statement
    threshold: float
    above: bool
    in_gains: bool
    centre: float

    @classmethod
    def fix(cls, statement: Statement, pilot: PairScores, n: int) -> PilotBet:
        """Choose event, direction and centre on pilot scores, for `n` evaluation trials of each side."""
        exchanged = reversed_on(pilot, statement.delta)
        oriented = pilot.exchanged() if exchanged else pilot
        rank = Ordering(_LEVEL, statement.delta).value

        def expected_bounds(limits: Rectangle) -> tuple[Floats, Floats]:
            inside = rank(n * limits.tpr_lower, n * limits.fpr_upper, n, n)
            outside = rank(n * limits.tnr_lower, n * limits.fnr_upper, n, n)
            return inside, outside

        event = choose_event(oriented, expected_bounds)
        above = event.direction == IN
        bet = cls(statement, event.threshold, above, above is not exchanged, 0.0)
        _, _, hits, n_pilot = bet._counts(pilot)
        return replace(bet, centre=min((hits + 0.5) / (n_pilot + 1.0), 0.5))

    def log_e_values(self, evaluation: Scores) -> Floats:
        """Return the logarithm of the e-value of each stake, `(len(STAKES),)`."""
        stretch = Stretch.ending(*self._counts(evaluation), Bets(STAKES, (self.centre,)))
        epsilon = self.statement.epsilon
        logs: Floats = stretch.counts[:, -1] @ stretch.bets.logs(epsilon, epsilon, self.statement.delta, stretch.roles)
        return logs

    def _counts(self, scores: Scores) -> tuple[int, int, int, int]:
        """Return hits and trials of the side that gains, and of the side that loses."""
        (out, in_), n_out, n_in = scores.hits(self.threshold), scores.n_out, scores.n_in
        if not self.above:
            out, in_ = n_out - out, n_in - in_
        return (in_, n_in, out, n_out) if self.in_gains else (out, n_out, in_, n_in)


def average_log(logs: Sequence[Floats] | Floats) -> Floats:
    """Return the logarithm of the average over the first axis of e-values with the given logarithms."""
    average: Floats = np.logaddexp.reduce(np.asarray(logs), axis=0) - math.log(len(logs))
    return average
