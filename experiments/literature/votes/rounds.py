"""Two rounds of PATE: Confident-GNMax labels data for a first student, and Interactive-GNMax corrects or confirms it.

Source: Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson (2018), section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.accounting import ConcentratedDP, GaussianDP
from ....mechanisms.core.arrays import Bools, Floats, Ints
from ....mechanisms.literature.pate import ConfidentGNMax, InteractiveGNMax, data_dependent
from ....mechanisms.literature.pate.confident import CheckedGNMax
from ....mechanisms.literature.pate.data_dependent_epsilon import DataDependent
from ...data.images import oriented_gradients
from . import glyph_like
from .students import Votes
from .teachers import DELTA, SEED, VotesRow

Student = Callable[[NDArray[Any], NDArray[Any], Ints], Floats]
"""Probabilities of the labels of X, `(n, n_classes)`, learned from records and their labels."""


def two_rounds(
    votes: Votes, threshold: float, check_deviation: float, answer_deviation: float, *, n_first: int, confidence: float
) -> VotesRow:
    """Return one run: the first `n_first` queries by Confident-GNMax, all others by Interactive-GNMax.

    The second student learns from the answers of both rounds and from the confirmed predictions of the first student.
    Both rounds have the same threshold and noise; their privacy losses compose.

    Args:
        votes: votes on all queries.
        threshold, check_deviation, answer_deviation: as for `ConfidentGNMax`.
        n_first: number of queries of the first round.
        confidence: confidence of the first student above which a prediction is confirmed unless the teachers disagree.
    """
    rng, n_classes = np.random.default_rng(SEED), votes.counts.shape[1]
    noise = (threshold, check_deviation, answer_deviation)
    size: dict[str, Any] = {"n_teachers": int(votes.counts[0].sum()), "n_classes": n_classes}
    learn = _STUDENTS[votes.name]
    first, rest = votes.counts[:n_first], votes.counts[n_first:]
    confident = ConfidentGNMax(*noise, **size, n_queries=len(first))
    labels, answered = _answers(confident, first, rng)
    known = votes.queries[:n_first][answered], labels[answered]
    student = tuple(map(tuple, learn(votes.queries[n_first:], *known)))
    interactive = InteractiveGNMax(*noise, **size, n_queries=len(rest), student=student, confidence=confidence)
    more_labels, corrected = _answers(interactive, rest, rng)
    labels, teachers = np.concatenate([labels, more_labels]), np.concatenate([answered, corrected])
    labelled = labels >= 0
    predicted = learn(votes.X, votes.queries[labelled], labels[labelled]).argmax(axis=1)
    rho = confident.rho(int(answered.sum())) + interactive.rho(int(corrected.sum()))
    parts = [
        data_dependent(round_, counts, answered=which.tolist())
        for round_, counts, which in ((confident, first, answered), (interactive, rest, corrected))
    ]
    composed = DataDependent(parts[0].orders, parts[0].divergences + parts[1].divergences)
    return VotesRow(
        votes.name,
        "two rounds",
        int(teachers.sum()),
        len(labels),
        ConcentratedDP(rho).textbook_epsilon(DELTA),
        GaussianDP(math.sqrt(2.0 * rho)).epsilon(DELTA),
        composed.epsilon(DELTA),
        float((labels[teachers] == votes.truth[teachers]).mean()),
        float((predicted == votes.y).mean()),
        votes.baseline,
    )


def one_round(votes: Votes, aggregator: ConfidentGNMax) -> VotesRow:
    """Return one run of Confident-GNMax on votes whose student is one of `_STUDENTS`."""
    labels, answered = _answers(aggregator, votes.counts, np.random.default_rng(SEED))
    rho = aggregator.rho(int(answered.sum()))
    return VotesRow(
        votes.name,
        type(aggregator).__name__,
        int(answered.sum()),
        len(labels),
        ConcentratedDP(rho).textbook_epsilon(DELTA),
        GaussianDP(math.sqrt(2.0 * rho)).epsilon(DELTA),
        data_dependent(aggregator, votes.counts, answered=answered.tolist()).epsilon(DELTA),
        float((labels[answered] == votes.truth[answered]).mean()),
        accuracy_of_answers(votes, labels),
        votes.baseline,
    )


def accuracy_of_answers(votes: Votes, labels: Ints) -> float:
    """Return the accuracy of the student of `_STUDENTS` that learns from labels `(n_queries,)`, -1 for unanswered."""
    answered = labels >= 0
    predicted = _STUDENTS[votes.name](votes.X, votes.queries[answered], labels[answered]).argmax(axis=1)
    return float((predicted == votes.y).mean())


def _answers(aggregator: CheckedGNMax, counts: Ints, rng: np.random.Generator) -> tuple[Ints, Bools]:
    """Return the labels of one run, and a mask of the labels from teachers, which the labels do not contain."""
    seed = int(rng.integers(2**63))
    labels = aggregator.release(counts, 1, np.random.default_rng(seed)).values[0]
    passed = aggregator.passes(aggregator.counts(counts), 1, np.random.default_rng(seed))[0]
    assert (labels[~passed] == aggregator.otherwise()[~passed]).all()
    return labels, passed


def _softmax_of_gradients(X: NDArray[Any], records: NDArray[Any], labels: Ints) -> Floats:
    """Return the probabilities of softmax regression on oriented gradients for images of digits."""
    from sklearn.linear_model import LogisticRegression

    of_records, of_others = (oriented_gradients(images).astype(np.float64) for images in (records, X))
    model = LogisticRegression(C=10.0, max_iter=200).fit(of_records, labels)
    probabilities = np.zeros((len(X), 10))
    probabilities[:, model.classes_] = model.predict_proba(of_others)
    return probabilities


_STUDENTS: dict[str, Student] = {"mnist": _softmax_of_gradients, "glyph-like": glyph_like.probabilities}
