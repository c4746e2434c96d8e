"""Accuracy of PATE students that learn from the answered points only, or from all public points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Floats, Ints
from ....mechanisms.literature.pate import EstimatorTeachers, KernelTeachers, LabelSpreading, Teachers
from ....mechanisms.literature.pate.aggregator import Aggregator
from ...data.images import oriented_gradients

Labels = Ints


@dataclass(frozen=True, eq=False)
class Votes:
    """Teachers' votes on public points, and data to evaluate students.

    Attributes:
        name: name of the data.
        counts: votes, `(n_queries, n_classes)`.
        queries, truth: public points and their labels, which are used only to compute accuracies.
        unlabelled: public points without a query.
        X, y: other public points, for the evaluation of students.
        baseline: accuracy on them without privacy.
        seconds: duration of the training of the teachers.
    """

    name: str
    counts: Ints
    queries: NDArray[Any]
    truth: Ints
    unlabelled: NDArray[Any]
    X: NDArray[Any]
    y: Ints
    baseline: float
    seconds: float


def accuracies(votes: Votes, aggregator: Aggregator, *, n_runs: int = 5) -> Floats:
    """Return accuracies of the answers, of a student of the answers and of one of all public points, `(3, n_runs)`.

    Run i has the noise of seed i, counted from 1.
    """
    runs = [aggregator.release(votes.counts, 1, np.random.default_rng(seed + 1)).values[0] for seed in range(n_runs)]
    labels = np.array(runs, dtype=np.int64)
    answers = [float((row[row >= 0] == votes.truth[row >= 0]).mean()) for row in labels]
    students = [student_of_answers(votes, row) for row in labels]
    return np.array([answers, students, _students_of_all_points(votes, labels)])


def student_of_answers(votes: Votes, labels: Labels) -> float:
    """Return the accuracy of a student that learns only from labels `(n_queries,)`, -1 for unanswered queries."""
    student: Teachers = EstimatorTeachers(_tree(4)) if votes.name == "adult" else KernelTeachers()
    answered = labels >= 0
    return _accuracy(student, votes, votes.queries[answered], labels[answered], votes.X)


def _students_of_all_points(votes: Votes, labels: Labels) -> list[float]:
    """Return accuracies of students of labels `(n_runs, n_queries)`, spread over all public points.

    For images of MNIST, softmax regression on oriented gradients; for codes of Adult, a tree, with codes divided by
    their standard deviations on the public points for the graph.
    """
    points = np.concatenate([votes.queries, votes.unlabelled])
    known = np.full((len(labels), len(points)), -1)
    known[:, : labels.shape[1]] = labels
    features, evaluated, graph_points, spreading, student = _view(votes.name, points, votes.X)
    spread = spreading.labels(graph_points, known, votes.counts.shape[1])
    return [_accuracy(student, votes, features[row >= 0], row[row >= 0], evaluated) for row in spread]


def _view(name: str, points: NDArray[Any], evaluated: NDArray[Any]) -> tuple[Any, Any, Any, LabelSpreading, Teachers]:
    """Return features of public and evaluation points, points of the graph, the label spreading, and the student."""
    if name == "adult":
        spreading = LabelSpreading(keep=0.5, class_shares="answers")
        return points, evaluated, points / points.std(axis=0), spreading, EstimatorTeachers(_tree(6, leaf=30))
    if name == "mnist":
        points, evaluated = oriented_gradients(points), oriented_gradients(evaluated)
    from sklearn.linear_model import LogisticRegression

    return points, evaluated, points, LabelSpreading(), EstimatorTeachers(LogisticRegression(max_iter=60))


def _tree(depth: int, *, leaf: int = 10) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0)


def _accuracy(student: Teachers, votes: Votes, X: NDArray[Any], y: Labels, evaluated: NDArray[Any]) -> float:
    predicted = student.teach(X, y, evaluated, votes.counts.shape[1])
    return float((predicted == votes.y).mean())
