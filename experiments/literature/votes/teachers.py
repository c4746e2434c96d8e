"""Votes of teachers on public points, and the results of one aggregator: answers, epsilons and a student."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.accounting import ConcentratedDP, GaussianDP
from ....mechanisms.core.arrays import Ints
from ....mechanisms.literature.pate import EstimatorTeachers, KernelTeachers, Teachers, count_votes, data_dependent
from ....mechanisms.literature.pate.aggregator import Aggregator
from ....mechanisms.literature.pate.confident import CheckedGNMax
from ...data.datasets import load
from ...data.examples import with_target
from .students import Votes, student_of_answers

SEED = 250
DELTA = 1e-5


@dataclass(frozen=True)
class VotesRow:
    """Results of one aggregator on one dataset.

    Attributes:
        data, aggregator: names of the dataset and of the aggregator.
        answered, asked: numbers of queries with a label, and of all queries.
        for_all_votes: data-independent epsilon at delta of these answers and all checks, by the textbook conversion.
        claim: data-independent epsilon by the tight curve: Gaussian DP for Gaussian noise, optimal composition for
            Laplace noise.
        on_these_votes: data-dependent epsilon, which is sensitive.
        right: share of correct labels.
        student, baseline: accuracy of the student, and of the nearest of all private records.
    """

    data: str
    aggregator: str
    answered: int
    asked: int
    for_all_votes: float
    claim: float
    on_these_votes: float
    right: float
    student: float
    baseline: float


def votes_on(name: str, *, n_teachers: int, n_queries: int, directory: str | None = None) -> Votes:
    """Train teachers on disjoint parts of "digits", "mnist" or "adult", and return their votes on public points."""
    (X, y), (points, truth), (Z, z), teachers, baseline = _split(name, directory)
    queries, truth, unlabelled = points[:n_queries], truth[:n_queries], points[n_queries:]
    start = time.perf_counter()
    n_classes = int(y.max()) + 1
    counts = count_votes(teachers.labels(X, y, queries, n_teachers, n_classes), n_classes)
    seconds = time.perf_counter() - start
    accuracy = float((baseline.teach(X, y, Z, n_classes) == z).mean())
    return Votes(name, counts, queries, truth, unlabelled, Z, z, accuracy, seconds)


def _split(name: str, directory: str | None) -> tuple[Any, Any, Any, Teachers, Teachers]:
    """Return private records, public points, evaluation points, teachers, and the non-private baseline."""
    from ....mechanisms.literature.pate import NearestTeachers

    where = {} if directory is None else {"directory": directory}
    if name == "mnist":
        (X, y), (Z, z) = _pair(load("mnist", **where)), _pair(load("mnist", part="test", **where))
        X, Z = X.astype(np.float32), Z.astype(np.float32)
        public = (Z[:9000], z[:9000]), (Z[9000:], z[9000:])
        return (X, y), *public, KernelTeachers(width=0.5, ridge=0.1), NearestTeachers()
    if name == "adult":
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.tree import DecisionTreeClassifier

        X, y = _pair(with_target(load("adult", **where), "income>50K", name="adult"))
        order = np.random.default_rng(SEED).permutation(len(y))
        X, y = X[order], y[order]
        public = (X[-9000:-5000], y[-9000:-5000]), (X[-5000:], y[-5000:])
        tree = DecisionTreeClassifier(max_depth=5, random_state=0)
        boosted = HistGradientBoostingClassifier(max_iter=60, random_state=0)
        return (X[:-9000], y[:-9000]), *public, EstimatorTeachers(tree), EstimatorTeachers(boosted)
    X, y = _pair(load("digits"))
    order = np.random.default_rng(SEED).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    public = (X[1200:1500], y[1200:1500]), (X[1500:], y[1500:])
    return (X[:1200], y[:1200]), *public, KernelTeachers(), NearestTeachers()


def _pair(data: Any) -> tuple[NDArray[Any], Ints]:
    """Return features and labels as arrays."""
    X, y = data
    return np.asarray(X), np.asarray(y, dtype=np.int64)


def row(
    votes: Votes,
    aggregator: Aggregator,
    *,
    student: Callable[[Votes, Ints], float] = student_of_answers,
    delta: float = DELTA,
    seed: int = SEED,
) -> VotesRow:
    """Return the results of one run: labels, the accuracy of a student of the labels, and epsilons."""
    labels = aggregator.release(votes.counts, 1, np.random.default_rng(seed)).values[0]
    answered = labels >= 0
    if isinstance(aggregator, CheckedGNMax):
        rho = aggregator.rho(int(answered.sum()))
        everywhere = ConcentratedDP(rho).textbook_epsilon(delta)
        claim = GaussianDP(math.sqrt(2.0 * rho)).epsilon(delta)
    else:
        claim = aggregator.guarantee().epsilon(delta)
        everywhere = data_dependent(aggregator, _torn(votes.counts)).epsilon(delta)
    return VotesRow(
        votes.name,
        type(aggregator).__name__,
        int(answered.sum()),
        len(answered),
        everywhere,
        claim,
        data_dependent(aggregator, votes.counts, answered=answered).epsilon(delta),
        float((labels[answered] == votes.truth[answered]).mean()),
        student(votes, labels),
        votes.baseline,
    )


def _torn(counts: Ints) -> Ints:
    """Return the votes of the largest privacy loss: equal counts of all labels, up to rounding."""
    n, m = int(counts[0].sum()), counts.shape[1]
    worst = np.full(counts.shape, n // m)
    worst[:, : n % m] += 1
    return worst
