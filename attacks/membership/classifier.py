"""Shadow models with an attack classifier: predictions on members are learned from other models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import NonNegativeInt, at_least, one_of_names
from ...mechanisms.core.errors import AttackError
from ..learners.threads import single_thread
from .base import MembershipAttack
from .shadows import Shadows

TOP = 3
"""Number of largest probabilities used as features."""
USED = ("loss", "modified-entropy", "entropy", "rescaled-logit", "correct")


@dataclass(frozen=True)
class ShadowClassifier(MembershipAttack):
    """Log odds of "member" by a classifier trained on the predictions of other models.

    The models are split into folds, complements together; the targets of a fold are scored by a classifier trained on
    the other folds. Features: the three largest probabilities (as logits), the signals loss, modified entropy, entropy,
    rescaled logit and correctness, and the class.

    Args:
        classifier: "logistic" regression, or "boosting" of trees on histograms.
        n_folds: number of classifiers that are trained.
        max_rows: largest number of training rows (of a model and a record) per classifier, drawn at random.
        seed: seed of that draw.

    Guarantees:
        * one normal feature that is 1 higher for members: AUC tends to 0.7602, and a logistic regression is the exact
          form of the best score.

    References:
        Shokri, Stronati, Song and Shmatikov (2017), "Membership inference attacks against machine learning models",
        IEEE S&P, section V. There one classifier for each class; here the class is a feature.
    """

    name: ClassVar[str] = "shadow-classifier"

    classifier: Annotated[str, one_of_names("logistic", "boosting")] = "logistic"
    n_folds: Annotated[int, at_least(2)] = 4
    max_rows: Annotated[int, at_least(100)] = 50_000
    seed: NonNegativeInt = 0

    @property
    def minimum_references(self) -> int:
        return 1

    def scores_of(self, shadows: Shadows) -> Floats:
        rows = _features(shadows)
        group = np.minimum(np.arange(len(shadows)), shadows.partners)
        rank = np.unique(group, return_inverse=True)[1]
        fold = rank % min(self.n_folds, int(rank.max()) + 1)
        rng = np.random.default_rng(self.seed)
        scores = np.empty(shadows.inclusion.shape)
        for held_out in np.unique(fold):
            test = fold == held_out
            model = self._learn(rows[~test], shadows.inclusion[~test], rng)
            odds = model.decision_function(rows[test].reshape(-1, rows.shape[2]))
            scores[test] = odds.reshape(-1, shadows.n_records)
        return scores

    def _learn(self, rows: Floats, inclusion: NDArray[np.bool_], rng: np.random.Generator) -> Any:
        """Train the classifier on these models."""
        flat, member = rows.reshape(-1, rows.shape[2]), inclusion.ravel()
        if len(flat) > self.max_rows:
            selected = rng.choice(len(flat), self.max_rows, replace=False)
            flat, member = flat[selected], member[selected]
        if member.all() or not member.any():
            raise AttackError(
                f"attack {self.name!r} learns from members and non-members, but the other models have only "
                f"{'members' if member.all() else 'non-members'}. Train more models, or more records."
            )
        with single_thread():
            return self._build().fit(flat, member)

    def _build(self) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if self.classifier == "boosting":
            return HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=self.seed)
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _features(shadows: Shadows) -> Floats:
    """Return features, `(n_models, n_records, n_features)`; signals that the shadows lack are left out."""
    has_log_probabilities = shadows.log_probabilities is not None
    columns = [shadows.signal(name) for name in USED if has_log_probabilities or name in shadows.signals]
    if not columns:
        raise AttackError(f"attack 'shadow-classifier' needs one of the signals {', '.join(USED)}; there is none.")
    if shadows.log_probabilities is not None:
        top = -np.sort(-shadows.log_probabilities, axis=2)[:, :, :TOP]
        columns += [np.clip(top[:, :, k] - top[:, :, 0], -50.0, 0.0) for k in range(1, top.shape[2])]
    labels = np.unique(shadows.y)
    if len(labels) > 1:
        columns += [np.broadcast_to(shadows.y == label, columns[0].shape) for label in labels]
    return np.stack(columns, axis=2).astype(np.float64)
