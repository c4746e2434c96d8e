"""PATE: teachers trained on private records label public data, on which a released student is trained."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.base import Data, Dataset, LogDensity, Neighbours, Outputs, example
from ...core.constraints import NonNegative, Positive, PositiveInt, one_of_names
from ...core.errors import ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import numeric_rows, one_of
from ...learning.base import TrainingData, check_in_place
from ...learning.models.architectures import SoftmaxRegression
from ...learning.models.trained import TrainedModels
from .aggregator import Aggregator
from .disjoint_parts import VotesOfParts
from .noisy_max import LNMax
from .students import ANSWERS, STUDENTS, UNLABELLED, LabelSpreading
from .teachers import TEACHERS, Teachers
from .vote_counts import Counts, count_votes

VIEWS = ("final", "labels")
_MAX_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True)
class PATE(VotesOfParts):
    """Private aggregation of teacher ensembles: teachers of disjoint parts label public queries for a student.

    (Papernot, Abadi, Erlingsson, Goodfellow and Talwar 2017; Papernot et al. 2018.)

        (1) the records are divided into n_teachers parts, record i into part i mod n_teachers
        (2) a teacher is trained on each part
        (3) the aggregator labels the public queries by the votes of the teachers, or leaves them without a label
        (4) a student, softmax regression, is trained on the labels and on public points only
        (5) only the student is released

    Teachers are deterministic, so that many runs on one dataset train them once; the noise and the students differ.

    Args:
        aggregator: LNMax, GNMax, ConfidentGNMax or InteractiveGNMax, which sets n_teachers, n_classes and n_queries.
        queries: public points `(n_queries, n_features)`; None for evenly spaced numbers between -1 and 1.
        teachers: "nearest", "kernel" or a `Teachers`.
        student: training data of the student: "answers", only the points with an answer; "label-spreading", all public
            points, after the answers are spread over them; or a `LabelSpreading`.
        unlabelled: further public points `(n, n_features)` without a query; only a student by label spreading uses
            them.
        view: the released output: "final", the parameters of the student `(n_parameters,)`, or "labels", the aggregated
            labels.
        steps: full-batch gradient descent of the student from zeros, >= 1.
        learning_rate: > 0.
        ridge: L2 penalty of the student, >= 0.

    Raises:
        ParameterError: a wrong number of queries, an unknown view, teacher or student, a value out of range, or
            unlabelled points for a student that uses answers only.

    Guarantees:
        * The guarantee of the aggregator, for any teachers and student: a record changes the votes of one teacher, and
          the student depends on the labels and on public points only.
        * `losses` is the interface of attacks by the loss of the student.

    Example:
        >>> from dpassay.mechanisms.literature.pate import GNMax
        >>> mechanism = PATE(GNMax(2.0, n_teachers=10, n_classes=2, n_queries=20))
        >>> pair = mechanism.worst_case()
        >>> mechanism.votes(pair.d0)[0], mechanism.votes(pair.d1)[0]
        (array([5, 5]), array([4, 6]))
        >>> mechanism.release(pair.d0, 3, np.random.default_rng(0)).values.shape
        (3, 4)
    """

    _dataset = Data.TRAINING
    _example = example(aggregator=LNMax(0.4, n_teachers=6, n_classes=3, n_queries=2), view="labels")

    aggregator: Aggregator
    _: KW_ONLY
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)
    queries: Any = None
    teachers: str | Teachers = "nearest"
    student: str | LabelSpreading = ANSWERS
    unlabelled: Any = None
    view: Annotated[str, one_of_names(*VIEWS)] = "final"
    steps: PositiveInt = 30
    learning_rate: Positive = 1.0
    ridge: NonNegative = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.teachers, str):
            one_of(TEACHERS, teachers=self.teachers)
        elif not isinstance(self.teachers, Teachers):
            raise ParameterError(
                f"teachers must be one of {', '.join(TEACHERS)}, or Teachers such as EstimatorTeachers(...), but is "
                f"{self.teachers!r}.",
                argument="teachers",
            )
        if isinstance(self.student, str):
            one_of((ANSWERS, *STUDENTS), student=self.student)
        elif not isinstance(self.student, LabelSpreading):
            raise ParameterError(
                f"student must be one of {', '.join((ANSWERS, *STUDENTS))}, or a LabelSpreading(...), but is "
                f"{self.student!r}.",
                argument="student",
            )
        self._keep_points()

    def _keep_points(self) -> None:
        """Store the checked queries and unlabelled points as rows."""
        n = self.aggregator.n_queries
        queries = numeric_rows(queries=np.linspace(-1.0, 1.0, n)[:, None] if self.queries is None else self.queries)
        if len(queries) != n or not queries.size:
            raise ParameterError(
                f"queries must have a row for each of n_queries = {n}, but have shape {queries.shape}.",
                argument="queries",
            )
        object.__setattr__(self, "queries", tuple(map(tuple, queries.tolist())))
        if self.unlabelled is None:
            return
        unlabelled = numeric_rows(unlabelled=self.unlabelled)
        if unlabelled.shape[1:] != queries.shape[1:] or self.student == ANSWERS:
            raise ParameterError(
                f"unlabelled must be rows of {plural(queries.shape[1], 'number')}, as queries are, for a student that "
                f"uses them (label-spreading), but has shape {unlabelled.shape}, and student is {self.student!r}.",
                argument="unlabelled",
            )
        object.__setattr__(self, "unlabelled", tuple(map(tuple, unlabelled.tolist())))

    @cached_property
    def points(self) -> Floats:
        """Queries, `(n_queries, n_features)`."""
        return np.array(self.queries)

    @cached_property
    def public(self) -> Floats:
        """All public points, the queries first, `(n_points, n_features)`."""
        return np.concatenate([self.points, np.array(self.unlabelled or ()).reshape(-1, self.points.shape[1])])

    @cached_property
    def network(self) -> SoftmaxRegression:
        """Model of the student."""
        return SoftmaxRegression(self.points.shape[1], self.aggregator.n_classes)

    @cached_property
    def _known(self) -> dict[bytes, Counts]:
        """Cache of the votes of the most recent datasets."""
        return {}

    def data(self, dataset: Dataset) -> TrainingData:
        """Return the checked records."""
        data = TrainingData.of(dataset)
        self.network.check(data)
        return data

    def votes(self, dataset: Dataset) -> Counts:
        """Return the votes of the teachers, `(n_queries, n_classes)`; the last few datasets are cached."""
        data = self.data(dataset)
        key = blake2b(data.X.tobytes() + b"|" + np.asarray(data.y, dtype=np.int64).tobytes()).digest()
        if key not in self._known:
            teachers = TEACHERS[self.teachers] if isinstance(self.teachers, str) else self.teachers
            base = self.aggregator
            labels = teachers.labels(data.X, data.y, self.points, base.n_teachers, base.n_classes)
            if len(self._known) >= 4:
                self._known.clear()
            self._known[key] = count_votes(labels, base.n_classes)
        return self._known[key]

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return students `(size, n_parameters)`, or labels `(size, n_queries)`."""
        labels = self.labels(dataset, size, rng)
        if self.view == "labels":
            return Outputs(labels)
        students = np.empty((size, self.network.n_parameters))
        runs = max(1, _MAX_BLOCK_ENTRIES // (len(self.public) * self.aggregator.n_classes))
        for start in range(0, size, runs):
            students[start : start + runs] = self.learn(labels[start : start + runs])
        return Outputs(students)

    def learn(self, labels: Ints) -> Floats:
        """Return students `(n_runs, n_parameters)` trained on labels `(n_runs, n_queries)`, -1 for none."""
        labels = self.seen_labels(labels)
        inputs = self.network.inputs(self.public, np.dtype(np.float64))
        labelled = labels >= 0
        targets = np.eye(self.aggregator.n_classes)[labels] * labelled[:, :, None]
        weight_per_label = 1.0 / np.maximum(1, labelled.sum(axis=1))[:, None, None]
        weights = np.zeros((len(labels), self.aggregator.n_classes, inputs.shape[1]))
        for _ in range(self.steps):
            scores = inputs @ weights.transpose(0, 2, 1)
            scores -= scores.max(axis=2, keepdims=True)
            np.exp(scores, out=scores)
            scores *= (labelled / scores.sum(axis=2))[:, :, None]
            scores -= targets
            slope = scores.transpose(0, 2, 1) @ inputs
            weights -= self.learning_rate * (weight_per_label * slope + self.ridge * weights)
        return weights.reshape(len(labels), -1)

    def seen_labels(self, labels: Ints) -> Ints:
        """Return the training labels of the student for all public points, -1 for none, `(n_runs, n_points)`."""
        known = np.full((len(labels), len(self.public)), UNLABELLED)
        known[:, : labels.shape[1]] = labels
        if self.student == ANSWERS:
            return known
        spreading = STUDENTS[self.student] if isinstance(self.student, str) else self.student
        return spreading.labels(self.public, known, self.aggregator.n_classes)

    # --- for attacks --------------------------------------------------------------------------------------------------

    @property
    def trains_as_stated(self) -> bool:
        """False: a record influences the student through the labels of a teacher, not only through its own loss."""
        return False

    def losses(self, data: TrainingData, parameters: Floats) -> Floats:
        """Return the loss `(n_models, n_examples)` of each example under students `(n_models, n_parameters)`."""
        return TrainedModels(self.network, np.asarray(parameters)).losses(data.X, data.y)

    def output_law(self) -> LogDensity | None:
        """Return the law of the labels; None for the student, whose law is not known."""
        return self if self.view == "labels" else None

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact guarantee of the labels; None for the student."""
        return super().exact_guarantee() if self.view == "labels" else None

    def worst_case(self) -> Neighbours:
        """Return one record for each part, at the origin: all votes of one teacher change."""
        X = np.zeros((self.aggregator.n_teachers, self.points.shape[1]))
        d0, d1 = (TrainingData(X, labels) for labels in self.labels_at_worst())
        return Neighbours(d0, d1, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        for side in (0, 1):
            self.data(neighbours.side(side))
        check_in_place(neighbours, "parts")
