"""PATE: private records in, a student out."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ..errors import ParameterError, plural
from ..guarantees.base import Guarantee
from ..learning.base import TrainingData
from ..learning.models.linear import SoftmaxRegression
from ..learning.models.trained import TrainedModels
from ..learning.pairs import check_in_place
from ..validation import non_negative, numeric_rows, one_of, positive, whole
from .aggregators.votes import Counts, count_votes
from .parts import Floats, VotesOfParts
from .students import ANSWERS, STUDENTS, UNLABELLED, LabelSpreading
from .teachers import TEACHERS, Teachers

VIEWS = ("final", "labels")
_BLOCK = 4_000_000


@dataclass(frozen=True)
class PATE(VotesOfParts):
    """Private aggregation of teacher ensembles: teachers of disjoint parts label public queries, a student learns.

    (Papernot, Abadi, Erlingsson, Goodfellow and Talwar 2017; Papernot et al. 2018.)

        (1) the records are dealt to n_teachers parts, record i to part i mod n_teachers
        (2) a teacher learns from each part
        (3) the aggregator labels the public queries by the votes of the teachers, or leaves them without a label
        (4) a student, softmax regression, learns from the labels, and of public points alone
        (5) the student is released; nothing else

    Teachers are deterministic, so that many runs on one dataset train them once: noise and students differ.

    Args:
        aggregator: LNMax, GNMax, ConfidentGNMax or InteractiveGNMax; n_teachers, n_classes and n_queries are its.
        queries: public points `(n_queries, n_features)`; None for as many numbers between -1 and 1, evenly spaced.
        teachers: "nearest", "kernel" or a `Teachers`.
        student: what the student learns from: "answers", the points with an answer alone; "label-spreading", all public
            points, after the answers were spread over them; or a `LabelSpreading`.
        unlabelled: more public points `(n, n_features)`, for which nobody is asked; a student by spreading uses them.
        view: what is released: "final", the parameters of the student `(n_parameters,)`, or "labels", what it learns
            from.
        steps: full-batch gradient descent of the student from zeros, >= 1.
        learning_rate: > 0.
        ridge: L2 penalty of the student, >= 0.

    Raises:
        ParameterError: queries of another number, an unknown view, teacher or student, a value out of range, or
            unlabelled points for a student that learns from answers alone.

    Guarantees:
        * That of the aggregator, whatever teachers and student do: a record moves the votes of one teacher, and the
          student is made from the labels and from public points.
        * `losses` is what an attack by the loss of the student reads.

    Example:
        >>> from dpassay.mechanisms.ensembles import GNMax
        >>> mechanism = PATE(GNMax(2.0, n_teachers=10, n_classes=2, n_queries=20))
        >>> pair = mechanism.worst_case()
        >>> mechanism.votes(pair.d0)[0], mechanism.votes(pair.d1)[0]
        (array([5, 5]), array([4, 6]))
        >>> mechanism.release(pair.d0, 3, np.random.default_rng(0)).values.shape
        (3, 4)
    """

    _: KW_ONLY
    queries: Any = None
    teachers: str | Teachers = "nearest"
    student: str | LabelSpreading = ANSWERS
    unlabelled: Any = None
    view: str = "final"
    steps: int = 30
    learning_rate: float = 1.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(VIEWS, view=self.view)
        whole(1, steps=self.steps)
        positive(learning_rate=self.learning_rate)
        non_negative(ridge=self.ridge)
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
        """Queries and unlabelled points, checked, as rows."""
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
        more = numeric_rows(unlabelled=self.unlabelled)
        if more.shape[1:] != queries.shape[1:] or self.student == ANSWERS:
            raise ParameterError(
                f"unlabelled must be rows of {plural(queries.shape[1], 'number')}, as queries are, for a student that "
                f"uses them (label-spreading), but has shape {more.shape}, and student is {self.student!r}.",
                argument="unlabelled",
            )
        object.__setattr__(self, "unlabelled", tuple(map(tuple, more.tolist())))

    @cached_property
    def points(self) -> Floats:
        """The queries, `(n_queries, n_features)`."""
        return np.array(self.queries)

    @cached_property
    def public(self) -> Floats:
        """All public points, the queries first, `(n_points, n_features)`."""
        return np.concatenate([self.points, np.array(self.unlabelled or ()).reshape(-1, self.points.shape[1])])

    @cached_property
    def network(self) -> SoftmaxRegression:
        """The student."""
        return SoftmaxRegression(self.points.shape[1], self.aggregator.n_classes)

    @cached_property
    def _known(self) -> dict[bytes, Counts]:
        """Votes of the datasets that were seen last."""
        return {}

    def data(self, dataset: Dataset) -> TrainingData:
        """The records, checked."""
        data = TrainingData.of(dataset)
        self.network.check(data)
        return data

    def votes(self, dataset: Dataset) -> Counts:
        """The votes of the teachers, `(n_queries, n_classes)`; those of the last few datasets are kept."""
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
        """Students `(size, n_parameters)`, or labels `(size, n_queries)`."""
        labels = self.labels(dataset, size, rng)
        if self.view == "labels":
            return Outputs(labels)
        students = np.empty((size, self.network.n_parameters))
        runs = max(1, _BLOCK // (len(self.public) * self.aggregator.n_classes))
        for start in range(0, size, runs):
            students[start : start + runs] = self.learn(labels[start : start + runs])
        return Outputs(students)

    def learn(self, labels: NDArray[np.int64]) -> Floats:
        """Students of labels `(n_runs, n_queries)`, -1 for none: flat parameters `(n_runs, n_parameters)`."""
        labels = self.seen_labels(labels)
        inputs = self.network.inputs(self.public, np.dtype(np.float64))
        given = labels >= 0
        wanted = np.eye(self.aggregator.n_classes)[labels] * given[:, :, None]
        share = 1.0 / np.maximum(1, given.sum(axis=1))[:, None, None]
        weights = np.zeros((len(labels), self.aggregator.n_classes, inputs.shape[1]))
        for _ in range(self.steps):
            scores = inputs @ weights.transpose(0, 2, 1)
            scores -= scores.max(axis=2, keepdims=True)
            np.exp(scores, out=scores)
            scores *= (given / scores.sum(axis=2))[:, :, None]
            scores -= wanted
            slope = scores.transpose(0, 2, 1) @ inputs
            weights -= self.learning_rate * (share * slope + self.ridge * weights)
        return weights.reshape(len(labels), -1)

    def seen_labels(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the student learns from: a label for each public point, -1 for none, `(n_runs, n_points)`."""
        known = np.full((len(labels), len(self.public)), UNLABELLED)
        known[:, : labels.shape[1]] = labels
        if self.student == ANSWERS:
            return known
        spreading = STUDENTS[self.student] if isinstance(self.student, str) else self.student
        return spreading.labels(self.public, known, self.aggregator.n_classes)

    # --- what attacks ask ---------------------------------------------------------------------------------------------

    @property
    def trains_as_stated(self) -> bool:
        """False: a record is seen through the labels of a teacher, and not by its own loss alone."""
        return False

    def losses(self, data: TrainingData, parameters: Floats) -> NDArray[np.float64]:
        """Loss of each example under students `(n_models, n_parameters)`, `(n_models, n_examples)`."""
        return TrainedModels(self.network, np.asarray(parameters)).losses(data.X, data.y)

    def output_law(self) -> LogDensity | None:
        """That of the labels; the law of a student is not known."""
        return self if self.view == "labels" else None

    def exact_guarantee(self) -> Guarantee | None:
        """That of the labels; None for the student."""
        return super().exact_guarantee() if self.view == "labels" else None

    def worst_case(self) -> Neighbours:
        """One record a part, at the origin: each teacher gives its label to every query, and all its votes move."""
        X = np.zeros((self.aggregator.n_teachers, self.points.shape[1]))
        d0, d1 = (TrainingData(X, labels) for labels in self.labels_at_worst())
        return Neighbours(d0, d1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        for side in (0, 1):
            self.data(neighbours.side(side))
        check_in_place(neighbours, "parts")
        return self
