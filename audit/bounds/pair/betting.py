"""The anytime-valid bound: one test martingale against every epsilon.

**Null and level.** For each epsilon, K_t(epsilon) is the wealth, after t steps, of bets with initial wealth 1 against
"the pair is (epsilon, delta)-DP"; `numerics.martingale` shows that it is a non-negative supermartingale under this
null, hence Pr[sup_t K_t(epsilon) >= 1/significance] <= significance (Ville 1939). The bound is the smallest epsilon
whose wealth never reached 1/significance. It exceeds the true epsilon e only if K(e) reached it: a single event, so no
correction is needed for the search over epsilon or for the time of looking.

**Fixed before looking.** The prior weights over bets, directions and thresholds (their wealth is averaged, which loses
only the logarithm of a weight; a maximum over them would be invalid), and the order of the runs. The event of the bet
in step t is fixed by the steps before t: a number, the choice of a pilot, or learned online, and with it whether the
sides are exchanged (`orientation`). Every bet is chosen before the runs that decide it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ....mechanisms.core import Bools, Floats, ParameterError, non_negative, one_of, one_of_names
from ...evidence.scores import PairCounts, PairScores, Scores
from ...evidence.statement import Statement
from ..base import FixedBound, LedgerEntry, LowerBound, PairBound
from ..numerics.binomial import SMALLEST_P_VALUE
from ..numerics.martingale import Bets, Stretch, largest_log_wealth
from .learned_events import best_thresholds, rounds
from .orientation import Exchanged
from .pilot import IN, OUT, PILOT, pilot_scores, reversed_on

RESOLUTION = 2.0**-13
"""Resolution of the bound: it is a multiple of this number (about 0.0001)."""
STAKES = (0.01, 0.025, 0.05, 0.09, 0.14, 0.2, 0.28, 0.4, 0.6, 0.9)
FIRST_CENTRE = 0.25
CENTRES_UNORDERED = (0.02, 0.1, 0.2, 0.35)
AUTO, BOTH, ONLINE = "auto", "both", "online"
DIRECTIONS = {BOTH: (True, False), IN: (True,), OUT: (False,)}
"""Direction -> for each of its bets, True if the event is {score >= threshold}, False if it is the complement."""
_GRID_EVENTS = 32  # number of thresholds of a grid of counts that an online bound averages over


@dataclass(frozen=True)
class Betting(PairBound):
    """A confidence sequence for epsilon: valid at every number of trials simultaneously, with any stopping rule.

    Args:
        threshold: "online" learns the event repeatedly from the previous runs; a number, or several, are fixed
            beforehand and averaged; "pilot" lets `fix` choose the threshold on pilot scores.
        weights: prior weights of several thresholds, positive; None gives equal weights.
        direction: "in" bets that {score >= threshold} is likelier on side 1, "out" that its complement is likelier on
            side 0, "both" (half the wealth each) on either; "auto" is "in" if the threshold is fixed beforehand,
            else "both".
        stakes: shares of the largest possible stake, in (0, 1): a grid that covers orders of magnitude, averaged.
        centre: guess of the losing side's rate, in [0, 1/2]; "online" learns it from the previous runs. A wrong guess
            loses power, never validity.

    Guarantees:
        * exact at every number of trials, and at all of them simultaneously: the probability that the bound *ever*
          exceeds the true epsilon is at most 1 - confidence, for every rule of looking and stopping;
        * never falls when trials are added, as long as both sides have equally many;
        * with n scores per side, at most about ln(n / ln(1 / significance)).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> scores = PairScores(rng.laplace(0.0, 1.0, 1000), rng.laplace(1.0, 1.0, 1000))
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> fixed = Betting(threshold=1.0).fix(Statement(PureDP(1.0), delta=0.0), None, (1000, 1000))
        >>> 0.6 < fixed.lower_bound(scores).epsilon <= 1.0
        True

    References:
        Ville (1939), Etude critique de la notion de collectif. Waudby-Smith and Ramdas (2024), JRSS-B 86, section 4
        (betting on means). Turner, Ly and Gruenwald (2024), arXiv:2106.02693 (two streams). Gonzalez, Dulce-Rubio,
        Ramdas and Ribero (2025), arXiv:2509.07055 (sequential audits of differential privacy).
    """

    name: ClassVar[str] = "betting"
    anytime: ClassVar[bool] = True

    threshold: float | str | tuple[float, ...] = "online"
    weights: tuple[float, ...] | None = None
    direction: Annotated[str, one_of_names(AUTO, *DIRECTIONS)] = AUTO
    stakes: tuple[float, ...] = STAKES
    centre: float | str = "online"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.threshold, str):
            one_of((ONLINE, PILOT), threshold=self.threshold)
        else:
            object.__setattr__(self, "threshold", _numbers("threshold", self.threshold, -math.inf, math.inf))
        object.__setattr__(self, "stakes", _numbers("stakes", self.stakes, 0.0, math.nextafter(1.0, 0.0)))
        if self.centre != "online":
            object.__setattr__(self, "centre", _numbers("centre", self.centre, -1.0, 0.5)[0])
            non_negative(centre=self.centre)
        if self.weights is not None:
            object.__setattr__(self, "weights", _numbers("weights", self.weights, 0.0, math.inf))
            thresholds = self.threshold if isinstance(self.threshold, tuple) else ()
            if len(self.weights or ()) != len(thresholds):
                raise ParameterError(
                    f"weights must be one for each threshold that is fixed beforehand ({len(thresholds)}), "
                    f"but are {self.weights}.",
                    argument="weights",
                )

    @property
    def needs_pilot(self) -> bool:
        return self.threshold == PILOT

    def fix(self, statement: Statement, pilot: Scores | None, sizes: tuple[int, ...]) -> FixedBound[Scores]:
        """Return the bound with fixed thresholds, or with one per direction chosen on the pilot scores."""
        thresholds = self.threshold if isinstance(self.threshold, tuple) else ()
        if not self.needs_pilot:
            return FixedBetting(statement, self, thresholds)
        pilot = pilot_scores(pilot, otherwise='take threshold="online"')
        if self.orients and reversed_on(pilot, statement.delta):
            exchanged = best_thresholds(pilot.exchanged().tally, statement.delta)
            return Exchanged(statement, FixedBetting(statement, self, exchanged, (pilot.n_in, pilot.n_out)))
        return FixedBetting(statement, self, best_thresholds(pilot.tally, statement.delta), (pilot.n_out, pilot.n_in))

    @property
    def orients(self) -> bool:
        """True if the scores before a bet decide whether higher scores mean side 1 or side 0."""
        return isinstance(self.threshold, str) and self.direction in (AUTO, BOTH)


@dataclass(frozen=True)
class FixedBetting(FixedBound[Scores]):
    """The betting bound for one statement.

    Args:
        options: options of the bound.
        fixed: thresholds that were fixed beforehand or chosen on a pilot; empty if they are learned online.
        pilot_size: number of pilot scores on each side.
    """

    options: Betting
    fixed: tuple[float, ...] = ()
    pilot_size: tuple[int, int] = (0, 0)

    @property
    def thresholds(self) -> tuple[float, ...]:
        return self.fixed

    def lower_bound(self, evidence: Scores) -> LowerBound:
        stated, game = self.statement, self._game(evidence)
        threshold = self.fixed[0] if len(self.fixed) == 1 else None
        return LowerBound(
            epsilon=game.first_not_rejected(stated.significance),
            delta=stated.delta,
            confidence=stated.confidence,
            method=Betting.name,
            n_trials=evidence.n_out + evidence.n_in,
            ceiling=self._ceiling(evidence.n_out, evidence.n_in),
            ledger=self._ledger(evidence),
            threshold=threshold,
            hits=None if threshold is None else evidence.hits(threshold),
        )

    def confidence_sequence(self, scores: PairScores, at: Sequence[int]) -> list[float]:
        """Return the bounds after the first `at` runs of each side; they hold simultaneously with the confidence."""
        prefixes = (PairScores(scores.out[:n], scores.in_[:n]) for n in at)
        return [self.lower_bound(prefix).epsilon for prefix in prefixes]

    def exceeds_claim(self, evidence: Scores) -> bool:
        epsilon, significance = self.statement.epsilon, self.statement.significance
        game, enough = self._game(evidence), -math.log(significance)
        if game.largest_log_wealth(epsilon, epsilon, enough) < enough:
            return False  # no interval that contains epsilon is rejected
        return game.first_not_rejected(significance, beyond=epsilon) > epsilon

    def p_value(self, evidence: Scores) -> float:
        """Return 1 / the largest wealth against the claimed epsilon, at least 1e-12; valid at any stopping time."""
        epsilon = self.statement.epsilon
        log_wealth = self._game(evidence).largest_log_wealth(epsilon, epsilon)
        return float(np.clip(math.exp(-log_wealth), SMALLEST_P_VALUE, 1.0))

    def _ceiling(self, n_out: int, n_in: int) -> float:
        """Return the bound for scores that separate the sides without an error."""
        perfect = PairScores(np.zeros(n_out), np.ones(n_in))
        known = replace(self, options=replace(self.options, threshold=0.5, weights=None, direction=IN), fixed=(0.5,))
        stretches = tuple(known._stretches(perfect))[1 if self.options.threshold == ONLINE else 0 :]
        return _Game(stretches, np.ones(1), self.statement.delta).first_not_rejected(self.statement.significance)

    @property
    def _direction(self) -> str:
        """Direction of the bets, with "auto" resolved."""
        if self.options.direction != AUTO:
            return self.options.direction
        return BOTH if isinstance(self.options.threshold, str) else IN

    def _game(self, scores: Scores) -> _Game:
        """Return the bets on the scores, with their prior weights."""
        if min(scores.n_out, scores.n_in) == 0:
            raise ParameterError(
                f"betting needs scores on both sides, but there are {scores.n_out} and {scores.n_in}.",
                argument="scores",
            )
        if isinstance(scores, PairScores):
            stretches = tuple(self._stretches(scores))
            n_events = len(stretches[0])
        else:
            events = self._events(self.fixed or _spread(scores.tally.thresholds))
            bets = self._bets(CENTRES_UNORDERED)
            stretches = (tuple(_ending(scores, *event, bets) for event in events),)
            n_events = len(events)
        prior = self.options.weights or (1.0,)
        weights = np.repeat(prior, n_events // len(prior))
        return _Game(stretches, weights / weights.sum(), self.statement.delta)

    def _stretches(self, scores: PairScores) -> Iterator[tuple[Stretch, ...]]:
        """Yield the bets of each round, with events and centres from the past alone."""
        online, delta = self.options.threshold == ONLINE, self.statement.delta
        for past, current in rounds(scores):
            if online and past.n_out == 0:
                nothing = np.zeros(0, dtype=bool)
                stretch = Stretch.of(nothing, nothing, self._bets((FIRST_CENTRE,)))
                yield (stretch,) * len(DIRECTIONS[self._direction])
                continue
            if online and self.options.orients and reversed_on(past, delta):
                past, current = past.exchanged(), current.exchanged()
            events = self._events(best_thresholds(past.tally, delta) if online else self.fixed)
            yield tuple(self._stretch(past, current, *event) for event in events)

    def _events(self, thresholds: tuple[float, ...]) -> list[tuple[float, bool]]:
        """Return (threshold, forward) of each event; two learned thresholds are one per direction."""
        directions = DIRECTIONS[self._direction]
        if isinstance(self.options.threshold, str) and len(thresholds) == 2:
            return [(thresholds[not forward], forward) for forward in directions]
        return [(threshold, forward) for threshold in thresholds for forward in directions]

    def _stretch(self, past: PairScores, current: PairScores, threshold: float, forward: bool) -> Stretch:
        gain, loss = _hits(current, threshold, forward)
        if self.options.centre != ONLINE:
            return Stretch.of(gain, loss, self._bets((float(self.options.centre),)))
        before = past.hits(threshold) if forward else (past.n_in - past.hits(threshold)[1], 0)
        n_before = past.n_out if forward else past.n_in
        rate = (before[0] + 2.0 * FIRST_CENTRE) / (n_before + 2.0)
        return Stretch.of(gain, loss, self._bets((min(rate, 0.5),)))

    def _bets(self, centres: tuple[float, ...]) -> Bets:
        centre = self.options.centre
        return Bets(self.options.stakes, centres if centre == ONLINE else (float(centre),))

    def _ledger(self, scores: Scores) -> tuple[LedgerEntry, ...]:
        averaged = "wealth averaged with weights fixed beforehand"
        ordered = isinstance(scores, PairScores)
        if self.options.needs_pilot:
            threshold = LedgerEntry(
                "threshold", "one on {} + {} pilot scores".format(*self.pilot_size), "chosen on pilot trials only"
            )
        elif self.options.threshold != ONLINE:
            threshold = LedgerEntry("threshold", f"{len(self.fixed)}, fixed beforehand", averaged)
        elif ordered:
            threshold = LedgerEntry("threshold", "learned repeatedly", "each on earlier trials only")
        else:
            threshold = LedgerEntry("threshold", f"up to {_GRID_EVENTS} of the grid", averaged)
        return (
            threshold,
            LedgerEntry("direction", self._direction, averaged if self._direction == BOTH else "fixed beforehand"),
            LedgerEntry("bets", f"{len(self.options.stakes)} stakes, fixed beforehand", averaged),
            LedgerEntry("time", "after every trial", "no correction needed: Ville's inequality")
            if ordered
            else LedgerEntry("time", "once, at the end", "no correction needed"),
        )


@dataclass(frozen=True, eq=False)
class _Game:
    """The bets and their outcomes: everything that determines the wealth, except epsilon."""

    stretches: tuple[tuple[Stretch, ...], ...]
    weights: Floats
    delta: float

    def largest_log_wealth(self, low: float, high: float, enough: float = math.inf) -> float:
        return largest_log_wealth(self.stretches, self.weights, low=low, high=high, delta=self.delta, enough=enough)

    def first_not_rejected(self, significance: float, beyond: float = math.inf) -> float:
        """Return the largest multiple of RESOLUTION below which every interval of the grid is rejected.

        The parts of a rejected interval are rejected, so large steps reach the same end as small ones. The search
        stops at the first value above `beyond`.
        """
        enough, reached, step = -math.log(significance), 0, round(1.0 / RESOLUTION)
        while step >= 1 and reached * RESOLUTION <= beyond:
            if self.largest_log_wealth(reached * RESOLUTION, (reached + step) * RESOLUTION, enough) >= enough:
                reached += step
            else:
                step //= 2
        return reached * RESOLUTION


def _hits(scores: PairScores, threshold: float, forward: bool) -> tuple[Bools, Bools]:
    """Return the hits of the gaining side and of the losing side, in run order."""
    over_in, over_out = scores.in_ >= threshold, scores.out >= threshold
    return (over_in, over_out) if forward else (~over_out, ~over_in)


def _spread(grid: Floats) -> tuple[float, ...]:
    """Return at most `_GRID_EVENTS` thresholds of a grid, chosen by their positions, never by the hits."""
    last = len(grid) - 1
    indices = np.unique(np.linspace(min(1, last), last, _GRID_EVENTS).round().astype(np.intp))
    return tuple(grid[indices].tolist())


def _ending(scores: PairCounts, threshold: float, forward: bool, bets: Bets) -> Stretch:
    """Return the final counts of one event, for runs whose order is not known."""
    (out, in_), n_out, n_in = scores.hits(threshold), scores.n_out, scores.n_in
    if forward:
        return Stretch.ending(in_, n_in, out, n_out, bets)
    return Stretch.ending(n_out - out, n_out, n_in - in_, n_in, bets)


def _numbers(name: str, value: object, above: float, at_most: float) -> tuple[float, ...]:
    """Return a number or several as a tuple; raise `ParameterError` unless all lie in (above, at_most]."""
    items = value if isinstance(value, (tuple, list, np.ndarray)) else (value,)
    numeric = all(isinstance(item, (int, float, np.number)) and not isinstance(item, bool) for item in items)
    numbers = tuple(float(item) for item in items) if numeric else ()
    if not numbers or not all(above < number <= at_most for number in numbers):
        raise ParameterError(
            f"{name} must be a number or several, above {above:g} and at most {at_most:g}, but is {value!r}.",
            argument=name,
        )
    return numbers
