"""AUC and true positive rates of membership scores, with intervals.

An interval is about the mean over models of this training and over records like these. Scores of one model are not
independent of each other, nor are scores of one record: a model may have larger losses on all records, a record is hard
for all models, and references are shared. Models (a pair of complements counts as one) and records are two crossed
clusterings, and the variance is at most the sum of those of the two,

    V = V_models + V_records        (Davezies, D'Haultfoeuille and Guyonvarch 2021, Annals of Statistics 49),

each from the influence of the scores, summed over a cluster. The part that is counted twice is not subtracted (as by
Cameron, Gelbach and Miller 2011): with four to six pairs, intervals of 95 % then missed in 7 to 8 %. There are few
models, and the AUC is not linear in them: scores of two models are compared with each other, and two models that differ
have the same influence. Therefore V_models of the AUC is that of the jackknife, which leaves out one model (or pair) at
a time. Quantiles of the AUC are those of Student's t, with one degree of freedom less than there are models, or
records. With
fewer than `MIN_MODELS` independent models the interval is 0 to 1.

With a single model V is DeLong's variance of the AUC, and the interval is about that model: it does not cover the
variation between models of the same training.

Rates have Clopper and Pearson's limits at the effective number of scores n / d, with the design effect d = V / V under
independence (Korn and Graubard 1998).

The true positive rate at a false positive rate x is taken, as usual, above the lowest threshold that at most a share x
of these non-members exceeds. With n non-members and k = floor(x n), the threshold has a false positive rate of
(k + 1) / (n + 1) on average, about x + 1/n, so the true positive rate is biased upwards. Mean of 4,000 repeats, N(2, 1)
against N(0, 1):

    n                 truth       100     1,000    10,000
    x = 1 %           0.372     0.444     0.380     0.373
    x = 0.1 %         0.138     0.320     0.177     0.142

An interval of the share of members above that threshold would miss the truth in 20 to 77 % of the cases at a nominal
5 %, for any n. This interval includes both errors, each at half of the significance: its limits are those of the share
of members above two other thresholds, with false positive rates of at most x, and at least x. It misses in fewer than
1 %, and is about 1.5 times as wide as an interval for a known slope of the curve.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from ....mechanisms.core import Bools, Floats, Ints, ParameterError
from ...bounds.numerics import binomial
from ...evidence.scores import PairScores, Tally

MIN_MODELS = 4
"""Smallest number of independent models for intervals over models. With three pairs, whose models have losses that
shift together, intervals of 80 % missed in 26 % of the cases; with four in 21 %."""
MIN_EXPECTED_FALSE_POSITIVES = 10
"""Expected false positives below which a true positive rate depends on single non-members."""


@dataclass(frozen=True)
class RateAt:
    """The true positive rate at a false positive rate; never interpolated.

    Args:
        fpr: the allowed false positive rate.
        tpr: share of the members above the lowest threshold whose observed false positive rate is at most `fpr`;
            somewhat too high, see the head of this module.
        lower, upper: confidence interval of the true positive rate at a false positive rate of `fpr`.
        false_positives: number of non-members above the threshold.
        resolvable: whether at least 10 false positives are allowed; if not, the rate depends on a few non-members.
    """

    fpr: float
    tpr: float
    lower: float
    upper: float
    false_positives: int
    resolvable: bool


@dataclass(frozen=True, eq=False)
class Pooled:
    """Scores of many models and records, pooled into one array.

    Args:
        scores: `(n,)`, higher = member.
        member: `(n,)` whether the record was in the model.
        model: `(n,)` number of the model; complements count as one.
        record: `(n,)` number of the record.
        entangled: whether two scores of one record may have references that depend on its membership, as for models
            without complements (see records.py): the AUC within a record is then unknown.

    Raises:
        ParameterError: no scores of members, or none of non-members.
    """

    scores: Floats
    member: Bools
    model: Ints
    record: Ints
    entangled: bool = False

    def __post_init__(self) -> None:
        if self.member.all() or not self.member.any():
            raise ParameterError(
                f"scores must be of members and of non-members, but are of {int(self.member.sum())} and "
                f"{int((~self.member).sum())}. Records that an attack cannot compare, such as those in all or in none "
                "of its models, are left out: score more records, or more models.",
                argument="scores",
            )

    @classmethod
    def of(cls, scores: Floats, inclusion: Bools, partners: Ints | None = None, *, entangled: bool = False) -> Pooled:
        """Build from `(n_models, n_records)` matrices; scores that are NaN are left out."""
        scores, inclusion = np.atleast_2d(scores), np.atleast_2d(inclusion)
        if scores.shape != inclusion.shape:
            raise ParameterError(
                f"scores must have the shape of inclusion, {inclusion.shape}, not {scores.shape}.", argument="scores"
            )
        models = np.arange(len(scores))
        group = models if partners is None else np.minimum(models, partners)
        model, record = np.broadcast_arrays(group[:, None], np.arange(scores.shape[1])[None, :])
        valid = ~np.isnan(scores)
        return cls(scores[valid], inclusion[valid], model[valid], record[valid], entangled)

    @property
    def n_in(self) -> int:
        return int(np.count_nonzero(self.member))

    @property
    def n_out(self) -> int:
        return len(self.member) - self.n_in

    @cached_property
    def ordered(self) -> tuple[Floats, Floats]:
        """Scores of non-members and of members, increasing."""
        return np.sort(self.scores[~self.member]), np.sort(self.scores[self.member])

    @cached_property
    def placement(self) -> Floats:
        """Share of the other side that each score is correctly ordered against, `(n,)`, ties as halves."""
        out, in_ = self.ordered
        share = np.empty(len(self.scores))
        for side, others, sign in ((self.member, out, 1), (~self.member, in_, -1)):
            values = self.scores[side]
            below = np.searchsorted(others, values, side="left"), np.searchsorted(others, values, side="right")
            beaten = (below[0] + below[1]) / (2.0 * len(others))
            share[side] = beaten if sign > 0 else 1.0 - beaten
        return share

    @cached_property
    def auc(self) -> float:
        """Probability that a member scores higher than a non-member, ties as halves."""
        return float(self.placement[self.member].mean())

    @cached_property
    def n_models(self) -> int:
        """Number of models; complements count as one."""
        return len(np.unique(self.model))

    @cached_property
    def n_records(self) -> int:
        return len(np.unique(self.record))

    @property
    def too_few_models(self) -> bool:
        """True if there are several models, but too few of them to estimate their variance."""
        return self.n_models < MIN_MODELS and self.n_records < len(self.record)

    def auc_interval(self, confidence: float) -> tuple[float, float]:
        """Return a confidence interval of the AUC; if `entangled`, comparisons within records count as unknown."""
        lower, upper = self._auc_interval(confidence)
        if not self.entangled:
            return lower, upper
        n_in, n_out = (np.bincount(self.record, weights=side) for side in (self.member, ~self.member))
        within = float(n_in @ n_out) / (self.n_in * self.n_out)
        if within > 0.999:
            return 0.0, 1.0
        return max(0.0, (lower - within) / (1.0 - within)), min(1.0, upper / (1.0 - within))

    def _auc_interval(self, confidence: float) -> tuple[float, float]:
        """Return a confidence interval of the AUC, on the scale of its log odds."""
        if self.too_few_models:
            return 0.0, 1.0
        size = np.where(self.member, self.n_in, self.n_out)
        influence = (self.placement - self.auc) / size * np.sqrt(size / np.maximum(size - 1, 1))
        models, freedom = self._jackknife(), self._freedom()
        error = math.sqrt(max(models + _clustered(influence, self.record, self.n_records), float(np.sum(influence**2))))
        tail = 0.5 * (1.0 - confidence)
        if not 0.0 < self.auc < 1.0 or error == 0.0:
            margin = 1.0 - float(tail ** (1.0 / min(self.n_in, self.n_out)))
            return max(0.0, self.auc - margin), min(1.0, self.auc + margin)
        reach = _quantile(1.0 - tail, freedom) * error / (self.auc * (1.0 - self.auc))
        centre = math.log(self.auc / (1.0 - self.auc))
        return float(special.expit(centre - reach)), float(special.expit(centre + reach))

    def rate_at(self, fpr: float, confidence: float) -> RateAt:
        """Return the true positive rate at a false positive rate."""
        above, tail = self.scores > self.threshold_at(fpr), 0.25 * (1.0 - confidence)
        lower, upper = (0.0, 1.0) if self.too_few_models else self._rate_limits(fpr, tail)
        return RateAt(
            fpr=fpr,
            tpr=float(np.mean(above[self.member])),
            lower=lower,
            upper=upper,
            false_positives=int(np.count_nonzero(above & ~self.member)),
            resolvable=self.n_out * fpr >= MIN_EXPECTED_FALSE_POSITIVES * (1.0 - 1e-12),
        )

    def threshold_at(self, fpr: float) -> float:
        """Return the lowest threshold that at most a share `fpr` of the non-members exceeds."""
        allowed = math.floor(fpr * self.n_out * (1.0 + 1e-12))
        return -math.inf if allowed >= self.n_out else float(self.ordered[0][self.n_out - 1 - allowed])

    def design_effect(self, hit: Bools, side: Bools) -> float:
        """Return the variance of the share of hits on one side over that of independent scores, at least 1."""
        n = int(np.count_nonzero(side))
        share = np.count_nonzero(hit & side) / n
        if share in (0.0, 1.0):
            return 1.0
        influence = np.where(side, hit - share, 0.0) / n
        return max(1.0, self._variance(influence) / (share * (1.0 - share) / n))

    def best(self) -> tuple[float, float]:
        """Return (advantage, threshold): the largest TPR - FPR over all thresholds of these scores, optimistic."""
        out, in_ = self.ordered
        thresholds = np.unique(self.scores)
        gap = np.searchsorted(out, thresholds) / len(out) - np.searchsorted(in_, thresholds) / len(in_)
        place = int(np.argmax(gap))
        return float(gap[place]), float(thresholds[place])

    def held_out_advantage(self) -> float:
        """Return TPR - FPR at thresholds chosen on the other half of the models, or of the records of one model."""
        unit = self.model if self.n_models > 1 else self.record
        half = np.unique(unit, return_inverse=True)[1] % 2 == 0
        gaps = []
        for test in (half, ~half):
            if len(np.unique(self.member[test])) < 2 or len(np.unique(self.member[~test])) < 2:
                return math.nan
            _, threshold = self.part(~test).best()
            hit = self.scores[test] >= threshold
            gaps.append(hit[self.member[test]].mean() - hit[~self.member[test]].mean())
        return float(np.mean(gaps))

    def tally(self, size: int = 300) -> Tally:
        """Return hits on both sides at about `size` thresholds, evenly spaced in the log of the false positives."""
        whole = PairScores(*self.ordered).tally
        false_positives = np.geomspace(0.5, self.n_out, size // 2)
        by_out = len(whole.hits_out) - 1 - np.searchsorted(whole.hits_out[::-1], false_positives, side="left")
        none = np.flatnonzero(whole.hits_out == 0)  # thresholds that no non-member reaches
        few = none[np.linspace(0, len(none) - 1, min(len(none), size // 4)).astype(np.int64)] if len(none) else none
        at = np.unique(np.clip(np.concatenate([[0], by_out, by_out + 1, few]), 0, len(whole.thresholds) - 1))
        return Tally(whole.thresholds[at], whole.hits_out[at], whole.hits_in[at], whole.n_out, whole.n_in)

    def _rate_limits(self, fpr: float, tail: float) -> tuple[float, float]:
        """Return limits of the true positive rate, each wrong with probability 2 `tail`: threshold plus share."""
        strict, loose = self._thresholds(fpr, tail)
        return (
            float(binomial.lower(*self._effective(self.scores > strict), tail)),
            float(binomial.upper(*self._effective(self.scores >= loose), tail)),
        )

    def _thresholds(self, fpr: float, tail: float) -> tuple[float, float]:
        """Return thresholds that at most a share `fpr` of all possible non-members exceeds, and at least `fpr` reaches.

        Each is wrong with probability `tail`: the confidence limit of the share of these non-members is `fpr`.
        """
        n = self.n_out
        hit = self.scores > self.threshold_at(max(fpr, MIN_EXPECTED_FALSE_POSITIVES / n))
        d = self.design_effect(hit, ~self.member)
        few = bisect_right(range(n + 1), fpr, key=lambda k: float(binomial.upper(k / d, n / d, tail)))
        many = bisect_left(range(n + 1), fpr, key=lambda k: float(binomial.lower(k / d, n / d, tail)))
        ordered = np.concatenate([[-math.inf], self.ordered[0], [math.inf]])
        return float(ordered[n + 1 - few]), float(ordered[n + 1 - many])

    def _effective(self, hit: Bools) -> tuple[float, float]:
        """Return the effective numbers of hits among members, and of members, for independent scores."""
        effective = self.n_in / self.design_effect(hit, self.member)
        return float(np.mean(hit[self.member])) * effective, effective

    def part(self, rows: Bools) -> Pooled:
        """Return the scores of these rows."""
        return Pooled(self.scores[rows], self.member[rows], self.model[rows], self.record[rows], self.entangled)

    def _variance(self, influence: Floats) -> float:
        """Return the variance of the sum of the influences, clustered by model and by record."""
        single = float(np.sum(influence**2))
        models = _clustered(influence, self.model, self.n_models)
        return max(models + _clustered(influence, self.record, self.n_records), single)

    def _jackknife(self) -> float:
        """Return the variance of the AUC over models: (G - 1) / G times the sum of squares of the leave-one-out AUCs.

        The wins without model g are all wins, less those of its members against all, less those of all against its
        non-members, plus those of its members against its non-members, which were subtracted twice.
        """
        models, group = np.unique(self.model, return_inverse=True)
        n = len(models)
        if n == 1:
            return 0.0
        size_in, size_out = (np.bincount(group[side], minlength=n) for side in (self.member, ~self.member))
        placed_in, placed_out = (
            np.bincount(group[side], self.placement[side], minlength=n) for side in (self.member, ~self.member)
        )
        own = np.array([_wins(self.scores[g], self.member[g]) for g in (group == k for k in range(n))])
        won = self.auc * self.n_in * self.n_out - placed_in * self.n_out - placed_out * self.n_in + own
        pairs = (self.n_in - size_in) * (self.n_out - size_out)
        without = np.where(pairs > 0, won / np.maximum(pairs, 1), self.auc)
        return float((n - 1) / n * np.sum((without - without.mean()) ** 2))

    def _freedom(self) -> float:
        """Return the degrees of freedom: clusters less one; infinite with a single model."""
        return math.inf if self.n_models == 1 else float(min(self.n_models, self.n_records) - 1)


def _wins(scores: Floats, member: Bools) -> float:
    """Return the number of pairs of a member and a non-member that the member wins, ties as halves."""
    out, in_ = np.sort(scores[~member]), scores[member]
    return 0.5 * float(np.sum(np.searchsorted(out, in_, side="left") + np.searchsorted(out, in_, side="right")))


def _clustered(influence: Floats, cluster: Ints, n: int) -> float:
    """Return the sum of squared sums of n clusters, corrected for their number; 0 for one, which has no variance."""
    if n == len(influence):
        return float(np.sum(influence**2))
    return float(np.sum(np.bincount(cluster, weights=influence) ** 2)) * n / (n - 1) if n > 1 else 0.0


def _quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t, or of the normal distribution for infinite degrees of freedom."""
    return float(special.ndtri(probability) if math.isinf(freedom) else special.stdtrit(freedom, probability))
