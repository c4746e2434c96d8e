"""Comparisons of the signal of a record: with other records under the same model, or with other models on the record.

AttackP                 share of other records that the target model predicts worse
AttackR                 share of other models that predict the record no better
DifficultyCalibration   the signal minus its typical value for models without the record
Exposure                rank of the record among candidates, in bits
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...mechanisms.core import Floats, one_of_names
from .base import MembershipAttack
from .shadows import Shadows


@dataclass(frozen=True)
class AttackP(MembershipAttack):
    """Share of the population that the target model predicts worse than the record.

    The population is the set of records that no model was trained on, if the shadows have some: a threshold of 1 - a
    then has false positive rate a. Otherwise it is the other scored records, including members: the order of the scores
    is the same, but the threshold has no meaning.

    Args:
        signal: any signal.

    References:
        Ye, Maddi, Murakonda, Bindschaedler and Shokri (2022), "Enhanced membership inference attacks against machine
        learning models", CCS, attack P.
    """

    name: ClassVar[str] = "attack-p"
    any_signal: ClassVar[bool] = True

    signal: str = "loss"

    def scores_of(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.signal)
        population = None if shadows.population is None else shadows.population.signal(self.signal)
        return share_below(values, values if population is None else population, disjoint=population is not None)


def share_below(values: Floats, population: Floats, *, disjoint: bool) -> Floats:
    """Return the share of the population strictly below each value, model by model: one sort and one search.

    Args:
        values: `(n_models, n_records)` values to compare.
        population: `(n_models, n_population)` values of the population.
        disjoint: whether the population and the records are disjoint; otherwise the population is the records, and a
            record is not compared with itself (`values` must then be no higher than the population values).
    """
    size = population.shape[1] - (0 if disjoint else 1)
    below = [np.searchsorted(np.sort(z), v, side="left") for z, v in zip(population, values, strict=True)]
    return np.asarray(np.array(below) / max(size, 1))


@dataclass(frozen=True)
class AttackR(MembershipAttack):
    """Share of the models without the record that predict it no better than the target does.

    With few references the score takes few values and has no power at low false positive rates; smoothed by a normal
    law of the rescaled logit it becomes LiRA's offline-tail.

    Args:
        signal: any signal.

    Guarantees:
        * with one reference the score is 1 exactly where the calibrated score is >= 0.

    References:
        Ye et al. (2022), attack R.
    """

    name: ClassVar[str] = "attack-r"
    minimum_references = 1
    references = "out"
    any_signal: ClassVar[bool] = True

    signal: str = "loss"

    def scores_of(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.signal)
        count = shadows.others(values).count
        models = np.arange(len(shadows))
        n_no_better = np.zeros(values.shape)
        for j in models:
            is_reference = ~shadows.inclusion[j] & ((models != j) & (shadows.partners != j))[:, None]
            n_no_better += is_reference & (values >= values[j])
        return np.where(count > 0, n_no_better / np.maximum(count, 1), np.nan)


OFFSETS = ("out-mean", "out-median", "in-mean", "midpoint")


@dataclass(frozen=True)
class DifficultyCalibration(MembershipAttack):
    """A signal of the target model minus an offset of the record, which corrects for the difficulty of the record.

        score = s(target; x) - offset(x)

    Args:
        signal: any signal.
        offset: "out-mean" over models without the record (Watson et al.), "out-median", "in-mean" over models with it,
            or "midpoint" of both means, a threshold for each record (MALT, Sablayrolles et al.).

    Guarantees:
        * signals N(1, 1) of members and N(0, 1) of non-members, m references: TPR at 1 % FPR is
          Phi(1 / sqrt(1 + 1/m) - 2.3263); 0.0527 for one reference, 0.0924 for many.

    References:
        Watson, Guo, Cormode and Sablayrolles (2022), "On the importance of difficulty calibration in membership
        inference attacks", ICLR, equation (2).
        Sablayrolles et al. (2019), "White-box vs black-box: Bayes optimal strategies for membership inference", ICML,
        section 4.
    """

    name: ClassVar[str] = "calibration"
    any_signal: ClassVar[bool] = True
    other_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({"offset": "out-mean"}, {"offset": "in-mean"})

    signal: str = "loss"
    offset: Annotated[str, one_of_names(*OFFSETS)] = "out-mean"

    @property
    def minimum_references(self) -> int:
        return 2 if self.offset == "midpoint" else 1

    @property
    def references(self) -> str:
        return {"in-mean": "in", "midpoint": "both"}.get(self.offset, "out")

    def scores_of(self, shadows: Shadows) -> Floats:
        return shadows.signal(self.signal) - self._offset(shadows)

    def _offset(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.signal)
        if self.offset == "out-median":
            return shadows.others(values).median
        if self.offset == "out-mean":
            return shadows.others(values).mean
        in_mean = shadows.others(values, which="in").mean
        return in_mean if self.offset == "in-mean" else 0.5 * (in_mean + shadows.others(values).mean)


@dataclass(frozen=True)
class Exposure(MembershipAttack):
    """log2 of the number of candidates minus log2 of the rank of the record among them, by loss.

    The candidates are the record and the population, which no model was trained on. For a canary drawn uniformly from
    a space the population must be the rest of that space, or a sample of it.

    Args:
        signal: any signal, such as the loss (log perplexity).

    Guarantees:
        * the first of 1024 candidates has 10 bits; a canary that was never in has 1 / ln 2 = 1.443 bits on average,
          for many candidates.

    References:
        Carlini, Liu, Erlingsson, Kos and Song (2019), "The secret sharer", USENIX Security, definition 5.
    """

    name: ClassVar[str] = "exposure"
    needs_population: ClassVar[bool] = True

    signal: str = "loss"

    def scores_of(self, shadows: Shadows) -> Floats:
        assert shadows.population is not None  # `score` has checked
        return exposure(shadows.signal(self.signal), shadows.population.signal(self.signal))


def exposure(canaries: ArrayLike, alternatives: ArrayLike) -> Floats:
    """Return the exposure in bits of each canary among alternatives; higher signal = more likely.

    Args:
        canaries: `(..., n_canaries)` signals.
        alternatives: `(..., n_alternatives)` signals of candidates that were never in; in a tie the canary ranks lower.

    Returns:
        Exposure, `(..., n_canaries)`, from 0 to log2(n_alternatives + 1).

    Example:
        >>> exposure([5.0, -1.0], np.arange(3.0))
        array([2., 0.])
    """
    values, others = (np.asarray(a, dtype=np.float64) for a in (canaries, alternatives))
    size = others.shape[-1]
    flat = zip(values.reshape(-1, values.shape[-1]), others.reshape(-1, size), strict=True)
    above = np.array([size - np.searchsorted(np.sort(other), value, side="left") for value, other in flat])
    return np.asarray(np.log2(size + 1.0) - np.log2(1.0 + above.reshape(values.shape)))
