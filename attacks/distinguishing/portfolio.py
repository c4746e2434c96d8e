"""The portfolio: the classifier, rules for leaks that it does not detect, and simple scores that need less learning."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.core import NO_NAMES, Bools, Floats, Ints, Mechanism, OutputNames, Outputs, PositiveInt
from ..base import Attack, Scorer, Target
from ..learners.base import N_FOLDS
from ..learners.features import as_matrix
from .classifier import Classifier, ClassifierScorer
from .cross_fit import Sides, choose, cross_fit, cross_fit_scores
from .low_level.repeats import Repeats
from .low_level.rules import Granularity, LevelRule, Levels, coordinates_of, rules_for
from .low_level.screen import LevelOdds, fit_level_odds, largest_log_ratio, log_p_value
from .simple_scores import proposers

LOG_FALSE_ALARM = math.log(1e-3)
"""Log of the probability that any rule passes the first test if none detects a difference."""
RULES_MARGIN = 1.05, 0.02
"""Factor and difference by which the log ratio of rates of the scores with rules must exceed that of the classifier."""
MAX_RULES = 4
MAX_SCREENED_ENTRIES = 2_000_000
"""Pilot numbers that are screened one by one: further coordinates are screened only as a whole output."""
MAX_RULES_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Portfolio(Attack):
    """The classifier's log odds with those that rules add, or a simpler score, whichever is best on the pilot.

    The rules look at what classifiers smooth away: exact values that the pilot contains (noise from few random bits, a
    hash with few salts, a raw value that leaks), the number of decimals and the last decimal, the low bits of floats
    (Mironov, 2012; Haney et al., 2022), order, ties and gaps of coordinates. Each rule sorts outputs into levels, and a
    level adds the log odds by which its pilot outputs differ from the classifier's prediction.

    Everything is learned and chosen on pilot outputs. A rule must differ from chance at 1e-3 over all rules; then each
    third of the pilot is scored by rules learned on the other two, and the rules are used if the ratio of rates that
    these scores reach is clearly larger than the classifier's. Thresholds are chosen on the same scores. If a rule on
    low bits is used, the scorer without such rules is kept as well, so that an audit can report which leak needs them.

    The simpler scores (`simple_scores`) are log ratios of Laplace and Gaussian noise around two centres, whose distance
    is what the first runs of a function show at the same seed, or the difference of medians or means; and statistics:
    coordinates and their distances from the middle, sum, norm, ordered coordinates, number of distinct coordinates.
    Held-out log losses and cross-fitted limits on the pilot choose between them and the learned score (`cross_fit`).

    Args:
        classifier: the classifier and its options.
        fewest: smallest number of pilot outputs per side for which rules are tried.
        bits_from: smallest number of pilot outputs per side for which the low bits of floats are used; an audit uses a
            quarter of its trials for the pilot. Almost every function that adds float noise to a number leaks there,
            whatever its logic: with fewer trials the logic is audited.

    Raises:
        ParameterError: `fewest` or `bits_from` is not a whole number >= 1.
        AttackError: for the same reasons as the classifier.

    Guarantees:
        * the score is determined by the pilot outputs and `rng`;
        * the level of an audit is untouched: all of this is chosen on pilot outputs.

    References:
        Mironov (2012), "On significance of the least significant bits for differential privacy", CCS.
        Haney, Desfontaines, Hartman, Shrestha and Hay (2022), "Precision-based attacks and interval refining".
        Bichsel, Steffen, Bogunovic and Vechev (2021), "DP-Sniper", IEEE S&P: events by learned log odds.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> target = Target(Laplace(epsilon=1.0), Laplace(epsilon=1.0).worst_case())  # it learns from the pilot alone
        >>> rng = np.random.default_rng(0)
        >>> out, in_ = rng.normal(size=3_000).round(5), rng.normal(size=3_000).round(4)
        >>> scorer = Portfolio().fit(target, Outputs(out), Outputs(in_), rng)
        >>> scorer.score(Outputs(np.array([0.51234, 0.5123]))).round().tolist()
        [-6.0, 3.0]
    """

    minimum_pilot: ClassVar[int] = Classifier.minimum_pilot

    classifier: Classifier = field(default_factory=Classifier)
    fewest: PositiveInt = 1_000
    bits_from: PositiveInt = 30_000

    def supports(self, target: Target) -> bool:
        """Return True for external code, which may do anything; mechanisms of this library behave as stated."""
        module = type(target.mechanism).__module__
        return not module.startswith("dpassay.") or module.startswith("dpassay.mechanisms.adapters.")

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        base, held_out = self.classifier.fit_with_held_out(pilot0, pilot1, rng)
        n = min(len(pilot0), len(pilot1), self.classifier.max_rows)

        def learned(*, bits: bool) -> ClassifierScorer | PortfolioScorer:
            return base if n < self.fewest else _with_rules(base, held_out, pilot0, pilot1, n, bits=bits)

        def best(scorer: ClassifierScorer | PortfolioScorer) -> Scorer:
            return scorer if held_out is None else _best(scorer, held_out, target, pilot0, pilot1)

        scorer = learned(bits=n >= self.bits_from and pilot0.values.dtype.kind == "f")
        if isinstance(scorer, PortfolioScorer) and scorer.reads_low_bits:
            return replace(scorer, without_low_bits=best(learned(bits=False)))
        return best(scorer)


@dataclass(frozen=True, eq=False)
class PortfolioScorer:
    """The classifier's log odds, plus the log odds of rules.

    Args:
        base: the classifier's scorer.
        rules: rules, with the log odds of their levels.
        held_out: scores of the pilot outputs of each side by rules that were learned without these outputs; None once
            thresholds were chosen on these scores.
        usual: tenth and ninetieth percentile of the classifier's scores.
        without_low_bits: the scorer learned from the same pilot without rules on the low bits of floats; None if no
            such rule is used.
        names: names of the numbers of an output, for descriptions.
    """

    base: ClassifierScorer
    rules: tuple[tuple[LevelRule, LevelOdds], ...]
    held_out: tuple[Floats, Floats] | None = None
    usual: tuple[float, float] = (0.0, 0.0)
    without_low_bits: Scorer | None = None
    names: OutputNames = NO_NAMES

    @property
    def reads_low_bits(self) -> bool:
        """True if one of the rules reads the low bits of floats."""
        return any(isinstance(rule, Granularity) for rule, _ in self.rules)

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, natural logarithms."""
        rows, scores = as_matrix(outputs.values), self.base.score(outputs)
        for rule, beyond in self.rules:
            scores = scores + beyond.of(rule.levels(rows))
        return scores

    def describe(self, threshold: float, *, above: bool = True) -> str:
        """Describe the outputs that score at or above the threshold, or below, because of a rule."""
        if decisive := self._decisive(threshold, above):
            return _joined(decisive)
        return replace(self.base, names=self.names).describe(threshold, above=above)

    def describes_outputs(self, threshold: float, *, above: bool = True) -> bool:
        """Return whether `describe` names levels, values or intervals."""
        return bool(self._decisive(threshold, above)) or self.base.describes_outputs(threshold, above=above)

    def _decisive(self, threshold: float, above: bool) -> list[tuple[float, str]]:
        """Return the log odds and descriptions of the levels that put outputs into an event."""
        sign = 1.0 if above else -1.0
        for usual in self.usual if above else self.usual[::-1]:  # nearly all outputs of a level, or else some of them
            signed_odds = [
                (sign * odds, text) for odds, text in self._described() if (usual + odds >= threshold) == above
            ]
            if decisive := [(odds, text) for odds, text in signed_odds if odds > 0.0]:
                return decisive
        return []

    def _described(self) -> list[tuple[float, str]]:
        """Return the log odds that each level adds, and the description of the level."""
        return [
            (float(odds), rule.describe(int(level), self.names))
            for rule, beyond in self.rules
            for level, odds in zip(beyond.known, beyond.log_odds, strict=True)
        ]


def _best(
    learned: ClassifierScorer | PortfolioScorer, held_out: Sides, target: Target, pilot0: Outputs, pilot1: Outputs
) -> Scorer:
    """Return the learned scorer or, where it is no better on the first pilot outputs, a simpler one.

    Args:
        learned: the scorer that was learned.
        held_out: scores of the first pilot outputs of each side by classifiers trained without them.
        target: the mechanism, which may know how the sides differ at the same seed.
        pilot0, pilot1: all pilot outputs.
    """
    if isinstance(learned, PortfolioScorer) and learned.held_out is not None:
        held_out = learned.held_out[0][: len(held_out[0])], learned.held_out[1][: len(held_out[1])]
    everything = as_matrix(pilot0.values), as_matrix(pilot1.values)
    first = everything[0][: len(held_out[0])], everything[1][: len(held_out[1])]
    shift, delta = _same_seed_shift(target.mechanism, everything[0].shape[1]), _claimed_delta(target.mechanism)
    tried = [(propose, cross_fit(propose, first, delta)) for propose in proposers(shift, delta)]
    fits = [(propose, fit) for propose, fit in tried if fit is not None]
    chosen = choose([*(fit for _, fit in fits), cross_fit_scores(held_out, delta)])
    return learned if chosen == len(fits) else fits[chosen][0](everything) or learned


def _same_seed_shift(mechanism: Mechanism, n_coordinates: int) -> Floats:
    """Return the difference of the two sides at the same seed, 0 if it is unknown; marks of texts do not move."""
    known = mechanism.same_seed_shift if isinstance(mechanism, FunctionMechanism) else ()
    return np.array(known + (0.0,) * (n_coordinates - len(known)) if len(known) <= n_coordinates else [0.0])


def _claimed_delta(mechanism: Mechanism) -> float:
    """Return the usual delta of the claim on a function: which events are good depends on it, no level does."""
    return (mechanism.claim.default_delta or 0.0) if isinstance(mechanism, FunctionMechanism) else 0.0


def _with_rules(
    base: ClassifierScorer, held_out_base: Sides | None, pilot0: Outputs, pilot1: Outputs, n: int, *, bits: bool
) -> ClassifierScorer | PortfolioScorer:
    """Return the classifier's scorer, with rules if `n` pilot outputs per side show that they help."""
    scores0, scores1 = (base.score(Outputs(pilot.values[:n])) for pilot in (pilot0, pilot1))
    if held_out_base is not None:
        for scores, held in zip((scores0, scores1), held_out_base, strict=True):
            scores[: len(held)] = held[: len(scores)]
    rules, held_out = _select_rules((scores0, scores1), pilot0.values[:n], pilot1.values[:n], bits=bits)
    factor, margin = RULES_MARGIN
    base_ratio = largest_log_ratio(scores0, scores1)
    if not rules or largest_log_ratio(*held_out) <= factor * base_ratio + margin:
        return base
    scorer = PortfolioScorer(base, rules)
    remaining_scores = [scorer.score(Outputs(pilot.values[n:])) for pilot in (pilot0, pilot1)]
    scores = base.score(Outputs(np.concatenate([pilot0.values[:n], pilot1.values[:n]])))
    low, high = np.quantile(scores, [0.1, 0.9])
    out, in_ = (np.concatenate(parts) for parts in zip(held_out, remaining_scores, strict=True))
    return replace(scorer, held_out=(out, in_), usual=(float(low), float(high)))


def _joined(described: list[tuple[float, str]]) -> str:
    """Join the descriptions of the largest log odds, largest first."""
    ordered = sorted(described, key=lambda item: -item[0])
    n_more = len(ordered) - MAX_RULES_SHOWN
    shown = " or ".join(text for _, text in ordered[:MAX_RULES_SHOWN])
    return f"{shown} or {n_more:,} more" if n_more > 0 else shown


def _select_rules(
    base_scores: Sides, values0: NDArray[Any], values1: NDArray[Any], *, bits: bool
) -> tuple[tuple[tuple[LevelRule, LevelOdds], ...], tuple[Floats, Floats]]:
    """Return the rules that improve on `base`, best first, each given those before it; and held-out scores.

    Runs are independent, so every third row is as good a fold as a shuffled one.
    """
    values = np.concatenate([values0, values1])
    sides = np.repeat(np.array([0, 1]), [len(values0), len(values1)])
    fold = np.concatenate([np.arange(len(values0)), np.arange(len(values1))]) % N_FOLDS
    scores = np.concatenate(base_scores)
    held_out = scores.copy()
    candidates = _candidates(as_matrix(values), sides, bits=bits)
    selected: list[tuple[LevelRule, LevelOdds]] = []
    while candidates and len(selected) < MAX_RULES:
        log_p_values = [log_p_value(levels, sides, scores) for _, levels in candidates]
        best = int(np.argmin(log_p_values))
        if log_p_values[best] > LOG_FALSE_ALARM - math.log(len(candidates)):
            break
        rule, levels = candidates.pop(best)
        for held_out_fold in range(N_FOLDS):
            test, train = fold == held_out_fold, fold != held_out_fold
            known, fresh = _levels_of_fold(rule, as_matrix(values), sides, levels, train)
            held_out[test] += fit_level_odds(known, sides[train], scores[train]).of(fresh)
        beyond = fit_level_odds(levels, sides, scores)
        selected.append((rule, beyond))
        scores = scores + beyond.of(levels)
    return tuple(selected), (held_out[sides == 0], held_out[sides == 1])


def _levels_of_fold(rule: LevelRule, rows: Floats, sides: Ints, levels: Levels, train: Bools) -> tuple[Levels, Levels]:
    """Return the levels of the rows of a fold and of the others, which a rule that learns counts has not seen."""
    if not isinstance(rule, Repeats):
        return levels[train], levels[~train]
    repeats = Repeats.learn(rows[train], sides[train], rule.coordinate)
    if repeats is None:
        return np.zeros(int(train.sum()), dtype=np.int64), np.zeros(int((~train).sum()), dtype=np.int64)
    return repeats.levels_left_out(rows[train], sides[train]), repeats.levels(rows[~train])


def _candidates(rows: Floats, sides: Ints, *, bits: bool) -> list[tuple[LevelRule, Levels]]:
    """Return the candidate rules, and the levels that they give to the pilot; constant levels are left out."""
    max_coordinates = max(1, MAX_SCREENED_ENTRIES // len(rows))
    candidates = [(rule, rule.levels(rows)) for rule in rules_for(rows, most_coordinates=max_coordinates, bits=bits)]
    whole_output = [] if rows.shape[1] == 1 else [None]
    for coordinate in [*coordinates_of(rows, max_coordinates), *whole_output]:
        repeats = Repeats.learn(rows, sides, coordinate)
        if repeats is not None:
            candidates.append((repeats, repeats.levels_left_out(rows, sides)))
    return [(rule, levels) for rule, levels in candidates if (levels != levels[0]).any()]
