"""PATE from private records to a student, and sample-and-aggregate: what a record moves, and what an audit sees."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from dpassay.attacks.distinguishing.canary_attacks import CanaryLoss
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import NeighboursError, ParameterError, replace_record
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.models import SoftmaxRegression
from dpassay.mechanisms.learning.models.trained import TrainedModels
from dpassay.mechanisms.literature.pate import (
    PATE,
    ConfidentGNMax,
    EstimatorTeachers,
    GNMax,
    KernelTeachers,
    LabelSpreading,
    LNMax,
    NearestTeachers,
    SampleAndAggregate,
    count_votes,
)

X, Y = load_digits(return_X_y=True)
X = X / 16.0
TEACHERS = [NearestTeachers(), KernelTeachers(), EstimatorTeachers(LogisticRegression(max_iter=50, tol=1e-2))]
SMALL = {"n_teachers": 20, "n_classes": 2, "n_queries": 30}


@pytest.mark.parametrize("teachers", TEACHERS, ids=lambda teachers: type(teachers).__name__)
def test_a_record_moves_the_votes_of_its_teacher_alone(teachers):
    y = Y[:200]
    labels = teachers.labels(X[:200], y, X[1000:1020], 10, 10)
    for record in (3, 57):
        moved = X[:200].copy()
        moved[record] = X[900]
        other = teachers.labels(moved, np.where(np.arange(200) == record, 9 - y, y), X[1000:1020], 10, 10)
        differ = (labels != other).any(axis=1)
        assert set(np.flatnonzero(differ)) <= {record % 10}
    assert (labels == Y[1000:1020]).mean() > 0.3  # chance is 0.1


@pytest.mark.parametrize("teachers", TEACHERS, ids=lambda teachers: type(teachers).__name__)
def test_a_teacher_with_one_record_gives_its_label(teachers):
    assert teachers.labels(X[:3], np.array([4, 7, 4]), X[50:53], 3, 10).tolist() == [[4] * 3, [7] * 3, [4] * 3]


def test_student_is_that_of_a_loop_over_runs():
    mechanism = PATE(GNMax(4.0, n_teachers=20, n_classes=3, n_queries=7), ridge=0.1, steps=5, learning_rate=0.5)
    labels = np.random.default_rng(0).integers(-1, 3, size=(4, 7))
    labels[3] = -1
    inputs = np.column_stack([np.linspace(-1, 1, 7), np.ones(7)])
    for row, student in zip(labels, mechanism.learn(labels), strict=True):
        W, given = np.zeros((3, 2)), row >= 0
        for _ in range(5):
            P = np.exp(inputs[given] @ W.T)
            P /= P.sum(axis=1, keepdims=True)
            slope = (P - np.eye(3)[row[given]]).T @ inputs[given] / max(1, given.sum())
            W = W - 0.5 * (slope + 0.1 * W)
        np.testing.assert_allclose(student, W.ravel(), atol=1e-12)


def test_losses_are_those_of_softmax_regression():
    mechanism = PATE(GNMax(4.0, **SMALL))
    pair = mechanism.worst_case()
    students = mechanism.release(pair.d0, 3, np.random.default_rng(0)).values
    expected = TrainedModels(SoftmaxRegression(1, 2), students).losses(pair.d0.X, pair.d0.y)
    np.testing.assert_array_equal(mechanism.losses(pair.d0, students), expected)


def test_votes_are_counted_once_for_a_dataset():
    class Counting(NearestTeachers):
        calls = 0

        def labels(self, *arguments):
            Counting.calls += 1
            return super().labels(*arguments)

    mechanism = PATE(GNMax(4.0, **SMALL), teachers=Counting())
    pair = mechanism.worst_case()
    for _ in range(3):
        for side in (0, 1):
            mechanism.release(pair.side(side), 5, np.random.default_rng(0))
    assert Counting.calls == 2


def test_student_of_digits_learns_from_noisy_labels():
    queries = X[1000:1200]
    base = ConfidentGNMax(15.0, 8.0, 3.0, n_teachers=25, n_classes=10, n_queries=200)
    mechanism = PATE(base, queries=queries, teachers=KernelTeachers(), steps=200, learning_rate=2.0)
    students = mechanism.release((X[:1000], Y[:1000]), 2, np.random.default_rng(1)).values
    right = TrainedModels(mechanism.network, students).outputs(X[1200:]).argmax(axis=2) == Y[1200:]
    assert (right.mean(axis=1) > 0.75).all()


def test_label_spreading_makes_the_student_more_accurate():
    base = ConfidentGNMax(18.0, 8.0, 3.0, n_teachers=25, n_classes=10, n_queries=60)
    right = {}
    for student, more in (("answers", None), ("label-spreading", X[1060:1300])):
        mechanism = PATE(
            base,
            queries=X[1000:1060],
            teachers=KernelTeachers(),
            student=student,
            unlabelled=more,
            steps=60,
            learning_rate=2.0,
        )
        students = mechanism.release((X[:1000], Y[:1000]), 4, np.random.default_rng(1)).values
        predicted = TrainedModels(mechanism.network, students).outputs(X[1300:]).argmax(axis=2)
        right[student] = (predicted == Y[1300:]).mean(axis=1)
    assert (right["label-spreading"] > right["answers"] + 0.02).all()


@pytest.mark.parametrize("class_shares", ["equal", "answers", "as-spread"])
def test_spread_labels_solve_the_equation_of_their_graph(class_shares):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2))
    given = np.where(rng.random((5, 30)) < 0.3, rng.integers(3, size=(5, 30)), -1)
    spreading = LabelSpreading(neighbours=4, keep=0.8, rounds=200, class_shares=class_shares)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.diag(np.full(30, np.inf))
    near = (distances <= np.sort(distances, axis=1)[:, [3]]).astype(float)
    near = np.maximum(near, near.T)
    S = near / np.sqrt(np.outer(near.sum(axis=1), near.sum(axis=1)))
    for row, labels in zip(given, spreading.labels(points, given, 3), strict=True):
        answers = np.eye(3)[row] * (row >= 0)[:, None]
        F = np.linalg.solve(np.eye(30) - 0.8 * S, 0.2 * answers)
        if class_shares != "as-spread":
            F *= (answers.sum(axis=0) if class_shares == "answers" else 1.0) / np.maximum(F.sum(axis=0), 1e-9)
        assert labels.tolist() == F.argmax(axis=1).tolist()


def test_points_that_no_answer_reaches_have_no_label():
    points = np.array([[0.0], [0.1], [5.0], [5.1]])
    labels = LabelSpreading(neighbours=1).labels(points, np.array([[1, -1, -1, -1], [-1] * 4]), 2)
    assert labels.tolist() == [[1, 1, -1, -1], [-1] * 4]


# --- audits -----------------------------------------------------------------------------------------------------------

BASES = [LNMax(0.15, **SMALL), GNMax(8.0, **SMALL), ConfidentGNMax(8.0, 20.0, 8.0, **SMALL)]


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_loss_of_the_student_leaks_less_than_the_claim_but_something(base, without_power):
    options = {"trials": 5_000, "delta": 1e-2, "confidence": 0.9999, "seed": 0}
    student = audit(PATE(base, steps=5), attack=CanaryLoss(), **options)
    labels = audit(PATE(base, view="labels"), **options)
    assert student.verdict is not Verdict.VIOLATION
    assert labels.verdict is not Verdict.VIOLATION
    assert 0.1 < student.bound.epsilon < student.claim
    assert student.bound.epsilon < labels.bound.epsilon + 0.3


def test_student_of_spread_labels_leaks_less_than_the_claim(without_power):
    options = {"trials": 2_000, "delta": 1e-2, "confidence": 0.9999, "seed": 0}
    student, more = LabelSpreading(class_shares="as-spread"), np.linspace(-2, 2, 9)[:, None]
    mechanism = PATE(GNMax(8.0, **SMALL), student=student, unlabelled=more, steps=5)
    result = audit(mechanism, attack=CanaryLoss(), **options)
    assert result.verdict is not Verdict.VIOLATION
    assert 0.1 < result.bound.epsilon < result.claim


def test_a_student_of_teachers_that_share_a_record_is_caught(without_power):
    """Every teacher reads the first record too: all votes move, where one should."""

    class Shared(NearestTeachers):
        def labels(self, X, y, queries, n_teachers, n_classes):
            return np.tile(super().labels(X, y, queries, n_teachers, n_classes)[:1], (n_teachers, 1))

    base = GNMax(8.0, **SMALL)
    X0, y0 = np.zeros((20, 1)), np.zeros(20, dtype=int)
    pair = replace_record((X0, y0), 0, (np.zeros(1), 1))
    options = {"attack": CanaryLoss(), "trials": 2_000, "delta": 1e-3, "confidence": 0.9999, "seed": 0}
    assert audit(PATE(base, teachers=Shared(), steps=5), pair, **options).verdict is Verdict.VIOLATION
    assert audit(PATE(base, steps=5), pair, **options).verdict is not Verdict.VIOLATION


# --- sample and aggregate ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", ["mode", "median", lambda records: int(records.max())])
def test_each_part_votes_for_its_statistic(statistic):
    records = np.random.default_rng(0).integers(4, size=23)
    mechanism = SampleAndAggregate(LNMax(0.5, n_teachers=5, n_classes=4), statistic=statistic)
    slow = {
        "mode": lambda part: min(range(4), key=lambda c: (-part.count(c), c)),
        "median": lambda part: sorted(part)[(len(part) - 1) // 2],
    }
    values = [slow.get(statistic, max)([int(r) for r in records[i::5]]) for i in range(5)]
    assert mechanism.votes(records).tolist() == count_votes([[v] for v in values], 4).tolist()


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: PATE("gnmax"), "aggregator"),
        (lambda: PATE(GNMax(4.0, **SMALL), queries=np.zeros((29, 2))), "queries"),
        (lambda: PATE(GNMax(4.0, **SMALL), queries=[[np.nan]] * 30), "queries"),
        (lambda: PATE(GNMax(4.0, **SMALL), teachers="wise"), "teachers"),
        (lambda: PATE(GNMax(4.0, **SMALL), teachers=LogisticRegression()), "teachers"),
        (lambda: PATE(GNMax(4.0, **SMALL), student="clever"), "student"),
        (lambda: PATE(GNMax(4.0, **SMALL), student=LogisticRegression()), "student"),
        (lambda: PATE(GNMax(4.0, **SMALL), unlabelled=[[0.0]]), "unlabelled"),
        (
            lambda: LabelSpreading(neighbours=2).labels(np.zeros((5, 1)), np.array([[0, -1]]), 2),
            "given must have a column",
        ),
        (lambda: PATE(GNMax(4.0, **SMALL), student="label-spreading", unlabelled=[[0.0, 1.0]]), "unlabelled"),
        (lambda: LabelSpreading().labels(np.zeros((1, 2)), np.array([[0]]), 2), "points"),
        (lambda: EstimatorTeachers(LogisticRegression), "estimator"),
        (lambda: SampleAndAggregate(GNMax(4.0, **SMALL)), "n_queries"),
        (lambda: SampleAndAggregate(GNMax(4.0), statistic="mean"), "statistic"),
        (lambda: SampleAndAggregate(GNMax(4.0)).votes([0.5] * 250), "records"),
        (lambda: SampleAndAggregate(GNMax(4.0)).votes([1] * 249), "part"),
        (lambda: SampleAndAggregate(GNMax(4.0), statistic=max).worst_case(), "statistic"),
        (lambda: PATE(GNMax(4.0, **SMALL)).votes(TrainingData(np.zeros((30, 2)), np.zeros(30))), "n_features"),
    ],
)
def test_wrong_options_are_named(make, argument):
    with pytest.raises(ParameterError, match=argument):
        make()


def test_records_in_another_order_are_other_parts():
    data = X[:40], Y[:40] % 2
    mechanism = PATE(GNMax(4.0, **SMALL), queries=X[100:130])
    with pytest.raises(NeighboursError, match="one place"):
        mechanism.bind(Neighbours(data, (data[0][::-1], data[1][::-1]), "replace_one"))
    with pytest.raises(NeighboursError, match="one record"):
        SampleAndAggregate(GNMax(4.0, n_teachers=3, n_classes=2)).bind(Neighbours([0, 1, 0], [1, 0, 0], "replace_one"))
