"""A threshold on a signal of the target model: the same for all records, or one for each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...mechanisms.core import Bools, Floats, at_least, one_of_names
from .base import MembershipAttack
from .shadows import Shadows


@dataclass(frozen=True)
class LossThreshold(MembershipAttack):
    """Score of a record: minus the loss of the target model on it.

    Args:
        signal: any signal of `dpassay.attacks.membership.signals` instead of the loss.

    Guarantees:
        * member losses N(0, 1) and non-member losses N(1, 1) give AUC Phi(1 / sqrt 2) = 0.7602.

    References:
        Yeom, Giacomelli, Fredrikson and Jha (2018), "Privacy risk in machine learning", adversary 1 with its threshold
        unspecified.

    Example:
        >>> import numpy as np
        >>> one_model = Shadows(np.array([[True, False]]), np.zeros(2), {"loss": np.array([[-0.1, -2.0]])})
        >>> LossThreshold().score(one_model)
        array([[-0.1, -2. ]])
    """

    name: ClassVar[str] = "loss"
    any_signal: ClassVar[bool] = True

    signal: str = "loss"

    def on(self, signal: str) -> str:
        return f"threshold on {signal}"

    def scores_of(self, shadows: Shadows) -> Floats:
        return shadows.signal(self.signal).copy()


@dataclass(frozen=True)
class LabelOnly(LossThreshold):
    """Score of a record: its distance to the decision boundary, found from predicted classes only.

    For models of `dpassay.attacks.membership.LabelOnlyLearner`.

    Args:
        signal: "boundary-distance", by HopSkipJump, or "noise-robustness".

    References:
        Choquette-Choo, Tramer, Carlini and Papernot (2021), "Label-only membership inference attacks", ICML.
        Li and Zhang (2021), "Membership leakage in label-only exposures", CCS.
    """

    name: ClassVar[str] = "label-only"
    any_signal: ClassVar[bool] = False

    signal: str = "boundary-distance"


@dataclass(frozen=True)
class CorrectnessGap(MembershipAttack):
    """Calls a record a member if the target model predicts it right: the floor that other attacks must beat.

    Guarantees:
        * balanced accuracy 1/2 + (training accuracy - test accuracy) / 2; a single point of the ROC curve.

    References:
        Yeom et al. (2018), section 3.2: the advantage is the generalisation gap of the 0/1 loss.
    """

    name: ClassVar[str] = "correctness-gap"

    def scores_of(self, shadows: Shadows) -> Floats:
        return shadows.signal("correct").copy()


@dataclass(frozen=True)
class ModifiedEntropy(MembershipAttack):
    """Minus the modified entropy of the prediction, minus the best threshold of the class of the record.

    The threshold of a class is the threshold with the best balanced accuracy over the other models.

    Args:
        signal: "modified-entropy", small only for certain and correct predictions; or "entropy", which takes a
            certain and wrong prediction for that of a member.
        thresholds: "class", or "none" for the signal without thresholds.
        n_bins: number of candidate thresholds per class: quantiles of its signal.

    References:
        Song and Mittal (2021), "Systematic evaluation of privacy risks of machine learning models", USENIX Security,
        sections 3.2 and 4.1.
    """

    name: ClassVar[str] = "modified-entropy"

    signal: Annotated[str, one_of_names("modified-entropy", "entropy")] = "modified-entropy"
    thresholds: Annotated[str, one_of_names("class", "none")] = "class"
    other_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({"thresholds": "none"},)
    n_bins: Annotated[int, at_least(2)] = 256

    @property
    def minimum_references(self) -> int:
        return 1 if self.thresholds == "class" else 0

    @property
    def references(self) -> str:
        return "learned" if self.thresholds == "class" else ""

    def scores_of(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.signal)
        if self.thresholds == "none":
            return values.copy()
        scores = np.empty_like(values)
        for label in np.unique(shadows.y):
            of_class = shadows.y == label
            thresholds = _best_thresholds(values[:, of_class], shadows.inclusion[:, of_class], shadows, self.n_bins)
            scores[:, of_class] = values[:, of_class] - thresholds[:, None]
        return scores


@dataclass(frozen=True)
class Entropy(ModifiedEntropy):
    """Minus the entropy of the prediction, minus the best threshold of the class of the record.

    It rewards confident mistakes; included because it is often reported.

    References:
        Salem et al. (2019), "ML-Leaks", NDSS; Song and Mittal (2021), section 4.1.
    """

    name: ClassVar[str] = "entropy"

    signal: str = "entropy"


def _best_thresholds(values: Floats, inclusion: Bools, shadows: Shadows, n_bins: int) -> Floats:
    """Return for each target the threshold with the best balanced accuracy over the other models, `(n_models,)`."""
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1)[1:-1]))
    bin_index = np.searchsorted(edges, values, side="right")  # edges at or below each value
    n_models = len(values)
    cells = np.arange(n_models)[:, None] * (len(edges) + 1) + bin_index

    def share_above(mask: Bools) -> Floats:
        """Return the share of the values of the other models at or above each edge, `(n_models, n_edges)`."""
        counts = np.bincount(cells[mask], minlength=n_models * (len(edges) + 1)).reshape(n_models, -1)
        above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1].astype(np.float64)
        has_partner = np.arange(n_models) != shadows.partners
        others = above.sum(axis=0) - above - np.where(has_partner[:, None], above[shadows.partners], 0.0)
        return np.asarray(others[:, 1:] / np.maximum(others[:, :1], 1.0))

    return np.asarray(edges[np.argmax(share_above(inclusion) - share_above(~inclusion), axis=1)])
