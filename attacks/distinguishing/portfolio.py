"""The portfolio: the classifier, and rules for leaks that no classifier of ordinary features detects."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import NO_NAMES, Floats, Ints, OutputNames, Outputs, PositiveInt
from ..base import Attack, Target
from ..learners.base import N_FOLDS
from ..learners.features import as_matrix
from .classifier import Classifier, ClassifierScorer
from .low_level.repeats import Repeats
from .low_level.rules import Granularity, LevelRule, Levels, coordinates_of, rules_for
from .low_level.screen import LevelOdds, fit_level_odds, largest_log_ratio, log_p_value

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
    """The classifier's log odds and, where the pilot shows that they miss a difference, the log odds that rules add.

    The rules look at what classifiers smooth away: exact values that the pilot contains (noise from few random bits, a
    hash with few salts, a raw value that leaks), the number of decimals and the last decimal, the low bits of floats
    (Mironov, 2012; Haney et al., 2022), order, ties and gaps of coordinates. Each rule sorts outputs into levels, and a
    level adds the log odds by which its pilot outputs differ from the classifier's prediction.

    Everything is learned and chosen on pilot outputs. A rule must differ from chance at 1e-3 over all rules; then each
    third of the pilot is scored by rules learned on the other two, and the rules are used if the ratio of rates that
    these scores reach is clearly larger than the classifier's. Thresholds are chosen on the same scores. If no rule
    is used, the attack is the classifier. If a rule on low bits is used, the scorer without such rules is kept as well,
    so that an audit can report which leak needs them.

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
        * without a rule, the score is exactly that of the classifier.

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

    def fit(
        self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator
    ) -> ClassifierScorer | PortfolioScorer:
        base = self.classifier.fit(target, pilot0, pilot1, rng)
        n = min(len(pilot0), len(pilot1), self.classifier.max_rows)
        if n < self.fewest:
            return base
        bits = n >= self.bits_from and pilot0.values.dtype.kind == "f"
        scorer = _with_rules(base, pilot0, pilot1, n, bits=bits)
        if isinstance(scorer, PortfolioScorer) and scorer.reads_low_bits:
            return replace(scorer, without_low_bits=_with_rules(base, pilot0, pilot1, n, bits=False))
        return scorer


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
    without_low_bits: ClassifierScorer | PortfolioScorer | None = None
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


def _with_rules(
    base: ClassifierScorer, pilot0: Outputs, pilot1: Outputs, n: int, *, bits: bool
) -> ClassifierScorer | PortfolioScorer:
    """Return the classifier's scorer, with rules if `n` pilot outputs per side show that they help."""
    rules, held_out = _select_rules(base, pilot0.values[:n], pilot1.values[:n], bits=bits)
    factor, margin = RULES_MARGIN
    base_ratio = largest_log_ratio(*(base.score(Outputs(pilot.values[:n])) for pilot in (pilot0, pilot1)))
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
    base: ClassifierScorer, values0: NDArray[Any], values1: NDArray[Any], *, bits: bool
) -> tuple[tuple[tuple[LevelRule, LevelOdds], ...], tuple[Floats, Floats]]:
    """Return the rules that improve on `base`, best first, each given those before it; and held-out scores.

    Runs are independent, so every third row is as good a fold as a shuffled one.
    """
    values = np.concatenate([values0, values1])
    sides = np.repeat(np.array([0, 1]), [len(values0), len(values1)])
    fold = np.concatenate([np.arange(len(values0)), np.arange(len(values1))]) % N_FOLDS
    scores = base.score(Outputs(values))
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
            held_out[test] += fit_level_odds(levels[train], sides[train], scores[train]).of(levels[test])
        beyond = fit_level_odds(levels, sides, scores)
        selected.append((rule, beyond))
        scores = scores + beyond.of(levels)
    return tuple(selected), (held_out[sides == 0], held_out[sides == 1])


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
