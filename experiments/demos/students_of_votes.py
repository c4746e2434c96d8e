"""Students of the answers of teachers, of the answers alone or of all public points, and how often they are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.ensembles import EstimatorTeachers, KernelTeachers, LabelSpreading, Teachers
from ...mechanisms.ensembles.aggregators import Aggregator
from ..data.images import oriented_gradients

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Votes:
    """Teachers' votes on public points, and what is needed to judge a student.

    Attributes:
        counts: `(n_queries, n_classes)`.
        queries, truth: the public points and their labels, which nobody uses but to count the right ones.
        unlabelled: public points that nobody is asked about.
        X, y: other public points, on which students are judged.
        baseline: accuracy there without privacy.
        seconds: that teaching took.
    """

    name: str
    counts: NDArray[np.int64]
    queries: NDArray[Any]
    truth: NDArray[np.int64]
    unlabelled: NDArray[Any]
    X: NDArray[Any]
    y: NDArray[np.int64]
    baseline: float
    seconds: float


def accuracies(votes: Votes, aggregator: Aggregator, *, n_runs: int = 5) -> NDArray[np.float64]:
    """Shares that are right: of the answers, of a student of these and of one of all public points, `(3, n_runs)`.

    Run i has the noise of seed i, from 1 on.
    """
    runs = [aggregator.release(votes.counts, 1, np.random.default_rng(seed + 1)).values[0] for seed in range(n_runs)]
    labels = np.array(runs, dtype=np.int64)
    right = [float((row[row >= 0] == votes.truth[row >= 0]).mean()) for row in labels]
    of_answers = [student_of_answers(votes, row) for row in labels]
    return np.array([right, of_answers, students_of_all_points(votes, labels)])


def student_of_answers(votes: Votes, labels: Labels) -> float:
    """Share that a student of labels `(n_queries,)`, -1 for none, gets right: it learns from the answers alone."""
    student: Teachers = EstimatorTeachers(_tree(4)) if votes.name == "adult" else KernelTeachers()
    given = labels >= 0
    return _right(student, votes, votes.queries[given], labels[given], votes.X)


def students_of_all_points(votes: Votes, labels: Labels) -> list[float]:
    """Shares that students of labels `(n_runs, n_queries)` get right: the labels are spread over all public points.

    Images of MNIST are seen by their oriented gradients, and softmax regression learns; codes of Adult are divided by
    their standard deviations on the public points for the graph, and a tree learns.
    """
    points = np.concatenate([votes.queries, votes.unlabelled])
    known = np.full((len(labels), len(points)), -1)
    known[:, : labels.shape[1]] = labels
    seen, judged, near, spreading, student = _view(votes.name, points, votes.X)
    spread = spreading.labels(near, known, votes.counts.shape[1])
    return [_right(student, votes, seen[row >= 0], row[row >= 0], judged) for row in spread]


def _view(name: str, points: NDArray[Any], judged: NDArray[Any]) -> tuple[Any, Any, Any, LabelSpreading, Teachers]:
    """What the student sees of public points and of those to judge by, what is near, the spreading, and the student."""
    if name == "adult":
        spreading = LabelSpreading(keep=0.5, class_shares="answers")
        return points, judged, points / points.std(axis=0), spreading, EstimatorTeachers(_tree(6, leaf=30))
    if name == "mnist":
        points, judged = oriented_gradients(points), oriented_gradients(judged)
    from sklearn.linear_model import LogisticRegression

    return points, judged, points, LabelSpreading(), EstimatorTeachers(LogisticRegression(max_iter=60))


def _tree(depth: int, *, leaf: int = 10) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0)


def _right(student: Teachers, votes: Votes, X: NDArray[Any], y: Labels, judged: NDArray[Any]) -> float:
    said = student.teach(X, y, judged, votes.counts.shape[1])
    return float((said == votes.y).mean())
