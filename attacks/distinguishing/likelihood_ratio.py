"""The likelihood-ratio attack: the best possible attack if the output law is known, or assumed by the auditor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...mechanisms.core import AttackError, Bools, Floats, LogDensity, Mechanism, Outputs, ParameterError, plural
from ..base import Attack, Scorer, Target

SCORE_RESOLUTION = 2.0**-30
"""Scores are rounded to multiples of this (about 1e-9); see `LikelihoodRatioScorer`."""


@dataclass(frozen=True, kw_only=True)
class LikelihoodRatio(Attack):
    """Score of an output: its log likelihood ratio, log p1(output) - log p0(output).

    No test of side 0 against side 1 has more power at any false positive rate (Neyman and Pearson, 1933), so if
    this attack shows nothing on a pair, no attack can. It reads `mechanism.output_law()` and learns nothing: pilot
    outputs are not used.

    Raises:
        AttackError: the output law of the mechanism is not known.

    Guarantees:
        * optimal when `output_law` is the law that `release` draws from; valid for any law, because the score
          is fixed before the trials;
        * an output that is impossible on one side only scores +inf or -inf; impossible on both, 0; never NaN.

    References:
        Neyman and Pearson (1933), "On the problem of the most efficient tests of statistical hypotheses", lemma.

    Example:
        >>> import numpy as np
        >>> from dpassay.mechanisms.core.base import Outputs
        >>> from dpassay.mechanisms.noise.laplace import Laplace
        >>> mechanism = Laplace(epsilon=1.0)
        >>> target, nothing = Target(mechanism, mechanism.worst_case()), Outputs(np.empty(0))
        >>> scorer = LikelihoodRatio().fit(target, nothing, nothing, np.random.default_rng(0))
        >>> scorer.score(Outputs(np.array([-9.0, 0.5, 9.0]))).round(6).tolist()
        [-1.0, 0.0, 1.0]
    """

    minimum_pilot: ClassVar[int] = 0

    def check(self, target: Target) -> None:
        _law_of(target)

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        return LikelihoodRatioScorer(_law_of(target), target.neighbours.d0, target.neighbours.d1)


def _law_of(target: Target) -> LogDensity:
    return required_law(target.mechanism, "likelihood-ratio", "attack='classifier', which learns from pilot runs")


def required_law(mechanism: Mechanism, attack: str, other: str) -> LogDensity:
    """Return the output law; raise `AttackError`, which proposes the `other` attack, if it is not known."""
    law = mechanism.output_law()
    if law is None:
        raise AttackError(
            f"the {attack} attack needs the output law, but the law of {type(mechanism).__name__} is not known: its "
            f"output_law() is None. Use {other}, or give the mechanism an output_law."
        )
    return law


@dataclass(frozen=True, eq=False)
class LikelihoodRatioScorer:
    """Scorer that returns log p1 - log p0, rounded to multiples of 2^-30.

    A ratio often takes one value with positive probability: for Laplace noise it is +-epsilon in both tails. Computed
    as a difference, such an atom splits into values that differ in their last bits, and a threshold learned on the
    pilot cuts through it. Rounding restores the ties. It is a fixed non-decreasing map, so validity is not affected,
    and 1e-9 is far below any epsilon that trials can resolve.

    Args:
        law: law of the outputs.
        d0, d1: the datasets of side 0 and side 1.
    """

    law: LogDensity
    d0: Any
    d1: Any

    scores_log_ratios: ClassVar[bool] = True

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, natural logarithms."""
        log_p0, log_p1 = self._log_density(outputs, self.d0), self._log_density(outputs, self.d1)
        with np.errstate(invalid="ignore"):
            scores = np.subtract(log_p1, log_p0, dtype=np.float64)
            undefined = scores.size > 0 and np.isnan(scores.max())
        if undefined:
            scores[_both_infinite(log_p0, log_p1, self.law)] = 0.0
        with np.errstate(over="ignore"):  # scores beyond 1e300 are infinite
            scores *= 1.0 / SCORE_RESOLUTION
        np.rint(scores, out=scores)
        scores *= SCORE_RESOLUTION
        return scores

    def _log_density(self, outputs: Outputs, dataset: Any) -> Floats:
        """Return the log density, its shape checked."""
        result = np.asarray(self.law.log_density(outputs, dataset))
        if result.shape != (len(outputs),):
            raise AttackError(
                f"{type(self.law).__name__}.log_density must return one number per run, shape ({len(outputs)},), "
                f"but returned shape {result.shape}. Sum it over the coordinates of an output."
            )
        return result


def _both_infinite(log_p0: Floats, log_p1: Floats, law: LogDensity) -> Bools:
    """Return a mask where both are the same infinity, so that their difference is undefined; raise if one is NaN."""
    undefined = np.isnan(log_p0) | np.isnan(log_p1)
    if undefined.any():
        raise AttackError(
            f"{type(law).__name__}.log_density is NaN for {np.count_nonzero(undefined)} of "
            f"{plural(len(undefined), 'output')}. It must be a number, or -inf where an output is impossible. Fix it, "
            "or use attack='classifier'."
        )
    both: Bools = np.isinf(log_p0) & (log_p0 == log_p1)
    return both


@dataclass(frozen=True, kw_only=True)
class AssumedLaw(Attack):
    """Scores an output by log p1(output) - log p0(output) under a law given by the auditor.

    A plain function has no `output_law`, but an auditor who reads its code often knows or can guess the law: for
    example, numpy's Laplace noise of scale 10 on a sum. The law is given as a mechanism of the library; if that
    mechanism has the law of floating-point noise, the score uses the outputs down to the last bit.

    Args:
        law: of the outputs, with a method `log_density(outputs, dataset)`, such as a mechanism with a `query` that
            computes the noise-free answers of the datasets.

    Raises:
        ParameterError: `law` has no `log_density`.

    Guarantees:
        * The bound is valid whatever the law is, because the score is fixed before the trials. A wrong law makes the
          bound smaller, and outputs that are impossible under both datasets are not used.

    Example:
        >>> from dpassay.audit import audit
        >>> from dpassay.mechanisms import Neighbours, PureDP
        >>> from dpassay.mechanisms.noise.broken_floats import FloatLaplace
        >>> def noisy_sum(records, size, rng):
        ...     return np.sum(records) + rng.laplace(0.0, 10.0, size=size)
        >>> pair = Neighbours(np.zeros(1), np.array([0.0, 1.0]), "add_remove")
        >>> attack = AssumedLaw(law=FloatLaplace(epsilon=0.1, sampler="numpy", query=np.sum))
        >>> result = audit(noisy_sum, pair, claim=PureDP(0.1), delta=0.0, attack=attack, trials=5000, seed=0)
        >>> result.verdict.value, result.bound.epsilon > 5.0
        ('violation', True)
    """

    law: LogDensity

    minimum_pilot: ClassVar[int] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(getattr(self.law, "log_density", None)):
            raise ParameterError(
                f"law must have a method log_density(outputs, dataset), such as Laplace(epsilon=0.1), but is "
                f"{self.law!r}.",
                argument="law",
            )

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        return LikelihoodRatioScorer(self.law, target.neighbours.d0, target.neighbours.d1)
