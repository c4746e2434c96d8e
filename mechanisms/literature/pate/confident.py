"""GNMax after a noisy check that enough teachers agree."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from ...accounting import GaussianDP
from ...core import Finite, Guarantee, ParameterError, Positive, PositiveInt, UnitInterval, example, whole
from ...core.arrays import Bools, Floats, Ints
from .aggregator import ABSTAINED, Aggregator, log_total
from .renyi import CHECK_DEVIATION_RATIO, gaussian_divergences, log_check_miss, log_gaussian_miss
from .vote_counts import Counts
from .winners import log_gaussian_winner


@dataclass(frozen=True)
class CheckedGNMax(Aggregator):
    """Base class of GNMax with a check: GNMax answers if support + N(0, check_deviation^2) >= threshold.

    Args:
        threshold: T, votes.
        check_deviation: sigma_1 of the check, > 0; a moved vote changes the support by 1.
        answer_deviation: sigma_2 of the answer, > 0; a moved vote changes the votes by sqrt(2) in L2 norm.
        n_teachers, n_classes, n_queries: see `Aggregator`.
    """

    _example = example(threshold=4.0, check_deviation=2.0, answer_deviation=3.0, n_teachers=6, n_classes=3, n_queries=2)

    threshold: Finite
    check_deviation: Positive
    answer_deviation: Positive

    def support(self, counts: Counts) -> Floats:
        """Return the quantity that is checked, `(n_queries,)`: the number of votes of the leading label."""
        return np.asarray(counts.max(axis=1), dtype=np.float64)

    def otherwise(self) -> Ints:
        """Return the label of each query if the check fails, `(n_queries,)`: no answer."""
        return np.full(self.n_queries, ABSTAINED)

    def passes(self, counts: Counts, size: int, rng: np.random.Generator) -> Bools:
        """Return whether the teachers answer each query, `(size, n_queries)`."""
        noisy = rng.standard_normal((size, self.n_queries))
        noisy *= self.check_deviation
        noisy += self.support(counts)
        passed: Bools = noisy >= self.threshold
        if self.most_answers is not None:
            passed &= np.cumsum(passed, axis=1) <= self.most_answers
        return passed

    def answers(self, counts: Counts, size: int, rng: np.random.Generator) -> Ints:
        passed = self.passes(counts, size, rng)
        labels = np.tile(self.otherwise(), (size, 1))
        queries = np.nonzero(passed)[1]
        noisy = rng.standard_normal((len(queries), self.n_classes))
        noisy *= self.answer_deviation
        noisy += counts[queries]
        labels[passed] = noisy.argmax(axis=1)
        return labels

    def log_passes(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return the log probabilities that the check passes and that it fails, `(n_queries,)` each."""
        distance = (self.support(counts) - self.threshold) / self.check_deviation
        return log_ndtr(distance), log_ndtr(-distance)

    def log_labels(self, counts: Counts) -> Floats:
        passes, fails = self.log_passes(counts)
        table = np.full((self.n_queries, self.n_classes + 1), -np.inf)
        table[:, :-1] = passes[:, None] + log_gaussian_winner(counts, self.answer_deviation)
        fallback = np.arange(self.n_queries), self.otherwise()
        table[fallback] = log_total(table[fallback], fails)
        return table

    def divergences(self, counts: Counts, answered: Bools, orders: Floats) -> Floats:
        """Return the sum of the divergences of the check of every query and of the released answers."""
        check = CHECK_DEVIATION_RATIO * self.check_deviation
        miss = log_check_miss(self.support(counts) - self.threshold, self.check_deviation)
        sd = self.answer_deviation
        answers = gaussian_divergences(log_gaussian_miss(counts, sd), sd, orders)
        return gaussian_divergences(miss, check, orders) + np.where(answered[:, None], answers, 0.0)

    def rho(self, n_answered: int) -> float:
        """Return the zCDP parameter n_queries / (2 sigma_1^2) + n_answered / sigma_2^2 of all checks and answers.

        Example:
            >>> check = ConfidentGNMax(200.0, 150.0, 40.0, n_queries=640)
            >>> round(check.rho(286), 6)
            0.192972
        """
        whole(0, n_answered=n_answered)
        return self.n_queries / (2.0 * self.check_deviation**2) + n_answered / self.answer_deviation**2

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(sqrt(2 rho))` for the largest possible number of answers, an upper bound."""
        n_answers = self.n_queries if self.most_answers is None else min(self.most_answers, self.n_queries)
        return GaussianDP(math.sqrt(2.0 * self.rho(n_answers)), self.relation, exact=False)


@dataclass(frozen=True)
class ConfidentGNMax(CheckedGNMax):
    """Confident-GNMax: if max_j n_j + N(0, sigma_1^2) >= T, the answer of GNMax with sigma_2; else no answer.

    (Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson 2018, algorithm 1.) The absence of an answer depends on
    the votes too: the check of every query is accounted for, even if it fails.

    Args:
        threshold: T, votes; usually 0.6 to 0.8 of n_teachers.
        check_deviation: sigma_1, > 0.
        answer_deviation: sigma_2, > 0.
        max_answers: number of answers after which no further query is asked, >= 1; None for no limit. The claim
            accounts for the largest possible number of answers, so that a limit makes it smaller.
        n_teachers, n_classes, n_queries: see `Aggregator`.

    Guarantees:
        * mu-Gaussian DP with mu^2 = n_queries / sigma_1^2 + 2 n_answers / sigma_2^2, n_answers being max_answers or
          n_queries, for adaptive queries (Smith and Thakurta 2022). All noisy numbers of a run are increments of one
          Brownian motion with the drift 0 or 1 of the side, over times that add up to at most mu^2; its value at mu^2
          is sufficient.
          In zCDP, n_queries / (2 sigma_1^2) + n_answers / sigma_2^2.
        * An upper bound: a label leaks less than the noisy votes.

    Example:
        >>> mechanism = ConfidentGNMax(threshold=200.0, check_deviation=150.0, answer_deviation=40.0, n_queries=2)
        >>> mechanism.release([[240, 10, *[0] * 8], [125, 125, *[0] * 8]], 3, np.random.default_rng(1)).values
        array([[ 0,  0],
               [ 0, -1],
               [ 0, -1]])
    """

    _: KW_ONLY
    max_answers: PositiveInt | None = None

    @property
    def most_answers(self) -> int | None:
        return self.max_answers

    def _joint(self, log_probabilities: Floats, labels: Ints) -> Floats:
        """Return the joint log probability; after the last answer there is no label with probability 1."""
        if self.max_answers is None:
            return super()._joint(log_probabilities, labels)
        answered = labels != ABSTAINED
        before = np.cumsum(answered, axis=1) - answered
        after = np.where(answered, -np.inf, 0.0)
        return np.asarray(np.where(before < self.max_answers, log_probabilities, after).sum(axis=1))


@dataclass(frozen=True)
class InteractiveGNMax(CheckedGNMax):
    """Interactive-GNMax: the teachers answer if enough of them contradict a student.

    With p_j the student's probability of label j, public because it depends on earlier answers only:

        if max_j (n_j - M p_j) + N(0, sigma_1^2) >= T:   the answer of GNMax with sigma_2      the student is corrected
        else if max_j p_j > confidence:                  argmax_j p_j                          the student is confirmed
        else                                             no answer

    (Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson 2018, algorithm 2; M = n_teachers.)

    Args:
        threshold, check_deviation, answer_deviation: T, sigma_1 and sigma_2, as for `ConfidentGNMax`.
        confidence: gamma, in [0, 1].
        student: the student's probabilities, `(n_queries, n_classes)`, or one row for all queries; None for all equal.
        n_teachers, n_classes, n_queries: see `Aggregator`.

    Raises:
        ParameterError: a student whose rows are not probability distributions.

    Guarantees:
        * The guarantee of `ConfidentGNMax` without a limit on answers: a moved vote changes the support by 1, and the
          labels of the student need no privacy budget.

    Example:
        >>> student = ((0.9, 0.1), (0.5, 0.5))
        >>> mechanism = InteractiveGNMax(25.0, 10.0, 10.0, student=student, n_teachers=100, n_classes=2, n_queries=2)
        >>> mechanism.support(np.array([[10, 90], [10, 90]])), mechanism.otherwise()
        (array([80., 40.]), array([ 0, -1]))
    """

    _example = example(threshold=2.0, student=(0.5, 0.3, 0.2), confidence=0.4)

    _: KW_ONLY
    confidence: UnitInterval = 0.8
    student: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "student", self._rows())

    def _rows(self) -> tuple[tuple[float, ...], ...]:
        """Return the student's probabilities, one row for each query."""
        shape = (self.n_queries, self.n_classes)
        probabilities = np.full(shape, 1.0 / self.n_classes) if self.student is None else self.student
        try:
            rows = np.broadcast_to(np.asarray(probabilities, dtype=np.float64), shape)
            fits = bool((rows >= 0.0).all() and np.allclose(rows.sum(axis=1), 1.0, rtol=0.0, atol=1e-9))
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ParameterError(
                f"student must hold the probability of each label for each query, shape {shape}, in rows that sum to "
                f"1, but is {str(self.student)[:60]}.",
                argument="student",
            )
        return tuple(map(tuple, rows.tolist()))

    def support(self, counts: Counts) -> Floats:
        """Return max_j (n_j - M p_j), `(n_queries,)`."""
        return np.asarray((counts - self.n_teachers * np.array(self.student)).max(axis=1))

    def otherwise(self) -> Ints:
        """Return the student's label if the student is confident, else no answer."""
        rows = np.array(self.student)
        return np.where(rows.max(axis=1) > self.confidence, rows.argmax(axis=1), ABSTAINED)
