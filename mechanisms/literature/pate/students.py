"""Semi-supervised labels of public points without an answer.

    LabelSpreading    spreads answers over a graph of nearest public points (Zhou et al. 2004)

Public points need no privacy budget, and a function of public points and of released answers is post-processing.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ...core import Floats, Ints, OpenUnit, Options, ParameterError, PositiveInt, one_of_names
from ...learning.base import AnyFloats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = Ints

CLASS_SHARES = ("equal", "answers", "as-spread")
UNLABELLED = -1
ANSWERS = "answers"
"""Name of a student that uses only points with an answer."""


@dataclass(frozen=True)
class LabelSpreading(Options):
    """Label spreading from the answered public points to all public points over a nearest-neighbour graph.

        F_0 = Y,   F_(t+1) = keep S F_t + (1 - keep) Y,   S = D^(-1/2) W D^(-1/2)

    Y has a one for each answer. W connects points of which one is among the `neighbours` nearest of the other, and D
    are its row sums. The label of a point is the class with the largest F, after each class is weighted so that its
    total has the desired share; a point that no answer reaches has no label.

    Args:
        neighbours: number of nearest neighbours of each point in the graph, >= 1.
        keep: weight of the neighbours in each update, strictly between 0 and 1.
        rounds: number of updates, >= 1.
        class_shares: "equal", equal totals for all classes with an answer; "answers", totals in proportion to the
            answers; or "as-spread", no weights.

    References:
        Zhou, Bousquet, Lal, Weston and Schoelkopf (2004), "Learning with local and global consistency"; the shares of
        classes: Zhu, Ghahramani and Lafferty (2003), section 4, class mass normalisation.

    Example:
        >>> points = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
        >>> LabelSpreading(neighbours=2).labels(points, np.array([[0, -1, -1, -1, -1, 1]]), 2)
        array([[0, 0, 0, 1, 1, 1]])
    """

    _: KW_ONLY
    neighbours: PositiveInt = 5
    keep: OpenUnit = 0.99
    rounds: PositiveInt = 100
    class_shares: Annotated[str, one_of_names(*CLASS_SHARES)] = "equal"

    def labels(self, points: AnyFloats, given: Labels, n_classes: int) -> Labels:
        """Return the labels of all points, `(n_runs, n_points)`; -1 for points that no answer reaches.

        Args:
            points: `(n_points, n_features)`.
            given: answers, `(n_runs, n_points)`, -1 for none.
            n_classes: number of labels.

        Raises:
            ParameterError: fewer than 2 points, or answers of another shape.
        """
        given = np.asarray(given)
        if given.ndim != 2 or given.shape[1] != len(points):
            raise ParameterError(
                f"given must have a column for each of the {len(points)} points, (n_runs, {len(points)}), but has "
                f"shape {given.shape}.",
                argument="given",
            )
        answers = (given[:, :, None] == np.arange(n_classes)).transpose(1, 0, 2).astype(np.float64)
        flat = answers.reshape(len(points), -1)
        smooth, spread = self.keep * self.graph(points), flat
        for _ in range(self.rounds):
            spread = smooth @ spread + (1.0 - self.keep) * flat
        spread = spread.reshape(answers.shape) * self._weights(spread.reshape(answers.shape), answers)
        return np.asarray(np.where(spread.max(axis=2) > 0.0, spread.argmax(axis=2), UNLABELLED).T)

    def graph(self, points: AnyFloats) -> csr_array:
        """Return S, `(n_points, n_points)`, symmetric; a point is not a neighbour of itself."""
        from scipy.sparse import csr_array, diags_array
        from sklearn.neighbors import kneighbors_graph

        if len(points) < 2:
            raise ParameterError(
                "points must hold at least 2 points, so that labels can spread, but hold fewer.", argument="points"
            )
        nearest = csr_array(kneighbors_graph(points, min(self.neighbours, len(points) - 1)))
        joined = csr_array(nearest.maximum(nearest.T))
        scale = diags_array(joined.sum(axis=1) ** -0.5)
        return csr_array(scale @ joined @ scale)

    def _weights(self, spread: Floats, answers: Floats) -> Floats:
        """Return the weights that bring the total of each class to its share, `(n_runs, n_classes)`."""
        if self.class_shares == "as-spread":
            return np.ones(spread.shape[1:])
        targets = answers.sum(axis=0) if self.class_shares == "answers" else np.ones(spread.shape[1:])
        return np.asarray(targets / np.maximum(spread.sum(axis=0), 1e-300))


STUDENTS: dict[str, LabelSpreading] = {"label-spreading": LabelSpreading()}
"""Students by name, with their default options."""
