"""A naive Bayes classifier from noisy counts."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import Floats, Ints
from ...core.base import Dataset, Neighbours
from ...core.constraints import AddOrReplace, Positive, at_least
from ...core.errors import ParameterError
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...core.validation import whole
from ...noise.laplace import LaplaceQuery


@dataclass(frozen=True)
class NaiveBayesCounts(LaplaceQuery, RecordsMechanism):
    """Naive Bayes: for each of D features the joint counts of class and value, each plus Laplace noise.

    A record is counted in one cell per feature. Adding or removing it moves D cells by 1, replacing it up to 2 D: the
    noise has scale D / epsilon, or 2 D / epsilon. This equals D separate releases of epsilon / D, one per feature
    (`composed`). Everything else, such as probabilities and `classify`, is computed from the noisy counts.

    Args:
        epsilon: the claim, > 0.
        n_classes: number of classes, >= 2.
        n_values: number of values of each feature, D whole numbers >= 2. A record is (class, x_1, ..., x_D), all
            counted from 0; a dataset has shape `(n_records, D + 1)`.
        relation: add_remove or replace_one.

    Guarantees:
        * epsilon-DP (Dwork, McSherry, Nissim and Smith 2006, proposition 1), attained on `worst_case()` by the event
          that all cells that move lie beyond both counts; its probability is 2^-D, or 2^-(2 D) for replace_one, so many
          features make it hard to detect.

    Example:
        >>> mechanism = NaiveBayesCounts(epsilon=0.1, n_values=(2,) * 5)
        >>> mechanism.scale
        50.0
        >>> NaiveBayesCounts(epsilon=0.1, n_values=(2,) * 5, relation="replace_one").scale
        100.0
    """

    epsilon: Positive = 1.0
    _: KW_ONLY
    n_classes: Annotated[int, at_least(2)] = 2
    n_values: tuple[int, ...] = (2, 3)
    relation: AddOrReplace = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_values", tuple(self.n_values))
        whole(2, **{f"n_values[{j}]": n for j, n in enumerate(self.n_values)})
        if not self.n_values:
            raise ParameterError(argument="n_values", value=(), allowed="have at least one feature")

    @property
    def n_moved(self) -> int:
        """Number of cells that one record can move: D, or 2 D for replace_one."""
        return len(self.n_values) * (2 if self.relation is Relation.REPLACE_ONE else 1)

    def answers(self, dataset: Dataset) -> Floats:
        """Return joint counts, feature by feature, class by class, shape `(n_classes * sum(n_values),)`."""
        records = np.asarray(dataset)
        limits = np.array([self.n_classes, *self.n_values])
        shaped = records.ndim == 2 and records.shape[1] == len(limits)
        if not shaped or np.any((records < 0) | (records >= limits) | (records != np.floor(records))):
            raise ParameterError(
                f"the dataset must have shape (n_records, {len(limits)}) and hold whole numbers from 0 to below "
                f"{limits.tolist()}, but is {dataset!r}.",
                argument="dataset",
            )
        whole_numbers = records.astype(np.int64)
        tables = [
            np.bincount(whole_numbers[:, 0] * n + whole_numbers[:, j + 1], minlength=self.n_classes * n)
            for j, n in enumerate(self.n_values)
        ]
        return np.concatenate(tables).astype(np.float64)

    def classify(self, noisy: ArrayLike, features: ArrayLike) -> Ints:
        """Return the most likely class of each example given one vector of noisy counts, shape `(n_examples,)`.

        Counts below 1/2 are raised to 1/2. The prior of a class is proportional to its mean count over the features.

        Args:
            noisy: one output, shape `(n_classes * sum(n_values),)`.
            features: shape `(n_examples, D)`.
        """
        values = np.asarray(features, dtype=np.int64)
        ends = np.cumsum([self.n_classes * n for n in self.n_values])[:-1]
        scores, totals = np.zeros((len(values), self.n_classes)), np.zeros(self.n_classes)
        for j, table in enumerate(np.split(np.maximum(np.asarray(noisy, dtype=np.float64), 0.5), ends)):
            cells = table.reshape(self.n_classes, -1)
            totals += cells.sum(axis=1) / len(self.n_values)
            scores += np.log(cells / cells.sum(axis=1, keepdims=True)).T[values[:, j]]
        return np.asarray((scores + np.log(totals)).argmax(axis=1))

    def worst_case(self) -> Neighbours:
        """Return a pair with one record of class 0 and features 0, which on side 0 is missing or of class 1."""
        d1 = np.zeros((1, len(self.n_values) + 1), dtype=np.int64)
        d0 = d1[:0] if self.relation is Relation.ADD_REMOVE else d1 + np.eye(1, d1.shape[1], dtype=np.int64)
        return Neighbours(d0, d1, self.relation)
