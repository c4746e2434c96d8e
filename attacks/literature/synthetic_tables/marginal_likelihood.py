"""The marginal-likelihood attack: likelihood ratio of the counts in the record's cells of some marginals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np

from ....mechanisms.core import AttackError, Floats, Outputs, ParameterError, one_of_names
from ...base import Scorer, Target
from .base import TableAttack, differing, in_chunks, tables_of
from .generated_queries import AgreementCounts, Query

COUNT_LAWS = ("independent", "pooled")
MIN_COUNT_VARIANCE = 0.25
"""Smallest variance of a count: roughly that of rounding."""
SHRINKAGE = 0.1
"""Shrinkage of pooled covariances towards their diagonal."""


@dataclass(frozen=True, kw_only=True)
class MarginalLikelihood(TableAttack):
    """Log likelihood ratio of the counts in the record's cells of some marginals, by normal laws from the pilot.

    For a generator that is known to learn from certain marginals: the record changes only its own cell of a marginal
    with a cell for each combination of values. The exact ratio is that of the measured answers, if they are released
    (`LikelihoodRatio`); here they are observed through the synthetic table.

    Args:
        marginals: sets of column indices; None: all single columns and all pairs.
        law: "independent", each count normal with mean and variance of each side; "pooled", all of them jointly normal
            with the mean of each side and one covariance, shrunk by a tenth towards its diagonal.

    Raises:
        ParameterError: an unknown law, no marginal, or a marginal without columns.
        AttackError: the pair or the outputs are not tables, a column does not exist, or fewer than 30 pilot
            tables on a side.

    References:
        The score of Homer et al. (2008) and its likelihood-ratio form, on marginals; for generators from marginals:
        Golob, Pentyala, Maratkhan and De Cock (2024), "Privacy vulnerabilities in marginals-based synthetic data".

    Example:
        >>> from dpassay.mechanisms import Gaussian, Neighbours
        >>> rng, table = np.random.default_rng(0), np.array([[0, 0], [1, 1], [0, 1]])
        >>> pair = Neighbours(table[1:], table, "add_remove")
        >>> draw = lambda data, size: Outputs(data[rng.integers(len(data), size=(size, 3))])
        >>> attack, target = MarginalLikelihood(), Target(Gaussian(noise_multiplier=1.0), pair)
        >>> scorer = attack.fit(target, draw(pair.d0, 200), draw(pair.d1, 200), rng)
        >>> without, with_ = scorer.score(Outputs(np.array([[[1, 1], [1, 1]], [[0, 0], [1, 1]]])))
        >>> bool(with_ > without)
        True
    """

    minimum_pilot: ClassVar[int] = 30

    marginals: tuple[Query, ...] | None = None
    law: Annotated[str, one_of_names(*COUNT_LAWS)] = "independent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.marginals is not None:
            object.__setattr__(self, "marginals", tuple(tuple(marginal) for marginal in self.marginals))
            if not self.marginals or not all(self.marginals):
                raise ParameterError(
                    argument="marginals", value=self.marginals, allowed="hold at least one set of at least one column"
                )

    def check(self, target: Target) -> None:
        """Raise `AttackError` if a column of the marginals does not exist, too."""
        super().check(target)
        self._queries(differing(target.neighbours)[1].shape[1])

    def supports(self, target: Target) -> bool:
        """Return False: the user must choose the measured marginals; generated queries use all of them."""
        return False

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        self.check(target)
        self._check_pilot(pilot0, pilot1)
        tables = [tables_of(pilot, target.neighbours) for pilot in (pilot0, pilot1)]
        only0, only1 = differing(target.neighbours)
        counts = AgreementCounts.of_records(np.concatenate([only1, only0]), tables, self._queries(only1.shape[1]))
        return _scorer(counts, *(in_chunks(counts, side) for side in tables), pooled=self.law == "pooled")

    def _queries(self, d: int) -> tuple[Query, ...]:
        """Return the marginals; raise `AttackError` if a column does not exist."""
        if self.marginals is None:
            return (*((j,) for j in range(d)), *combinations(range(d), 2))
        if not all(column in range(d) for marginal in self.marginals for column in marginal):
            raise AttackError(
                f"marginals must name columns from 0 to {d - 1}, but are {self.marginals!r}.", argument="marginals"
            )
        return self.marginals


@dataclass(frozen=True, eq=False)
class NormalScorer:
    """Scorer that returns the log ratio of two normal laws of the counts: constant + linear + squares.

    Args:
        counts: features of a table.
        linear, squares: `(n_counts,)` coefficients.
        constant: added to every score.
    """

    counts: AgreementCounts
    linear: Floats
    squares: Floats
    constant: float

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, natural logarithms."""
        x = in_chunks(self.counts, outputs.values)
        score = np.einsum("ij,j->i", x, self.linear) + np.einsum("ij,j->i", x**2, self.squares) + self.constant
        return np.asarray(score)


def _scorer(counts: AgreementCounts, x0: Floats, x1: Floats, *, pooled: bool) -> NormalScorer:
    mean0, mean1 = x0.mean(axis=0), x1.mean(axis=0)
    if pooled:
        centred = np.concatenate([x0 - mean0, x1 - mean1])
        covariance = centred.T @ centred / (len(centred) - 2)
        variances = np.maximum(np.diag(covariance), MIN_COUNT_VARIANCE)
        covariance = (1.0 - SHRINKAGE) * (covariance - np.diag(np.diag(covariance))) + np.diag(variances)
        linear = np.linalg.solve(covariance, mean1 - mean0)
        return NormalScorer(counts, linear, np.zeros_like(linear), -0.5 * float(linear @ (mean0 + mean1)))
    variance0, variance1 = (np.maximum(x.var(axis=0, ddof=1), MIN_COUNT_VARIANCE) for x in (x0, x1))
    squares = 0.5 / variance0 - 0.5 / variance1
    linear = mean1 / variance1 - mean0 / variance0
    constant = 0.5 * np.sum(mean0**2 / variance0 - mean1**2 / variance1 + np.log(variance0 / variance1))
    return NormalScorer(counts, linear, squares, float(constant))
