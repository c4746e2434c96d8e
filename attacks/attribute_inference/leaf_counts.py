"""White-box attribute inference from the training counts in the leaves of a decision tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.errors import AttackError
from .base import LABEL, AttributeInference, People, Sensitive
from .predictions import places


@dataclass(frozen=True)
class LeafCounts(AttributeInference):
    """Guess of the value whose leaf has most training examples with the person's label.

        score(v) = log prior(v) + log n(leaf of x[v], y) - log sum of n(leaf) over the leaves that v can reach

    n are training counts, which trees show with each prediction; the last sum is over the leaves that a person with v
    can reach for any other features, so that a value is not preferred because it reaches many leaves.

    References:
        Fredrikson, Jha, Ristenpart (2015), section 4.3, the white-box attack with counts, all other features known.
    """

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Return the scores for a fitted `DecisionTreeClassifier`."""
        if not hasattr(released, "tree_") or not hasattr(released, "classes_"):
            raise AttackError(f"LeafCounts reads the counts of one decision tree, but got a {type(released).__name__}.")
        if sensitive.feature == LABEL:
            raise AttackError("LeafCounts infers a feature. Take FromMembership for labels.")
        X, y = sensitive.filled(people)
        tree = released.tree_
        leaves = released.apply(X.reshape(-1, X.shape[-1])).reshape(X.shape[:2])
        shares = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        counts = (shares * tree.n_node_samples[:, np.newaxis])[leaves, places(released, y, shares.shape[1])]
        reach = [_reached(tree, int(sensitive.feature), float(value)) for value in np.asarray(sensitive.values)]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(counts).T - np.log(reach) + sensitive.log_prior)


def _reached(tree: Any, feature: int, value: float) -> float:
    """Return the number of training examples in the leaves that a record with this value of the feature can reach."""
    reached: NDArray[np.bool_] = np.zeros(tree.node_count, dtype=np.bool_)
    reached[0] = True
    for node in range(tree.node_count):  # children come after their parent
        left, right = tree.children_left[node], tree.children_right[node]
        if reached[node] and left >= 0:
            splits = tree.feature[node] == feature
            reached[left] = not splits or np.float32(value) <= tree.threshold[node]
            reached[right] = not splits or np.float32(value) > tree.threshold[node]
    return float(tree.n_node_samples[reached & (tree.children_left < 0)].sum())
