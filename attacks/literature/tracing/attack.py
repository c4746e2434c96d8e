"""Tracing as an attack on a pair, so that an audit converts it to an epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import AttackError, Floats, Outputs, one_of_names
from ....mechanisms.literature.studies.column_means import ColumnMeans
from ....mechanisms.literature.studies.populations import Study
from ...base import Attack, Scorer, Target
from .base import TracingStatistic, varying
from .statistics import WEIGHTS, ExactLikelihoodRatio, InnerProduct, catalogue

MECHANISM_STATISTICS = ("inner-product", "exact-likelihood-ratio")
"""Statistics whose options are set from the mechanism."""


@dataclass(frozen=True, kw_only=True)
class Tracing(Attack):
    """Score of published means: evidence that one person, whose row is known, is in the study.

    The pair is of two `Study`s: side 1 has the person, on side 0 a non-member takes the person's place. The attack
    knows the person, the public frequencies and the mechanism; the other people are drawn from the population in every
    run.

    Args:
        statistic: a name in `dpassay.attacks.literature.tracing.statistics`: "inner-product", "homer",
            "truncated-product", "likelihood-ratio" or "exact-likelihood-ratio".
        weights: weights of the inner product: "best", "uniform" or "fingerprinting".

    Raises:
        ParameterError: an unknown name.
        AttackError: the pair is not one of studies, side 1 has no person, or no column varies.

    Guarantees:
        * The score is determined by mechanism and pair; nothing is learned from the pilot.
        * "exact-likelihood-ratio" is the likelihood ratio of the pair if side 0 consists of non-members only.

    References:
        Homer et al. (2008); Sankararaman et al. (2009); Dwork, Smith, Steinke, Ullman and Vadhan (2015).

    Example:
        >>> from dpassay.mechanisms.literature.studies import ConstantFrequencies
        >>> means = ColumnMeans(10, 2, noise="none", population=ConstantFrequencies())
        >>> target, nothing = Target(means, means.worst_case()), Outputs(np.empty((0, 2)))
        >>> scorer = Tracing(statistic="homer").fit(target, nothing, nothing, np.random.default_rng(0))
        >>> person = target.neighbours.d1.person
        >>> scorer.score(Outputs(np.array([person, 1 - person, [0.5, 0.5]]))).tolist()
        [1.0, -1.0, 0.0]
    """

    minimum_pilot: ClassVar[int] = 0

    statistic: Annotated[str, one_of_names(*catalogue)] = "inner-product"
    weights: Annotated[str, one_of_names(*WEIGHTS)] = "best"

    def check(self, target: Target) -> None:
        """Raise `AttackError` unless side 1 is a study with a person, some of whose columns vary."""
        study = target.neighbours.d1
        if not isinstance(study, Study) or study.person is None:
            raise AttackError(
                "tracing needs a pair of studies, of which side 1 has a person: Neighbours(Study(p), Study(p, person), "
                "'replace_one'), or population = {name = ...} of column-means. Use attack='likelihood-ratio' if all "
                "other records are known."
            )
        varying(study.frequencies)
        if not isinstance(target.mechanism, ColumnMeans) and self.statistic in MECHANISM_STATISTICS:
            raise AttackError(
                f"statistic {self.statistic!r} needs to know how the means are published, but the mechanism is "
                f"{type(target.mechanism).__name__}. Use statistic='homer' or 'truncated-product'."
            )

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        self.check(target)
        study = target.neighbours.d1
        return TracingScorer(self._statistic(target), study.frequencies, study.person)

    def _statistic(self, target: Target) -> TracingStatistic:
        means = target.mechanism
        if isinstance(means, ColumnMeans):
            if self.statistic == "inner-product":
                return InnerProduct(
                    weights=self.weights, n_records=means.n_records, standard_deviation=means.standard_deviation
                )
            if self.statistic == "exact-likelihood-ratio":
                return ExactLikelihoodRatio(means)
        statistic: TracingStatistic = catalogue.build(self.statistic)
        return statistic


@dataclass(frozen=True, eq=False)
class TracingScorer:
    """Scorer that returns the statistic of one person.

    Args:
        statistic: statistic of the means.
        frequencies: public frequencies, `(d,)`.
        person: row of the person, `(d,)`.
    """

    statistic: TracingStatistic
    frequencies: Floats
    person: NDArray[np.uint8]

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs` `(size, d)`, shape `(size,)`."""
        linear = self.statistic.linear(outputs.values, self.frequencies)
        return np.asarray(linear.slopes @ self.person + linear.intercept, dtype=np.float64)
