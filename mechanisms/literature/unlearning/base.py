"""Interface of unlearning: a pair of training histories, and the model that all methods train. Read this first.

Side 1 trained on `n_records` records and then had to forget the last `n_forget` of them; side 0 trained on the others
from the beginning. Forgetting is (epsilon, delta)-certified if the two models are (epsilon, delta)-indistinguishable
(Guo et al. 2020, definition of certified removal), which an audit of the pair tests like any other claim. The relation
is `add_remove`: the training data of the sides differ in the forgotten records.

The model is a logistic regression without intercept, the minimiser of

    J(w) = (1/n) sum log(1 + exp(-w z)) + (regularisation / 2) |w|^2,    z = (2 y - 1) x, |x| <= 1.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ...core import (
    Data,
    Dataset,
    Floats,
    Mechanism,
    Neighbours,
    NeighboursError,
    Outputs,
    ParameterError,
    Positive,
    PositiveInt,
    Relation,
)
from ...learning import TrainingData
from ..convex.regularised_logistic import SignedExamples


@dataclass(frozen=True)
class ForgettingMechanism(Mechanism):
    """Base class: a logistic regression that forgets the last `n_forget` of its `n_records` records.

    A dataset is `(X, y)`, labels 0 and 1, rows of norm 1 or less. One of `n_records` records is trained on and then
    partly forgotten; one of `n_records - n_forget` is trained on, and nothing else.

    Args:
        n_records: number of records before forgetting.
        n_forget: number of forgotten records, below `n_records`.
        regularisation: weight of |w|^2 / 2 beside the mean loss, > 0.
    """

    _dataset = Data.TRAINING

    _: KW_ONLY
    n_records: PositiveInt = 200
    n_forget: PositiveInt = 1
    regularisation: Positive = 0.1
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_forget >= self.n_records:
            allowed = f"be smaller than n_records = {self.n_records}: some records must remain"
            raise ParameterError(argument="n_forget", value=self.n_forget, allowed=allowed)

    @property
    def n_rest(self) -> int:
        """Number of records that are not forgotten."""
        return self.n_records - self.n_forget

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the parameters of `size` models, shape `(size, n_features)`.

        Raises:
            ParameterError: labels other than 0 and 1, rows longer than 1, or another number of records than that
                before or after forgetting.
        """
        return Outputs(self._models(self._rows(dataset), size, rng))

    @abstractmethod
    def _models(self, rows: Floats, size: int, rng: np.random.Generator) -> Floats:
        """Return the released parameters; `rows` are the z of all records, or of those that remain."""

    def worst_case(self) -> Neighbours:
        """Return a pair with one feature, in which the forgotten records contradict all others."""
        X, y = np.ones((self.n_records, 1)), np.repeat([1, 0], [self.n_rest, self.n_forget])
        return Neighbours((X[: self.n_rest], y[: self.n_rest]), (X, y), self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        rest, rows = (self._rows(neighbours.side(side)) for side in (0, 1))
        if len(rest) != self.n_rest or len(rows) != self.n_records or not np.array_equal(rest, rows[: self.n_rest]):
            raise NeighboursError(
                f"d1 must have n_records = {self.n_records} records, and d0 all of them but the last n_forget = "
                f"{self.n_forget}, but they have {len(rows)} and {len(rest)}"
                f"{'' if len(rest) != self.n_rest or len(rows) != self.n_records else ' that differ'}. Put the records "
                "to forget at the end.",
                argument="d0",
            )

    def _rows(self, dataset: Dataset) -> Floats:
        """Return z of each record, in order, `(n, n_features)`."""
        data = TrainingData.of(dataset)
        SignedExamples.of(data)  # checks it
        if data.n_examples not in (self.n_rest, self.n_records):
            raise ParameterError(
                f"the dataset must have n_records = {self.n_records} records, of which the last {self.n_forget} are "
                f"forgotten, or the {self.n_rest} others, but has {data.n_examples}. Set n_records and n_forget."
            )
        return np.asarray((2.0 * data.y[:, None] - 1.0) * data.X)


def counted(rows: Floats) -> SignedExamples:
    """Return rows of signed examples with their counts."""
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return SignedExamples(distinct, counts.astype(np.float64))
