"""Power of an audit: the smallest true epsilon that a given number of trials detects.

A claim belongs to a family of curves (`dpassay.audit.bounds.families`), those of the mechanism with less noise. The
true curve is assumed to be a member, and the attack to be perfect: at each false positive rate a its false negative
rate is tradeoff(a). A claim without a family, such as the distribution of a table, is replaced by (epsilon, delta),
whose curve is that of randomised response with an atom (Kairouz, Oh and Viswanath 2015, theorem 2), the worst case of
(epsilon, delta)-DP.

At every threshold, the counts that a member gives with a probability of at least P are taken at the less favourable
quantiles of sqrt(P) on each side. A bound that uses one event, or the most significant of many events, then refutes the
claim with at least that probability if it does so on these counts: one event suffices, and its counts are at least this
favourable with probability P, as the sides are independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import special

from ...mechanisms.accounting import ApproximateDP
from ...mechanisms.core import AccountingError, Floats, Guarantee, ParameterError, open_unit, whole
from ..bounds.base import Bound, Evidence, FixedBound, PairBound
from ..bounds.families import CurveFamily, epsilon_of, family_of
from ..bounds.numerics.binomial import lower, quantile, upper
from ..bounds.numerics.unconditional import Ordering
from ..bounds.pair.clopper_pearson import ClopperPearson
from ..bounds.pair.joint import JointExact
from ..bounds.pair.pilot import EventBound
from ..evidence.scores import BitScores, Counts, PairCounts, Scores, Successes, Tally
from ..evidence.statement import Statement
from .minimum_detectable import minimum_detectable

PRECISION = 1e-3
"""Relative precision of the family parameter."""
COARSE_PRECISION = 1e-2
"""Relative precision where members are slow to compute."""
_RATES, _MIDDLE = 60, 200
_N_GAMES = 20
_MIN_HITS = 50
"""Approximate hits of the claim's least likely event from which on the margin of the bound guides the search."""
_MAX_PLANNED_TRIALS = 20_000
"""Trials a side up to which the joint test is evaluated on many possible outcomes."""
_MAX_PERFECT_TRIALS = 1_000_000
"""Trials a side up to which the joint test is evaluated on the one outcome of an attack that never errs."""


@dataclass(frozen=True)
class Detectable:
    """The power of an audit.

    Args:
        epsilon: smallest true epsilon that is detected with the required probability; inf when no outcome of the trials
            could refute the claim.
        family: readable name of the family of true curves that was considered.
    """

    epsilon: float
    family: str


def detectable(bounds: Sequence[Bound[Any]], statement: Statement, evidence: Evidence) -> Detectable:
    """Return the power of bounds on evidence of the same kind and size as `evidence`."""
    if isinstance(evidence, BitScores):
        return detectable_in_bits(bounds, statement, n_bits=evidence.n_bits)
    if isinstance(evidence, Successes):
        return detectable_in_successes(bounds, statement, evidence.n_runs, evidence.prior_success)
    return detectable_epsilon(bounds, statement, n_out=evidence.n_out, n_in=evidence.n_in)


def refutable(bounds: Sequence[Bound[Any]], statement: Statement, evidence: Evidence, n: int | None = None) -> bool:
    """Return whether any outcome of this many trials would refute the claim, namely that of an attack without errors.

    Args:
        bounds, statement: of the audit.
        evidence: gives the kind and the number of trials.
        n: another number of trials: runs on each side, bits, half of them 1, or rounds; None for those of `evidence`.
    """
    if isinstance(evidence, BitScores):
        bits = evidence.bits if n is None else np.arange(n)[None, :] % 2 == 0
        return _refuted_by(bounds, statement, BitScores(bits, bits.astype(np.float64), evidence.relation))
    if isinstance(evidence, Successes):
        n = evidence.n_runs if n is None else n
        return _refuted_by(bounds, statement, replace(evidence, n_success=n, n_runs=n))
    n_out, n_in = (evidence.n_out, evidence.n_in) if n is None else (n, n)
    return _PairPower(tuple(bounds), statement, probability=1.0).refuted(np.array([0]), np.array([n_in]), n_out, n_in)


def _refuted_by(bounds: Sequence[Bound[Any]], statement: Statement, evidence: Evidence) -> bool:
    fixed = (bound.fix(statement, None, evidence.sizes) for bound in bounds if not bound.condition)
    return any(fixed_bound.refutes(evidence) for fixed_bound in fixed)


def detectable_epsilon(
    bounds: Sequence[Bound[Any]], statement: Statement, *, n_out: int, n_in: int, probability: float = 0.9
) -> Detectable:
    """Return the smallest member of the claim's family that a perfect attack detects with the given probability.

    Args:
        bounds: options of those that are used: it is enough that one of them refutes the claim. A fixed threshold is
            assumed to be the best one.
        statement: the claim to refute, at delta or, by bounds that test the whole curve, anywhere; at the confidence of
            each bound.
        n_out, n_in: evaluation trials on each side, >= 1.
        probability: that the claim is refuted, in (0, 1).

    Returns:
        Epsilon of this member at delta, rounded up by at most about 1 %. Beyond the largest member that can be
        computed, epsilon of randomised response.

    Guarantees:
        * conservative for a single event, and for bounds that the most significant event decides; the real probability
          is larger: for `ClopperPearson` with 200 to 1,000 trials a side the epsilon is 6 to 25 % above the exact one,
          most where the claim is close to the ceiling. The loss from choosing thresholds on a pilot is not included,
          nor the loss of `Betting` from learning its events during the trials: where it needs a true epsilon far above
          a Gaussian claim, it detected 67 % instead of 90 % (28.4 against 4.4, 900 trials a side).

    Example:
        >>> from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
        >>> from dpassay.mechanisms.accounting import GaussianDP, PureDP
        >>> def epsilon(claim, delta, n):
        ...     power = detectable_epsilon([ClopperPearson()], Statement(claim, delta), n_out=n, n_in=n)
        ...     return round(power.epsilon, 2)
        >>> [epsilon(PureDP(1.0), 0.0, n) for n in (10, 1000, 100_000)]
        [inf, 1.28, 1.04]
        >>> epsilon(GaussianDP(1.0), 1e-5, 100_000) > GaussianDP(1.0).epsilon(1e-5)
        True
    """
    open_unit(probability=probability)
    whole(1, n_out=n_out, n_in=n_in)
    single = replace(statement, n_hypotheses=1)
    return _cached(_detectable, tuple(bounds), single, n_out, n_in, probability)


def _detectable(
    bounds: tuple[Bound[Any], ...], statement: Statement, n_out: int, n_in: int, probability: float
) -> Detectable:
    delta, family = statement.delta, _family_at(statement)
    power = _PairPower(bounds, statement, probability)
    if not power.refuted(np.array([0]), np.array([n_in]), n_out, n_in):
        return Detectable(math.inf, _family_name(family))
    parameter = power.least(family, n_out, n_in)
    if parameter is None:  # none as far as the family can be computed
        family = family_of(ApproximateDP(max(statement.epsilon, epsilon_of(family, family.largest, delta)), delta))
        parameter = power.least(family, n_out, n_in)
    return Detectable(math.inf if parameter is None else epsilon_of(family, parameter, delta), _family_name(family))


def detectable_in_bits(bounds: Sequence[Bound[Any]], statement: Statement, *, n_bits: int) -> Detectable:
    """Return the smallest member of the claim's family that bounds on bits detect 9 times in 10.

    Each bit is guessed independently, by a perfect attack on that curve: games are simulated, with the same uniform
    numbers for each member, and 18 of 20 must refute the claim. Approximate, not conservative.

    Example:
        >>> from dpassay.audit.bounds.bits.one_run import OneRun
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> stated = Statement(PureDP(1.0), delta=0.0)
        >>> least = [detectable_in_bits([OneRun()], stated, n_bits=n).epsilon for n in (2, 1000, 10_000)]
        >>> least[0], 1.2 < least[1] < 1.5, 1.05 < least[2] < 1.15
        (inf, True, True)
    """
    return _cached(_detectable_in_bits, tuple(bounds), replace(statement, n_hypotheses=1), n_bits)


def _detectable_in_bits(bounds: tuple[Bound[Any], ...], statement: Statement, n_bits: int) -> Detectable:
    family = _family_at(statement)
    fixed = [bound.fix(statement, None, (n_bits,)) for bound in bounds if not bound.condition]
    drawn = np.random.default_rng(0).random((_N_GAMES, n_bits))
    bits = np.arange(n_bits) % 2 == 0

    def exceeds(scores: Floats) -> bool:
        game = BitScores(bits[None, :], scores[None, :])
        return any(bound.refutes(game) for bound in fixed)

    def detected(parameter: float) -> bool:
        true_curve = family.search(parameter)
        fpr = _rates(true_curve, 100 * n_bits, 100 * n_bits)
        tpr = np.concatenate([[0.0], 1.0 - np.asarray(true_curve.tradeoff(fpr)), [1.0]])
        rank = np.interp(drawn, np.maximum.accumulate(tpr), np.concatenate([[0.0], fpr, [1.0]]))
        missed = 0
        for game in -np.where(bits, rank, drawn):
            missed += not exceeds(game)
            if missed > _N_GAMES // 10:
                return False
        return True

    if not exceeds(bits.astype(np.float64)):
        return Detectable(math.inf, _family_name(family))
    return _least_detected(detected, family, statement.delta, COARSE_PRECISION)


def detectable_in_successes(
    bounds: Sequence[Bound[Any]], statement: Statement, n_runs: int, prior_success: float, probability: float = 0.9
) -> Detectable:
    """Return the smallest member of the claim's family that bounds on successes detect with the given probability.

    The attack succeeds as often as the member allows against one reference dataset, 1 - tradeoff(prior_success).

    Example:
        >>> from dpassay.audit.bounds.reconstruction import Reconstruction
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> stated = Statement(PureDP(1.0), delta=0.0)
        >>> least = [detectable_in_successes([Reconstruction()], stated, n, 0.1).epsilon for n in (2, 1000, 100_000)]
        >>> least[0], 1.1 < least[1] < 1.3, 1.0 < least[2] < 1.03
        (inf, True, True)
    """
    family = _family_at(statement)

    def refuted(n_success: int) -> bool:
        return _refuted_by(bounds, statement, Successes(n_success, n_runs, prior_success))

    def detected(parameter: float) -> bool:
        missed = float(family.search(parameter).tradeoff(prior_success))
        return refuted(n_runs - int(quantile(probability, n_runs, missed)))

    if not refuted(n_runs):
        return Detectable(math.inf, _family_name(family))
    return _least_detected(detected, family, statement.delta, PRECISION)


def _least_detected(
    detected: Callable[[float], bool], family: CurveFamily, delta: float, precision: float
) -> Detectable:
    """Return epsilon at delta of the least member that is detected."""
    parameter = minimum_detectable(lambda at: (detected(at), math.nan), family.claimed, family.largest, precision)
    return Detectable(math.inf if parameter is None else epsilon_of(family, parameter, delta), _family_name(family))


@lru_cache(maxsize=256)
def _call(function: Callable[..., Detectable], *arguments: Any) -> Detectable:
    return function(*arguments)


def _cached(function: Callable[..., Detectable], *arguments: Any) -> Detectable:
    """Return `function` of these arguments, cached: a test session has hundreds of audits of one size and claim."""
    try:
        return _call(function, *arguments)
    except TypeError:  # a user-defined bound or claim without a hash
        return function(*arguments)


def _family_name(family: CurveFamily) -> str:
    """Return a readable name of the true curves of a family."""
    if family.title.startswith("PureDP"):
        return "randomised response with some epsilon"
    if family.title.startswith("ApproximateDP"):
        return f"randomised response with some epsilon{family.title.partition('epsilon')[2]}"
    return family.title


def _family_at(statement: Statement) -> CurveFamily:
    """Return the family of the claim, or that of (epsilon, delta) where the claim has none that is finite at delta."""
    try:
        family = family_of(statement.claim)
        epsilon_of(family, family.claimed, statement.delta)
    except (AccountingError, ParameterError):
        family = family_of(ApproximateDP(statement.epsilon, statement.delta))
    return family


@dataclass(frozen=True)
class _PairPower:
    """Power of bounds on pairs: the members at which a perfect attack refutes the claim."""

    bounds: tuple[Any, ...]
    statement: Statement
    probability: float

    def least(self, family: CurveFamily, n_out: int, n_in: int) -> float | None:
        """Return the least member, above the claimed one, that refutes the claim; None if there is none."""
        precision = COARSE_PRECISION if family.precision > PRECISION / 2 else PRECISION
        look = partial(self.look, family, n_out, n_in)
        slope = self.statement.epsilon / family.claimed if self._margin_guides(family, min(n_out, n_in)) else math.nan
        return minimum_detectable(look, family.claimed, family.largest, precision, slope)

    def _margin_guides(self, family: CurveFamily, n: int) -> bool:
        """Return whether the margin of the bound at delta can guide the search.

        Other curves may be refuted at another delta long before, and with rare events the refutation is not monotone.
        """
        at_delta = self.statement.delta == 0.0 or isinstance(self.statement.claim, ApproximateDP)
        return family.claimed > 0.0 and at_delta and 0.5 * n * math.exp(-self.statement.epsilon) >= _MIN_HITS

    def look(self, family: CurveFamily, n_out: int, n_in: int, parameter: float) -> tuple[bool, float]:
        """Return whether counts that this member gives with the given probability refute the claim, and the margin."""
        true_curve = family.search(parameter)
        fpr = _rates(true_curve, n_out, n_in)
        fnr = np.asarray(true_curve.tradeoff(fpr))
        per_side = math.sqrt(self.probability)
        return self.judged(quantile(per_side, n_out, fpr), n_in - quantile(per_side, n_in, fnr), n_out, n_in)

    def refuted(self, hits_out: Counts, hits_in: Counts, n_out: int, n_in: int) -> bool:
        """Return whether these hits, at decreasing thresholds, refute the claim."""
        return self.judged(hits_out, hits_in, n_out, n_in)[0]

    def judged(self, hits_out: Counts, hits_in: Counts, n_out: int, n_in: int) -> tuple[bool, float]:
        """Return whether these hits refute the claim, and the margin of the largest bound; nan where that is slow."""
        margins = []
        delta, confidence = self.statement.delta, self.statement.confidence
        max_trials = _MAX_PERFECT_TRIALS if self.probability == 1.0 else _MAX_PLANNED_TRIALS
        for bound in (_quick(bound, max(n_out, n_in) > max_trials) for bound in self.bounds):
            thresholds = () if bound.needs_pilot else bound.fix(self.statement, None, (n_out, n_in)).thresholds
            fixed = np.array(sorted(set(thresholds) - {-math.inf}), dtype=np.float64)
            places = _most_significant(hits_out, hits_in, n_out, n_in, delta, confidence) if len(fixed) else {0}
            for index in places:
                refuted, margin = self._judged(bound, _tally(hits_out, hits_in, n_out, n_in, index, fixed))
                if refuted:
                    return True, margin
                margins.append(margin)
        return False, max(margins)

    def _judged(self, bound: PairBound, tally: Tally) -> tuple[bool, float]:
        fix = bound.fix_event if isinstance(bound, EventBound) else bound.fix  # a perfect attack is not reversed
        ready = fix(self.statement, PairCounts(tally), (tally.n_out, tally.n_in))
        counts = PairCounts(_with(tally, ready.thresholds))
        return ready.refutes(counts), _margin(ready, counts)


def _margin(bound: FixedBound[Scores], counts: PairCounts) -> float:
    """Return the approximate margin of the bound above the claimed epsilon; nan where it is slow to compute."""
    stated = bound.statement
    if type(bound).exceeds_claim is FixedBound.exceeds_claim:  # the bound itself is the fastest
        return bound.lower_bound(counts).epsilon - stated.epsilon
    if len(bound.thresholds) != 1:
        return math.nan
    (out, in_), n_out, n_in = counts.hits(bound.thresholds[0]), counts.n_out, counts.n_in
    hits, other = np.array([in_, n_out - out]), np.array([out, n_in - in_])
    sizes, order = (np.array([n_in, n_out]), np.array([n_out, n_in])), Ordering(stated.significance, stated.delta)
    epsilon = float(order.value(hits, other, *sizes).max())
    if epsilon == -math.inf:  # no evidence against the claim: the limit of Katz et al. extends below 0
        p, q = (hits + 0.5) / (sizes[0] + 1.0), (other + 0.5) / (sizes[1] + 1.0)
        shift = special.ndtri(stated.significance) * order.spread(hits, other, *sizes)
        epsilon = float((np.log(np.maximum(p - stated.delta, 1e-12) / q) + shift).max())
    return epsilon - stated.epsilon


def _quick(bound: PairBound, many: bool) -> PairBound:
    """Replace the joint test by Clopper-Pearson for many trials: the joint test is slow and gains little there."""
    if isinstance(bound, JointExact) and many:
        return ClopperPearson(bound.threshold)
    return bound


def _tally(hits_out: Counts, hits_in: Counts, n_out: int, n_in: int, index: int, fixed: Floats) -> Tally:
    """Return the tally of these hits, with the event at `index` at the thresholds that a bound has fixed, if any."""
    fixed = fixed if len(fixed) else np.zeros(1)
    unbounded = not np.isfinite(fixed).all()
    lower_events, higher_events = np.arange(len(hits_out) - 1, index, -1), np.arange(index - 1, -1, -1)
    order = np.concatenate(
        [[] if unbounded else lower_events, [index] * len(fixed), [] if unbounded else higher_events]
    ).astype(np.intp)
    step = 1.0 if unbounded else max(1.0, float(np.abs(fixed).max()))
    below, above = (np.arange(0 if unbounded else len(events)) for events in (lower_events, higher_events))
    thresholds = np.concatenate([[-np.inf], fixed[0] - step * (1 + below[::-1]), fixed, fixed[-1] + step * (1 + above)])
    out, in_ = (np.concatenate([[n], hits[order]]) for n, hits in ((n_out, hits_out), (n_in, hits_in)))
    return Tally(thresholds, out, in_, n_out, n_in)


def _with(tally: Tally, thresholds: tuple[float, ...]) -> Tally:
    """Return the tally on a grid that includes these thresholds too; no score lies between thresholds of the tally."""
    grid = np.union1d(tally.thresholds, np.asarray(thresholds, dtype=np.float64))
    indices = np.searchsorted(tally.thresholds, grid)
    out, in_ = (np.append(hits, 0)[indices] for hits in (tally.hits_out, tally.hits_in))
    return Tally(grid, out, in_, tally.n_out, tally.n_in)


def _rates(true_curve: Guarantee, n_out: int, n_in: int) -> Floats:
    """Return a grid of false positive rates: dense at both ends, with the point of equal errors."""
    fpr, fnr = (np.geomspace(0.01 / n, 0.5, _RATES) for n in (n_out, n_in))
    above = np.flatnonzero(np.asarray(true_curve.tradeoff(fpr)) > fpr)
    last = int(above[-1]) if len(above) else 0
    # The corner of (epsilon, delta), the most significant event, lies in between.
    middle = np.linspace(fpr[last], fpr[min(last + 1, _RATES - 1)], _MIDDLE)
    corner = middle[np.asarray(true_curve.tradeoff(middle)) <= middle][:1]
    return np.unique(np.concatenate([fpr, np.asarray(true_curve.tradeoff(fnr)), corner]))


def _most_significant(
    hits_out: Counts, hits_in: Counts, n_out: int, n_in: int, delta: float, confidence: float
) -> set[int]:
    """Return the most significant events: by the ratio of rates in each direction, and by their normal quantiles."""
    level = 0.5 * (1.0 - confidence)
    fpr, tpr = (hits_out, n_out), (hits_in, n_in)
    fnr, tnr = (n_in - hits_in, n_in), (n_out - hits_out, n_out)
    inside = (lower(*tpr, level) - delta) / upper(*fpr, level)
    outside = (lower(*tnr, level) - delta) / upper(*fnr, level)
    distance = special.ndtri(lower(*tpr, level)) - special.ndtri(upper(*fpr, level))
    return {int(np.argmax(criterion)) for criterion in (inside, outside, distance)}
