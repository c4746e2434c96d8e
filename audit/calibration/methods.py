"""Methods under test: bounds, and the uncorrected maxima that are often mistaken for bounds.

    measure = BoundMethod(SimultaneousBand()).measure(setup)
    measure(sample)        the value that this method reports

A `Sample` is one audit: pilot trials and evaluation trials. A method with a data-dependent choice on the pilot counts
only the evaluation trials; others use both, so that all are compared at the same number of trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import special

from ...mechanisms.accounting import ApproximateDP
from ...mechanisms.core import AccountingError, Floats, Guarantee, ParameterError
from ..bounds.base import Bound, PairBound, PilotMissingError
from ..bounds.catalogue import catalogue
from ..bounds.families import family_of, member_below
from ..bounds.numerics.binomial import upper
from ..bounds.pair.family import Family
from ..evidence.scores import BitScores, PairCounts, PairScores, Scores, Tally
from ..evidence.statement import Statement
from .laws import Law

KNOWN_EVENT_SUFFIX = ", known event"
SLOW_BOUNDS = ("accountant-family", "betting", "joint-exact")
"""Bounds that take tens of milliseconds."""
N_THRESHOLD_SCORES = 100_000
"""Scores a side for a threshold that counts as known in advance: drawn once, for all audits of a cell."""
_SPARE = 6.0  # spare scores, in square roots of their number, so that neither side has too few
KINDS = BOUND, UNCORRECTED, PUBLISHED, PEER = "bound", "uncorrected", "published", "peer"


@dataclass(frozen=True, eq=False)
class CoverageSetup:
    """Setting of every audit of a cell.

    Args:
        law: of the scores.
        delta, confidence: of the bound.
        n_out, n_in: scores on each side, pilot included.
        rehearsal: scores that are never counted, for a threshold known in advance.
    """

    law: Law
    delta: float
    confidence: float
    n_out: int
    n_in: int
    rehearsal: Scores


@dataclass(frozen=True, eq=False)
class Sample:
    """The scores of one audit.

    Args:
        pilot, rest: disjoint, independent.
        order: random order of scores that were drawn as counts, for sequential methods.
    """

    pilot: Scores
    rest: Scores
    order: np.random.Generator

    @cached_property
    def whole(self) -> Scores:
        """Pilot and evaluation scores together."""
        return _pooled(self.pilot, self.rest)

    @cached_property
    def whole_in_order(self) -> PairScores:
        """Pilot and evaluation scores as a sequence."""
        return _in_order(self.whole, self.order)

    @cached_property
    def bits(self) -> BitScores:
        """Independent canaries of one run: a fair coin takes the next score of side 1 or of side 0.

        There are so few of them that a side runs out of scores with probability below 1e-8.
        """
        scores, rng = self.whole_in_order, self.order.spawn(1)[0]
        n = min(scores.sizes)
        bits = rng.random(max(1, int(2 * n - _SPARE * math.sqrt(2 * n)))) < 0.5
        rank = np.where(bits, np.cumsum(bits), np.cumsum(~bits)) - 1
        rank = np.minimum(rank, n - 1)
        return BitScores(bits, np.where(bits, scores.in_[rank], scores.out[rank]))

    @cached_property
    def rest_in_order(self) -> PairScores:
        """Evaluation scores as a sequence."""
        return _in_order(self.rest, self.order)


class Measure(Protocol):
    """A method applied to the audits of one cell."""

    def __call__(self, sample: Sample) -> float:
        """Return the value that the method reports."""

    def exceeds(self, sample: Sample, epsilon: float) -> bool:
        """Return whether that value is larger than `epsilon`, at the least cost."""


@dataclass(frozen=True, eq=False)
class Number:
    """The measure of a method whose value is cheap to compute."""

    number: Callable[[Sample], float]

    def __call__(self, sample: Sample) -> float:
        return self.number(sample)

    def exceeds(self, sample: Sample, epsilon: float) -> bool:
        """Return whether the value is larger than `epsilon`."""
        return self.number(sample) > epsilon


class Method(Protocol):
    """A method that reports a value claimed to be at most the true epsilon."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """Kind of the method: `bound`, `uncorrected`, `published` or `peer`."""

    @property
    def slow(self) -> bool:
        """True if the method runs in fewer audits where there are many trials."""

    def measure(self, setup: CoverageSetup) -> Measure | None:
        """Return the measure for the audits of a cell; None if the method does not apply."""


@dataclass(frozen=True)
class BoundMethod:
    """A bound of this library, with the same steps from pilot to value as in `audit`.

    Args:
        bound: the bound under test.
        known: whether its thresholds are chosen on the rehearsal, which costs no trials, instead of on the pilot.
    """

    bound: PairBound
    known: bool = False
    kind: ClassVar[str] = BOUND

    @property
    def slow(self) -> bool:
        """True for sequential bounds, and for bounds that search for their value: both take tens of milliseconds."""
        return self.bound.name in SLOW_BOUNDS

    @property
    def name(self) -> str:
        """Name in the catalogue, with a suffix for a known event."""
        return self.bound.name + (KNOWN_EVENT_SUFFIX if self.known else "")

    def measure(self, setup: CoverageSetup) -> Measure | None:
        """Return the measure; None if the bound assumes a family that the claim of the law does not have."""
        try:
            return _BoundMeasure(self.bound, setup, setup.rehearsal if self.known else None)
        except AccountingError:
            return None


@dataclass(frozen=True)
class BitMethod:
    """A bound on bits of this library, on the scores of both sides as those of independent canaries of one run.

    Args:
        bound: the bound under test.
    """

    bound: Bound[BitScores]
    kind: ClassVar[str] = BOUND
    slow: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name in the catalogue."""
        return self.bound.name

    def measure(self, setup: CoverageSetup) -> Measure | None:
        """Return the measure; None for too few scores, or a claim without a family or a finite epsilon at delta."""
        n = min(setup.n_out, setup.n_in)
        try:
            stated = Statement(setup.law.claim, setup.delta, setup.confidence)
            self.bound.fix(stated, None, (int(2 * n - _SPARE * math.sqrt(2 * n)),))
        except (AccountingError, ParameterError):
            return None

        def number(sample: Sample) -> float:
            return self.bound.fix(stated, None, sample.bits.sizes).lower_bound(sample.bits).epsilon

        return Number(number)


class _BoundMeasure:
    """A bound applied to samples, from pilot to value; values that depend on few counts are cached."""

    def __init__(self, bound: PairBound, setup: CoverageSetup, rehearsal: Scores | None) -> None:
        self._bound, self._setup = bound, setup
        self._family = isinstance(bound, Family)  # only a family needs the claim, which may take seconds to compute
        claim = setup.law.claim if self._family else ApproximateDP(1.0, setup.delta)
        self._stated = Statement(claim, setup.delta, setup.confidence)
        with suppress(PilotMissingError):
            bound.fix(self._stated, None, (1, 1))
        self._fixed: Any = (
            None
            if bound.needs_pilot and rehearsal is None
            else bound.fix(self._stated, rehearsal, (setup.n_out, setup.n_in))
        )
        self._cache: dict[Hashable, float | bool] = {}
        self._claims: dict[float, Guarantee] = {}

    def __call__(self, sample: Sample) -> float:
        ready, scores = self._ready(sample)
        return float(self._cached(ready, scores, lambda: ready.lower_bound(scores).epsilon, None))

    def exceeds(self, sample: Sample, epsilon: float) -> bool:
        ready, scores = self._ready(sample)

        def exceeds() -> bool:
            return bool(
                replace(ready, statement=replace(self._stated, claim=self._claim(epsilon))).exceeds_claim(scores)
            )

        return bool(self._cached(ready, scores, exceeds, epsilon))

    def _claim(self, epsilon: float) -> Guarantee:
        """Return a claim of this epsilon at delta: for a bound with a family, its last member below epsilon."""
        if epsilon not in self._claims:
            delta = self._setup.delta
            member = member_below(family_of(self._stated.claim), epsilon, delta) if self._family else None
            self._claims[epsilon] = member or ApproximateDP(epsilon, delta)
        return self._claims[epsilon]

    def _ready(self, sample: Sample) -> tuple[Any, Scores]:
        """Return the bound with its event, and the scores that it counts, reduced to those that it uses."""
        ready, pilot = self._fixed, self._fixed is None
        if pilot:
            ready = self._bound.fix(self._stated, sample.pilot, sample.rest.sizes)
        if self._bound.anytime:
            return ready, sample.rest_in_order if pilot else sample.whole_in_order
        scores = sample.rest if pilot else sample.whole
        return _on_own_grid(ready, scores) if ready.thresholds else (ready, scores)

    def _cached(
        self, bound: Any, scores: Scores, compute: Callable[[], float | bool], epsilon: float | None
    ) -> float | bool:
        if isinstance(scores, PairScores):
            return compute()
        tally = scores.tally
        key = (bound, epsilon, tally.thresholds.tobytes(), tally.hits_out.tobytes(), tally.hits_in.tobytes())
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]


@dataclass(frozen=True)
class LargestClopperPearson:
    """Largest Clopper-Pearson bound over all thresholds, each at the full confidence; not a valid bound."""

    name: ClassVar[str] = "uncorrected clopper-pearson"
    kind: ClassVar[str] = UNCORRECTED
    slow: ClassVar[bool] = False

    def measure(self, setup: CoverageSetup) -> Measure:
        """Return the measure over every distinct score."""
        level = 0.5 * (1.0 - setup.confidence)
        out, in_ = _limits(setup.n_out, level), _limits(setup.n_in, level)

        def number(sample: Sample) -> float:
            tally = sample.whole.tally
            fpr, fnr = out[tally.hits_out], in_[tally.n_in - tally.hits_in]
            return _largest_log((1.0 - fnr - setup.delta) / fpr, (1.0 - fpr - setup.delta) / fnr)

        return Number(number)


@dataclass(frozen=True)
class LargestKatz:
    """Largest Katz-log limit of the risk ratio over all thresholds (Katz et al. 1978); not a valid bound.

    At delta > 0 the numerator is reduced by delta, with the variance of the delta method.
    """

    name: ClassVar[str] = "uncorrected katz-log"
    kind: ClassVar[str] = UNCORRECTED
    slow: ClassVar[bool] = False

    def measure(self, setup: CoverageSetup) -> Measure:
        """Return the measure over every distinct score, in both directions."""
        z = float(special.ndtri(setup.confidence))

        def number(sample: Sample) -> float:
            tally = sample.whole.tally
            forward = _katz(tally.hits_in, tally.n_in, tally.hits_out, tally.n_out, setup.delta, z)
            misses_out, misses_in = tally.n_out - tally.hits_out, tally.n_in - tally.hits_in
            backward = _katz(misses_out, tally.n_out, misses_in, tally.n_in, setup.delta, z)
            return max(0.0, float(forward.max()), float(backward.max()))

        return Number(number)


def catalogue_methods(names: tuple[str, ...] = ()) -> list[BoundMethod | BitMethod]:
    """Return the bounds of the catalogue for pairs of scores, those with a pilot also with a known event.

    Args:
        names: only these, which may also be bounds on bits; empty for all bounds on pairs.

    Example:
        >>> [method.name for method in catalogue_methods(("clopper-pearson", "simultaneous-band"))]
        ['clopper-pearson', 'clopper-pearson, known event', 'simultaneous-band']
    """
    methods: list[BoundMethod | BitMethod] = []
    for bound in (catalogue.build(name) for name in (names or catalogue)):
        if isinstance(bound, PairBound):
            methods += [BoundMethod(bound)] + ([BoundMethod(bound, known=True)] if bound.needs_pilot else [])
        elif names and bound.reads is BitScores:
            methods.append(BitMethod(bound))
    return methods


def uncorrected() -> list[Method]:
    """Return the methods without a correction."""
    return [LargestClopperPearson(), LargestKatz()]


def _in_order(scores: Scores, rng: np.random.Generator) -> PairScores:
    """Return scores as a sequence; counts in a random order, the distribution of independent trials given counts."""
    if isinstance(scores, PairScores):
        return scores
    tally = scores.tally
    sides = (-np.diff(hits, append=0) for hits in (tally.hits_out, tally.hits_in))
    return PairScores(*(rng.permutation(np.repeat(tally.thresholds, counts)) for counts in sides))


def _pooled(first: Scores, second: Scores) -> Scores:
    """Return all scores of two samples of one law."""
    if isinstance(first, PairScores) and isinstance(second, PairScores):
        return PairScores(np.concatenate([first.out, second.out]), np.concatenate([first.in_, second.in_]))
    a, b = first.tally, second.tally
    hits = a.hits_out + b.hits_out, a.hits_in + b.hits_in
    return PairCounts(Tally(a.thresholds, *hits, a.n_out + b.n_out, a.n_in + b.n_in))


def _on_own_grid(bound: Any, scores: Scores) -> tuple[Any, PairCounts]:
    """Return the bound, and counts at its thresholds only; a single threshold is set to 0, as only counts matter."""
    thresholds = sorted(bound.thresholds)
    hits = np.array([scores.hits(t) if isinstance(scores, PairScores) else _hits(scores, t) for t in thresholds])
    if hasattr(bound, "event"):
        bound, thresholds = replace(bound, event=replace(bound.event, threshold=0.0)), [0.0]
    everything = np.array([[scores.n_out, scores.n_in]])
    counts = np.concatenate([everything, hits])
    grid = np.array([-np.inf, *thresholds])
    return bound, PairCounts(Tally(grid, counts[:, 0], counts[:, 1], scores.n_out, scores.n_in))


def _hits(scores: PairCounts, threshold: float) -> tuple[int, int]:
    """Return the hits of {score >= threshold} from the counts of every possible score."""
    tally = scores.tally
    at = int(np.searchsorted(tally.thresholds, threshold))
    return (int(tally.hits_out[at]), int(tally.hits_in[at])) if at < len(tally.thresholds) else (0, 0)


@lru_cache(maxsize=16)
def _limits(n: int, level: float) -> Floats:
    """Return the upper limits of a rate after 0 .. n hits in n trials."""
    return upper(np.arange(n + 1.0), float(n), level)


def _largest_log(*ratios: Floats) -> float:
    return max(0.0, *(math.log(best) if (best := float(ratio.max())) > 0.0 else 0.0 for ratio in ratios))


def _katz(above: Any, n_above: int, below: Any, n_below: int, delta: float, z: float) -> Floats:
    """Return ln((p - delta) / q) less z standard errors; -inf where a count is 0."""
    p, q = above / n_above, below / n_below
    counted = (p > delta) & (q > 0.0)
    excess, q = np.where(counted, p - delta, 1.0), np.where(counted, q, 1.0)
    variance = p * (1.0 - p) / (n_above * excess**2) + (1.0 - q) / (n_below * q)
    return np.where(counted, np.log(excess / q) - z * np.sqrt(variance), -np.inf)
