"""Tests of single records and of groups of records for exposure.

The test of a record compares its scores in models with it to those in models without it. Null hypothesis: given the
other training records of a model, the signals of the record do not depend on its inclusion.

    signed ranks         (Wilcoxon) for attacks that use the target only, on models in pairs of complements. A record
                         is in one model of each pair, chosen by a fair coin. Given both scores, the coins of different
                         pairs are independent: under the null the sign of "score with it less score without it" is
                         fair in each pair, for any size. One-sided, as higher means member. Exact, given the sizes,
                         with mid-ranks for ties; tied pairs are left out
    Mann and Whitney     for the same attacks on models without complements: given the signals, every bit is an
                         independent coin. Not for pairs: the two scores of a pair are negatively correlated where the
                         record's score depends on the other records, each of which is in one of the two models. Ranks
                         then vary more than with independent coins: with 200 models that leak nothing, some record
                         was "exposed" in 26 to 56 % of all tables, at a nominal 5 %
    signs                for attacks with references: the two models of a pair of complements are scored with the same
                         references, so given those a fair coin decides whether the higher score is in the model with
                         the record. Ties are left out, and both directions count, as references may determine the
                         direction (LiRA's do): p = 2 Pr[Bin(m, 1/2) >= k] of m pairs.
                         Where a rule on many numbers is learned for each record, any two pairs are scored by rules
                         that are trained on each other: a linear rule correlates any two signs by (2/pi) / (m - 1) or
                         less, which makes the variance up to 1.64 times as large: a pair counts as half a pair

Holm's correction over the records then holds under any dependence between them, such as a model that predicts all of
them badly.

Scores of one record by different references must not be ranked: the value of a target is left out of its references on
the side of the target only, which breaks ties by the bit under test. With signals of few values, such as distances
between codes, a record in 64 models that leaks nothing had an AUC of .7 to 1. Without complements, attacks with
references are therefore tested on half of the models: the other half are the references of all of them, so that one
function scores every tested model. Given the signals and the bits of the references, the bits of the tested models are
independent coins: Mann and Whitney's test, and the interval of each rate, are valid as for attacks that use the target
only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ....mechanisms.core import Bools, Floats, Ints, holm
from ...bounds.numerics import binomial
from .roc import Pooled, RateAt

MIN_MODELS_FOR_RECORDS = 8
"""Smallest number of models for a table of records."""
EXPOSED_LEVEL = 0.05
"""A record is exposed if its adjusted p-value is at most this."""
MAX_EXACT_PAIRS = 100
"""Number of pairs up to which the distribution of signed ranks is computed exactly."""
RADEMACHER_RATIO = 3.178
"""Largest ratio of Pr[sum of a_i times fair signs >= x] to Pr[N(0, sum of a_i^2) >= x] (Bentkus and Dzindzalieva 2015,
Bernoulli 21, theorem 1.1)."""


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Vulnerability of each record: its scores in models with it against those in models without it.

    The p-values are those of Wilcoxon's signed rank test, or of the sign test, over pairs of complements; without
    complements, of Mann and Whitney's test. The adjusted values account for the number of records. Signed ranks are
    exact. The sign test is exact where references shift or scale the scores of a record, or flip the sign of them all;
    it is approximate where they flip the scores of some of its pairs.

    Args:
        auc: `(n_records,)` NaN for records without scores on both sides.
        tpr, lower, upper: `(n_records,)` share of the models with the record in which it scores above the threshold
            that `fpr` of all non-members exceed, and its Clopper-Pearson interval.
        p_value: `(n_records,)` one-sided; 1 for records without scores on both sides.
        holm: adjusted to control the family-wise error rate.
        benjamini_hochberg: adjusted to control the false discovery rate.
        fpr: of the threshold, over all records.
        least_p_value: the smallest p-value that this many scores can give: all models with the record score above all
            others.
        pair_weight: weight of each pair, where models are compared with their complements; 0 where they are not.
        one_sided: whether a higher score is known to mean member, where models are compared with their complements.
        n_references: number of models that are references only, and are not compared; 0 where all are compared.
    """

    auc: Floats
    tpr: Floats
    lower: Floats
    upper: Floats
    p_value: Floats
    holm: Floats
    benjamini_hochberg: Floats
    fpr: float
    least_p_value: float = 0.0
    pair_weight: float = 0.0
    one_sided: bool = False
    n_references: int = 0

    def __len__(self) -> int:
        return len(self.auc)

    @property
    def resolvable(self) -> bool:
        """True if this many scores could have exposed a record, Holm's correction included."""
        return len(self) * self.least_p_value <= EXPOSED_LEVEL

    @property
    def worst(self) -> int:
        """Most exposed record: the smallest p-value, and among equal ones the largest AUC."""
        return int(np.lexsort((-np.nan_to_num(self.auc), self.p_value))[0])

    def exposed(self, significance: float = EXPOSED_LEVEL) -> Ints:
        """Return the records whose Holm-adjusted p-value is at most `significance`, the most exposed first."""
        exposed = np.flatnonzero(self.holm <= significance)
        return exposed[np.lexsort((-self.auc[exposed], self.p_value[exposed]))]


@dataclass(frozen=True)
class GroupRow:
    """Metrics of one group of records: a class, or a group that the user names.

    Args:
        group: its name.
        n_in, n_out: scores of members and of non-members.
        auc, lower, upper: AUC within the group, and its interval.
        rate: true positive rate at thresholds of the group itself.
    """

    group: str
    n_in: int
    n_out: int
    auc: float
    lower: float
    upper: float
    rate: RateAt


def record_table(
    scores: Floats,
    inclusion: Bools,
    *,
    threshold: float,
    fpr: float,
    confidence: float,
    partners: Ints | None = None,
    alone: bool = False,
    pair_weight: float = 1.0,
) -> RecordTable:
    """Return the table of all records.

    Args:
        scores: `(n_models, n_records)`, NaN where a score is missing.
        inclusion: `(n_models, n_records)`.
        partners: `(n_models,)` the complement of each model, the model itself where it has none; None where no model
            has one. Models without a complement are left out of the tests of pairs.
        alone: whether a score depends on a single model, higher for members; needed where `partners` is None.
        pair_weight: weight of a pair of complements: 1, or 1/2 where a rule is learned for each record.
        threshold, fpr: scores above the threshold count as hits; fpr is the share of all non-members above it.
        confidence: of the interval of each single record.
    """
    from scipy.stats import false_discovery_control, rankdata

    valid = ~np.isnan(scores)
    inside, outside = inclusion & valid, ~inclusion & valid
    n_in, n_out = inside.sum(axis=0), outside.sum(axis=0)
    ranks = rankdata(np.where(valid, scores, np.inf), axis=0)
    wins = np.where(inside, ranks, 0.0).sum(axis=0) - 0.5 * n_in * (n_in + 1.0)
    pairs = n_in * n_out
    both = pairs > 0
    p_value, least = np.where(both, [_p_value(wins, n_in, n_out), _p_value(pairs, n_in, n_out)], 1.0)
    if partners is not None:
        difference = _with_less_without(scores, inclusion, partners)
        p_value, least = _by_signed_ranks(difference) if alone else _by_signs(difference, pair_weight)
    hits, tail = (inside & (np.where(valid, scores, -np.inf) > threshold)).sum(axis=0), 0.5 * (1.0 - confidence)
    known = n_in > 0
    return RecordTable(
        auc=np.where(both, wins / np.maximum(pairs, 1), np.nan),
        tpr=np.where(known, hits / np.maximum(n_in, 1), np.nan),
        lower=np.where(known, binomial.lower(hits, np.maximum(n_in, 1), tail), 0.0),
        upper=np.where(known, binomial.upper(hits, np.maximum(n_in, 1), tail), 1.0),
        p_value=p_value,
        holm=np.array(holm(p_value)),
        benjamini_hochberg=false_discovery_control(p_value),
        fpr=fpr,
        least_p_value=float(least.min(initial=1.0)),
        pair_weight=0.0 if partners is None else pair_weight,
        one_sided=alone and partners is not None,
    )


def models_needed(
    n_records: int, significance: float = EXPOSED_LEVEL, *, pair_weight: float = 0.0, one_sided: bool = False
) -> int:
    """Return the least number of scores, half of them by models with the record, that can expose one of `n_records`.

    >>> models_needed(1), models_needed(1000), models_needed(1000, pair_weight=1.0)
    (6, 22, 32)
    >>> models_needed(1000, pair_weight=1.0, one_sided=True)
    30
    """
    half, sides = 1, 1.0 if one_sided else 2.0
    while (
        n_records * (sides * 0.5 ** (pair_weight * half) if pair_weight else _p_value(half * half, half, half))
        > significance
    ):
        half += 1
    return 2 * half


def group_rows(pooled: Pooled, groups: NDArray[np.str_], *, fpr: float, confidence: float) -> tuple[GroupRow, ...]:
    """Return one row per group with members and non-members; `groups` is the group name of each record."""
    rows = []
    of_score = groups[pooled.record]
    for group in np.unique(groups):
        chosen = of_score == group
        if len(np.unique(pooled.member[chosen])) < 2:
            continue
        part = pooled.part(chosen)
        interval, rate = part.auc_interval(confidence), part.rate_at(fpr, confidence)
        rows.append(GroupRow(str(group), part.n_in, part.n_out, part.auc, *interval, rate))
    return tuple(rows)


def _p_value(wins: Any, n_in: Any, n_out: Any) -> Any:
    """Return the one-sided p-value of Mann and Whitney's test: normal approximation with continuity correction."""
    pairs = n_in * n_out
    spread = np.sqrt(np.maximum(pairs, 1) * (n_in + n_out + 1.0) / 12.0)
    return special.ndtr(-(wins - 0.5 * pairs - 0.5) / spread)


def _with_less_without(scores: Floats, inclusion: Bools, partners: Ints) -> Floats:
    """Return the score with the record less that of the complement, `(n_pairs, n_records)`; NaN if one is missing."""
    paired = np.flatnonzero(partners > np.arange(len(partners)))
    first, second = scores[paired], scores[partners[paired]]
    with np.errstate(invalid="ignore"):
        difference = np.where(first == second, 0.0, first - second)  # two infinite scores may be equal
    return np.where(inclusion[paired], difference, -difference)


def _by_signs(difference: Floats, weight: float) -> tuple[Floats, Floats]:
    """Return the p-values of the sign test over pairs of complements, and the least that as many pairs can give."""
    won, untied = (difference > 0.0).sum(axis=0), np.abs(difference) > 0.0
    n_pairs, n_untied = (~np.isnan(difference)).sum(axis=0), untied.sum(axis=0)
    tail = np.where(won > 0, special.betainc(weight * np.maximum(won, 1), weight * (n_untied - won) + 1.0, 0.5), 1.0)
    return np.minimum(2.0 * tail, 1.0), np.minimum(2.0 * 0.5 ** (weight * n_pairs), 1.0)


def _by_signed_ranks(difference: Floats) -> tuple[Floats, Floats]:
    """Return the p-values of Wilcoxon's test over pairs of complements, and the least that as many pairs can give."""
    from scipy.stats import rankdata

    n_pairs, untied = (~np.isnan(difference)).sum(axis=0), np.abs(difference) > 0.0
    ranks = rankdata(np.where(untied, np.abs(difference), -1.0), axis=0) - (~untied).sum(axis=0)
    weights = np.rint(2.0 * np.where(untied, ranks, 0.0)).astype(np.int64)
    won = np.where(difference > 0.0, weights, 0).sum(axis=0)
    columns = zip(np.sort(weights, axis=0).T.tolist(), won.tolist(), strict=True)
    p_value = np.array([_signed_rank_tail(tuple(filter(None, column)), own) for column, own in columns])
    return p_value, np.where(n_pairs > 0, 0.5**n_pairs, 1.0)


def _signed_rank_tail(weights: tuple[int, ...], won: int) -> float:
    """Return Pr[sum of a random half of the weights >= won]; for many weights an upper bound on it."""
    if len(weights) <= MAX_EXACT_PAIRS:
        return float(_half_sums(weights)[won])
    spread = math.sqrt(sum(weight**2 for weight in weights))
    return min(1.0, RADEMACHER_RATIO * float(special.ndtr(-(2.0 * won - sum(weights)) / spread)))


@lru_cache(maxsize=16)
def _half_sums(weights: tuple[int, ...]) -> Floats:
    """Return Pr[sum >= s] for s = 0, 1, .., where a fair coin decides whether each weight counts."""
    law = np.zeros(sum(weights) + 1)
    law[0] = 1.0
    for weight in weights:
        law[weight:] = 0.5 * (law[weight:] + law[: len(law) - weight])
        law[:weight] *= 0.5
    return np.asarray(np.cumsum(law[::-1])[::-1])
