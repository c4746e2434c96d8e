"""The portfolio: the classifier, and rules for what no classifier of ordinary features sees."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import Outputs
from ...mechanisms.validation import whole
from ..base import Attack, Target
from ..features import as_matrix
from ..fine.repeats import Repeats
from ..fine.rules import Floats, Granularity, Levels, Rule, coordinates_of, rules_for
from ..fine.screen import Beyond, learn_beyond, log_p_value, promise
from .classifier import Classifier, ClassifierScorer

N_FOLDS = 3
LOG_FALSE_ALARM = math.log(1e-3)
"""Chance that any rule is looked at more closely where none sees anything."""
MARGIN = 1.05, 0.02
"""The scores with the rules must promise so many times what the classifier promises, and so much more."""
MOST_RULES = 4
SCREENED = 2_000_000
"""Numbers of the pilot that are looked at one by one: coordinates beyond that are read as a whole only."""
MOST_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Portfolio(Attack):
    """The classifier's log odds and, where the pilot shows that they miss something, what a rule adds to them.

    The rules look at what classifiers smooth away: exact values that the pilot saw (noise from few random bits, a hash
    with few salts, a raw value that slips out), decimals and the last one of them, the low bits of floats (Mironov,
    2012; Haney et al., 2022), order, ties and gaps of coordinates. Each sorts outputs into levels, and a level adds the
    log odds by which its pilot outputs differ from what the classifier expects of them.

    Everything is learned and chosen on pilot outputs. A rule must differ from chance at 1e-3 over all rules; then each
    third of the pilot is scored by what the other two teach, and the rules are taken if the ratio of rates that these
    scores promise is clearly larger than that of the classifier. Thresholds are chosen on the same scores. Where no
    rule is taken, this is the classifier. Where a rule on low bits is taken, the scorer without such rules is kept
    next to it, so that an audit can say which leak needs them.

    Args:
        classifier: with its options.
        fewest: pilot outputs a side from which on rules are tried.
        bits_from: pilot outputs a side from which on the low bits of floats are looked at; an audit gives a quarter of
            its trials to the pilot. Almost every function that adds float noise to a number leaks there, whatever its
            logic: with fewer trials it is the logic that is audited.

    Raises:
        ParameterError: a number that is not whole, or below 1.
        AttackError: as the classifier.

    Guarantees:
        * the score is fixed by the pilot outputs and `rng` alone;
        * that of the classifier, to the bit, where no rule is taken.

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
    fewest: int = 1_000
    bits_from: int = 30_000

    def __post_init__(self) -> None:
        whole(1, fewest=self.fewest, bits_from=self.bits_from)

    def supports(self, target: Target) -> bool:
        """Other people's code, which may do anything; mechanisms of this library do what they say."""
        module = type(target.mechanism).__module__
        return not module.startswith("dpassay.") or module.startswith("dpassay.mechanisms.external.")

    def fit(
        self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator
    ) -> ClassifierScorer | PortfolioScorer:
        """The classifier's scorer, with rules where they are taken."""
        base = self.classifier.fit(target, pilot0, pilot1, rng)
        n = min(len(pilot0), len(pilot1), self.classifier.max_rows)
        if n < self.fewest:
            return base
        bits = n >= self.bits_from and pilot0.values.dtype.kind == "f"
        found = _with_rules(base, pilot0, pilot1, n, bits=bits)
        if isinstance(found, PortfolioScorer) and found.reads_low_bits:
            return replace(found, without_low_bits=_with_rules(base, pilot0, pilot1, n, bits=False))
        return found


@dataclass(frozen=True, eq=False)
class PortfolioScorer:
    """The classifier's log odds, and what rules add to them.

    Args:
        base: the classifier's scorer.
        rules: rules, and the log odds of their levels.
        held_out: scores of the pilot outputs of each side by rules that were learned without them; None once thresholds
            were chosen on these.
        usual: tenth and ninetieth percentile of the classifier's scores.
        without_low_bits: the scorer that the same pilot gives without rules on the low bits of floats; None where no
            such rule is among these.
    """

    base: ClassifierScorer
    rules: tuple[tuple[Rule, Beyond], ...]
    held_out: tuple[Floats, Floats] | None = None
    usual: tuple[float, float] = (0.0, 0.0)
    without_low_bits: ClassifierScorer | PortfolioScorer | None = None

    @property
    def reads_low_bits(self) -> bool:
        """Whether a rule on the low bits of floats is among the rules."""
        return any(isinstance(rule, Granularity) for rule, _ in self.rules)

    def score(self, outputs: Outputs) -> Floats:
        """Scores of `outputs`, shape `(size,)`, natural logarithms."""
        rows, scores = as_matrix(outputs.values), self.base.score(outputs)
        for rule, beyond in self.rules:
            scores = scores + beyond.of(rule.levels(rows))
        return scores

    def describe(self, threshold: float, *, above: bool = True) -> str:
        """Which outputs score at or above the threshold, or below, in words: those that a rule puts there."""
        sign = 1.0 if above else -1.0
        for usual in self.usual if above else self.usual[::-1]:  # nearly all of a level, or else some of it
            there = [(sign * odds, text) for odds, text in self._described() if (usual + odds >= threshold) == above]
            if decided := [(odds, text) for odds, text in there if odds > 0.0]:
                return _joined(decided)
        return self.base.describe(threshold, above=above)

    def _described(self) -> list[tuple[float, str]]:
        """What each level adds, and the level in words."""
        return [
            (float(odds), rule.describe(int(level)))
            for rule, beyond in self.rules
            for level, odds in zip(beyond.known, beyond.log_odds, strict=True)
        ]


def _with_rules(
    base: ClassifierScorer, pilot0: Outputs, pilot1: Outputs, n: int, *, bits: bool
) -> ClassifierScorer | PortfolioScorer:
    """The classifier's scorer, with rules that `n` pilot outputs a side show to be worth it."""
    rules, held_out = _taken(base, pilot0.values[:n], pilot1.values[:n], bits=bits)
    factor, more = MARGIN
    alone = promise(*(base.score(Outputs(pilot.values[:n])) for pilot in (pilot0, pilot1)))
    if not rules or promise(*held_out) <= factor * alone + more:
        return base
    scorer = PortfolioScorer(base, rules)
    beyond = [scorer.score(Outputs(pilot.values[n:])) for pilot in (pilot0, pilot1)]
    scores = base.score(Outputs(np.concatenate([pilot0.values[:n], pilot1.values[:n]])))
    low, high = np.quantile(scores, [0.1, 0.9])
    out, in_ = (np.concatenate(parts) for parts in zip(held_out, beyond, strict=True))
    return replace(scorer, held_out=(out, in_), usual=(float(low), float(high)))


def _joined(described: list[tuple[float, str]]) -> str:
    """The clearest levels, clearest first."""
    clearest = sorted(described, key=lambda one: -one[0])
    more = len(clearest) - MOST_SHOWN
    shown = " or ".join(text for _, text in clearest[:MOST_SHOWN])
    return f"{shown} or {more:,} more alike" if more > 0 else shown


def _taken(
    base: ClassifierScorer, values0: NDArray[Any], values1: NDArray[Any], *, bits: bool
) -> tuple[tuple[tuple[Rule, Beyond], ...], tuple[Floats, Floats]]:
    """The rules that see what `base` does not, the clearest first, each beyond those before it; and held-out scores.

    Runs are independent, so every third row is as good a fold as a shuffled one.
    """
    values = np.concatenate([values0, values1])
    sides = np.repeat(np.array([0, 1]), [len(values0), len(values1)])
    fold = np.concatenate([np.arange(len(values0)), np.arange(len(values1))]) % N_FOLDS
    scores = base.score(Outputs(values))
    held_out = scores.copy()
    candidates = _candidates(as_matrix(values), sides, bits=bits)
    taken: list[tuple[Rule, Beyond]] = []
    while candidates and len(taken) < MOST_RULES:
        chances = [log_p_value(levels, sides, scores) for _, levels in candidates]
        best = int(np.argmin(chances))
        if chances[best] > LOG_FALSE_ALARM - math.log(len(candidates)):
            break
        rule, levels = candidates.pop(best)
        for one in range(N_FOLDS):
            test, train = fold == one, fold != one
            held_out[test] += learn_beyond(levels[train], sides[train], scores[train]).of(levels[test])
        beyond = learn_beyond(levels, sides, scores)
        taken.append((rule, beyond))
        scores = scores + beyond.of(levels)
    return tuple(taken), (held_out[sides == 0], held_out[sides == 1])


def _candidates(rows: Floats, sides: NDArray[np.int64], *, bits: bool) -> list[tuple[Rule, Levels]]:
    """The rules to try, and the levels that they give to the pilot; a constant level says nothing."""
    most = max(1, SCREENED // len(rows))
    found = [(rule, rule.levels(rows)) for rule in rules_for(rows, most_coordinates=most, bits=bits)]
    whole_output = [] if rows.shape[1] == 1 else [None]
    for coordinate in [*coordinates_of(rows, most), *whole_output]:
        repeats = Repeats.learn(rows, sides, coordinate)
        if repeats is not None:
            found.append((repeats, repeats.levels_left_out(rows, sides)))
    return [(rule, levels) for rule, levels in found if (levels != levels[0]).any()]


__all__ = ["Portfolio", "PortfolioScorer"]
