"""The bound that may be looked at as often as one likes: a gambler's wealth against every epsilon.

**Null and level.** For each epsilon, K_t(epsilon) is the wealth, after t steps, of a gambler who starts with 1 and bets
against "the pair is (epsilon, delta)-DP"; `dpassay.audit.bounds.wealth` shows that it is a non-negative supermartingale
when that is so, hence Pr[sup_t K_t(epsilon) >= 1/significance] <= significance (Ville 1939). The bound is the first
epsilon, going up from 0, whose wealth never reached 1/significance. It exceeds the true epsilon e only if K(e) did: one
event, one payment, however fine the search, and at every time together.

**Fixed before looking.** The prior weights over bets, directions and thresholds (they are averaged, which costs nothing
but the logarithm of a weight; a maximum over them would be wrong), and the order of the runs. The event bet on in step
t is fixed by the steps before t: a number, the choice of a pilot, or learned online. No bet is ever chosen after the
runs that it is settled on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import delta_range, non_negative, one_of
from ..evidence.scores import Floats, PairCounts, PairScores, Scores
from .base import SMALLEST_P_VALUE, Bound, LedgerEntry, LowerBound, check_level
from .learned_events import best_thresholds, rounds
from .pilot import IN, OUT
from .wealth import Bets, Flags, Stretch, highest

RESOLUTION = 2.0**-13
"""The bound is a multiple of this (about 0.0001)."""
STAKES = (0.01, 0.025, 0.05, 0.09, 0.14, 0.2, 0.28, 0.4, 0.6, 0.9)
FIRST_CENTRE = 0.25
CENTRES_UNORDERED = (0.02, 0.1, 0.2, 0.35)
AUTO, BOTH = "auto", "both"
DIRECTIONS = {BOTH: (True, False), IN: (True,), OUT: (False,)}
"""Direction -> whether each of its bets is on {score >= threshold}, or on the complement."""
_GRID_EVENTS = 32  # thresholds of a grid of counts that an online bound averages over


@dataclass(frozen=True)
class Betting(Bound):
    """A confidence sequence for epsilon: valid at every number of trials at once, so that one may stop at any time.

    Args:
        threshold: "online", the event is learned from the runs before, again and again; a number, or several, fixed
            beforehand, which are averaged; or "pilot", chosen by `prepare` on pilot scores.
        weights: prior weights of several thresholds, positive; None gives all the same.
        direction: "in" bets on {score >= threshold} being likelier on side 1, "out" on its complement being likelier on
            side 0, "both" (half the wealth each) on either; "auto" is "in" where the threshold is fixed beforehand,
            else "both".
        stakes: shares of the largest possible stake, in (0, 1): a grid that covers orders of magnitude, averaged.
        centre: where the losing side's rate is guessed to be, in [0, 1/2]; "online" learns it from the runs before. A
            wrong guess costs power, never validity.

    Guarantees:
        * exact at every number of trials, and at all of them together: the probability that the bound *ever* exceeds
          the true epsilon is at most 1 - confidence, whatever rule says when to look and when to stop;
        * never falls when trials are added, as long as both sides have equally many;
        * with n scores a side, at most about ln(n / ln(1 / significance)).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> scores = PairScores(rng.laplace(0.0, 1.0, 1000), rng.laplace(1.0, 1.0, 1000))
        >>> found = Betting(threshold=1.0).lower_bound(scores, delta=0.0, confidence=0.95)
        >>> 0.6 < found.epsilon <= 1.0
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
    direction: str = AUTO
    stakes: tuple[float, ...] = field(default=STAKES)
    centre: float | str = "online"
    _on_pilot: tuple[float, float] | None = field(default=None, repr=False)
    _pilot_size: tuple[int, int] = field(default=(0, 0), repr=False)

    def __post_init__(self) -> None:
        one_of((AUTO, *DIRECTIONS), direction=self.direction)
        if isinstance(self.threshold, str):
            one_of(("online", "pilot"), threshold=self.threshold)
        else:
            object.__setattr__(self, "threshold", _numbers("threshold", self.threshold, -math.inf, math.inf))
        object.__setattr__(self, "stakes", _numbers("stakes", self.stakes, 0.0, math.nextafter(1.0, 0.0)))
        if self.centre != "online":
            object.__setattr__(self, "centre", _numbers("centre", self.centre, -1.0, 0.5)[0])
            non_negative(centre=self.centre)
        if self.weights is not None:
            object.__setattr__(self, "weights", _numbers("weights", self.weights, 0.0, math.inf))
            if len(self.weights or ()) != len(self.thresholds):
                raise ParameterError(
                    f"weights must be one for each threshold that is fixed beforehand ({len(self.thresholds)}), "
                    f"but are {self.weights}."
                )

    @property
    def uses_pilot(self) -> bool:
        return self.threshold == "pilot"

    @property
    def thresholds(self) -> tuple[float, ...]:
        if self._on_pilot is not None:
            return self._on_pilot
        return self.threshold if isinstance(self.threshold, tuple) else ()

    @property
    def _direction(self) -> str:
        """What "auto" means here."""
        if self.direction != AUTO:
            return self.direction
        return BOTH if isinstance(self.threshold, str) else IN

    def prepare(self, pilot: Scores, *, delta: float, confidence: float, n_out: int, n_in: int) -> Betting:
        """With a threshold for each direction, chosen on the pilot scores, if that is what is asked for."""
        if not self.uses_pilot:
            return self
        check_level(delta=delta, confidence=confidence)
        if min(pilot.n_out, pilot.n_in) == 0:
            raise ParameterError(
                f'threshold "pilot" needs pilot scores on both sides, but there are {pilot.n_out} and {pilot.n_in}. '
                'Run pilot trials, or take threshold="online".'
            )
        return replace(self, _on_pilot=best_thresholds(pilot.tally, delta), _pilot_size=(pilot.n_out, pilot.n_in))

    def lower_bound(self, scores: Scores, *, delta: float, confidence: float) -> LowerBound:
        check_level(delta=delta, confidence=confidence)
        game = self._game(scores, delta)
        threshold = self.thresholds[0] if len(self.thresholds) == 1 else None
        return LowerBound(
            epsilon=game.first_not_rejected(1.0 - confidence),
            delta=delta,
            confidence=confidence,
            method=self.name,
            n_trials=scores.n_out + scores.n_in,
            ceiling=self.ceiling(scores.n_out, scores.n_in, delta=delta, confidence=confidence),
            ledger=self._ledger(scores),
            threshold=threshold,
            hits=None if threshold is None else scores.hits(threshold),
        )

    def confidence_sequence(
        self, scores: PairScores, at: Sequence[int], *, delta: float, confidence: float
    ) -> list[float]:
        """The bounds after the first `at` runs of each side; all of them hold together with this confidence."""
        prefixes = (PairScores(scores.out[:n], scores.in_[:n]) for n in at)
        return [self.lower_bound(prefix, delta=delta, confidence=confidence).epsilon for prefix in prefixes]

    def ceiling(self, n_out: int, n_in: int, *, delta: float, confidence: float) -> float:
        check_level(delta=delta, confidence=confidence)
        perfect = PairScores(np.zeros(n_out), np.ones(n_in))
        known = replace(self, threshold=0.5, weights=None, _on_pilot=None, direction=IN)
        stretches = tuple(known._stretches(perfect, delta))[1 if self.threshold == "online" else 0 :]
        return _Game(stretches, np.ones(1), delta).first_not_rejected(1.0 - confidence)

    def exceeds(self, epsilon: float, scores: Scores, *, delta: float, confidence: float) -> bool:
        check_level(delta=delta, confidence=confidence)
        game, enough = self._game(scores, delta), -math.log(1.0 - confidence)
        if game.highest(epsilon, epsilon, enough) < enough:  # then no interval that holds epsilon is rejected
            return False
        return game.first_not_rejected(1.0 - confidence, beyond=epsilon) > epsilon

    def p_value(self, scores: Scores, *, epsilon: float, delta: float) -> float:
        """1 / the largest wealth ever against `epsilon`: valid at any stopping time; not below 1e-12."""
        delta_range(delta=delta)
        non_negative(epsilon=epsilon)
        return float(np.clip(math.exp(-self._game(scores, delta).highest(epsilon, epsilon)), SMALLEST_P_VALUE, 1.0))

    def _game(self, scores: Scores, delta: float) -> _Game:
        """What is bet on, with its prior weights."""
        if min(scores.n_out, scores.n_in) == 0:
            raise ParameterError(f"betting needs scores on both sides, but there are {scores.n_out} and {scores.n_in}.")
        if self.uses_pilot and self._on_pilot is None:
            raise ParameterError(
                'threshold is "pilot", and no pilot has been seen: call prepare(pilot, ...) on scores that will not be '
                'counted and use the bound that it returns, or take threshold="online".'
            )
        if isinstance(scores, PairScores):
            stretches = tuple(self._stretches(scores, delta))
            n_events = len(stretches[0])
        else:
            events = self._events(self.thresholds or _spread(scores.tally.thresholds))
            bets = self._bets(CENTRES_UNORDERED)
            stretches = (tuple(_ending(scores, *event, bets) for event in events),)
            n_events = len(events)
        weights = np.repeat(self.weights or (1.0,), n_events // len(self.weights or (1.0,)))
        return _Game(stretches, weights / weights.sum(), delta)

    def _stretches(self, scores: PairScores, delta: float) -> Iterator[tuple[Stretch, ...]]:
        """What is bet on in each round: events and centres from the past alone."""
        online = self.threshold == "online"
        for past, now in rounds(scores):
            if online and past.n_out == 0:
                yield tuple(_nothing(self._bets((FIRST_CENTRE,))) for _ in DIRECTIONS[self._direction])
                continue
            events = self._events(best_thresholds(past.tally, delta) if online else self.thresholds)
            yield tuple(self._stretch(past, now, *event) for event in events)

    def _events(self, thresholds: tuple[float, ...]) -> list[tuple[float, bool]]:
        """(threshold, forward) of each event; thresholds that were learned are one for each direction."""
        directions = DIRECTIONS[self._direction]
        if self.threshold in ("online", "pilot") and len(thresholds) == 2:
            return [(thresholds[not forward], forward) for forward in directions]
        return [(threshold, forward) for threshold in thresholds for forward in directions]

    def _stretch(self, past: PairScores, now: PairScores, threshold: float, forward: bool) -> Stretch:
        gain, loss = _hits(now, threshold, forward)
        if self.centre != "online":
            return Stretch.of(gain, loss, self._bets((float(self.centre),)))
        before = past.hits(threshold) if forward else (past.n_in - past.hits(threshold)[1], 0)
        n_before = past.n_out if forward else past.n_in
        rate = (before[0] + 2.0 * FIRST_CENTRE) / (n_before + 2.0)
        return Stretch.of(gain, loss, self._bets((min(rate, 0.5),)))

    def _bets(self, centres: tuple[float, ...]) -> Bets:
        return Bets(self.stakes, centres if self.centre == "online" else (float(self.centre),))

    def _ledger(self, scores: Scores) -> tuple[LedgerEntry, ...]:
        paid = "average of their wealth, weights fixed beforehand"
        if self._on_pilot is not None:
            how = LedgerEntry(
                "threshold", "one on {} + {} pilot scores".format(*self._pilot_size), "chosen on pilot trials only"
            )
        elif self.threshold != "online":
            how = LedgerEntry("threshold", f"{len(self.thresholds)}, fixed beforehand", paid)
        elif isinstance(scores, PairScores):
            how = LedgerEntry("threshold", "learned again and again", "each on earlier trials only")
        else:
            how = LedgerEntry("threshold", f"up to {_GRID_EVENTS} of the grid", paid)
        ordered = isinstance(scores, PairScores)
        return (
            how,
            LedgerEntry("direction", self._direction, paid if self._direction == BOTH else "fixed beforehand"),
            LedgerEntry("bets", f"{len(self.stakes)} stakes, fixed beforehand", paid),
            LedgerEntry("time", "after every trial", "free: Ville's inequality")
            if ordered
            else LedgerEntry("time", "once, at the end", "none needed"),
        )


@dataclass(frozen=True, eq=False)
class _Game:
    """Everything that the wealth depends on, but for epsilon."""

    stretches: tuple[tuple[Stretch, ...], ...]
    weights: Floats
    delta: float

    def highest(self, low: float, high: float, enough: float = math.inf) -> float:
        return highest(self.stretches, self.weights, low=low, high=high, delta=self.delta, enough=enough)

    def first_not_rejected(self, significance: float, beyond: float = math.inf) -> float:
        """The largest multiple of RESOLUTION below which every interval of the grid is rejected.

        A rejected interval has rejected parts, so large steps find the same end as small ones. Stops at the first
        value beyond `beyond`.
        """
        enough, reached, step = -math.log(significance), 0, round(1.0 / RESOLUTION)
        while step >= 1 and reached * RESOLUTION <= beyond:
            if self.highest(reached * RESOLUTION, (reached + step) * RESOLUTION, enough) >= enough:
                reached += step
            else:
                step //= 2
        return reached * RESOLUTION


def _hits(scores: PairScores, threshold: float, forward: bool) -> tuple[Flags, Flags]:
    """Hits of the side that gains and of the one that loses, in run order."""
    over_in, over_out = scores.in_ >= threshold, scores.out >= threshold
    return (over_in, over_out) if forward else (~over_out, ~over_in)


def _nothing(bets: Bets) -> Stretch:
    return Stretch.of(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), bets)


def _spread(grid: Floats) -> tuple[float, ...]:
    """At most `_GRID_EVENTS` thresholds of a grid, by their places on it: never by the hits that were counted on it."""
    last = len(grid) - 1
    places = np.unique(np.linspace(min(1, last), last, _GRID_EVENTS).round().astype(np.intp))
    return tuple(grid[places].tolist())


def _ending(scores: PairCounts, threshold: float, forward: bool, bets: Bets) -> Stretch:
    """The end of the path of one event, where the order of the runs is not known."""
    (out, in_), n_out, n_in = scores.hits(threshold), scores.n_out, scores.n_in
    if forward:
        return Stretch.ending(in_, n_in, out, n_out, bets)
    return Stretch.ending(n_out - out, n_out, n_in - in_, n_in, bets)


def _numbers(name: str, value: object, above: float, most: float) -> tuple[float, ...]:
    """A number or several as a tuple; raises `ParameterError` unless all lie above `above` and at most at `most`."""
    several = value if isinstance(value, (tuple, list, np.ndarray)) else (value,)
    numeric = all(isinstance(one, (int, float, np.number)) and not isinstance(one, bool) for one in several)
    numbers = tuple(float(one) for one in several) if numeric else ()
    if not numbers or not all(above < one <= most for one in numbers):
        raise ParameterError(
            f"{name} must be a number or several, above {above:g} and at most {most:g}, but is {value!r}."
        )
    return numbers
