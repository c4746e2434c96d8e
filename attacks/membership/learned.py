"""Attacks that learn from predictions or features.

ShadowClassifier     predictions on members, learned from other models
QuantileRegression   the expected signal of a similar record that is not a member
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...mechanisms.core.arrays import Bools, Floats
from ...mechanisms.core.constraints import NonNegative, NonNegativeInt, at_least, one_of_names
from ...mechanisms.core.errors import AttackError
from ..learners.base import single_thread
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
    minimum_references = 1

    classifier: Annotated[str, one_of_names("logistic", "boosting")] = "logistic"
    n_folds: Annotated[int, at_least(2)] = 4
    max_rows: Annotated[int, at_least(100)] = 50_000
    seed: NonNegativeInt = 0

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

    def _learn(self, rows: Floats, inclusion: Bools, rng: np.random.Generator) -> Any:
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


HALF_LOG_TWO = 0.635181422730739
"""-E log |N(0, 1)|: difference of the log standard deviation and the mean log distance."""


@dataclass(frozen=True)
class QuantileRegression(MembershipAttack):
    """Signal of the target in standard deviations above the value expected for a similar record of the population.

    For each target, the mean mu(x, y) and the log standard deviation of the signal are learned on the population, which
    no model was trained on and which is not scored: (signal - mu) / sd is then comparable between records. No
    reference model is needed. Three sets stay disjoint: population, non-members, members.

    Args:
        regressor: "linear", ridge regression on features and class, of all targets at once; or "boosting", trees on
            histograms, one fit per target.
        signal: any signal.
        ridge: >= 0, weight of the penalty of "linear", per record of the population.

    Raises:
        AttackError: no population, or shadows without features.

    Guarantees:
        * groups with non-member signals N(0, 1) and N(4, 1), members 1 higher: TPR 0.0924 at 1 % FPR where a single
          threshold has 0.0730;
        * a score above Phi^-1(1 - a) has false positive rate a on fresh non-members, if the law is normal.

    References:
        Bertran et al. (2023), "Scalable membership inference attacks via quantile regression", NeurIPS, section 3.1
        (the Gaussian likelihood in two steps: mean, then mean log distance).
    """

    name: ClassVar[str] = "quantile-regression"
    needs_population: ClassVar[bool] = True

    regressor: Annotated[str, one_of_names("linear", "boosting")] = "linear"
    signal: str = "rescaled-logit"
    ridge: NonNegative = 1e-3

    def scores_of(self, shadows: Shadows) -> Floats:
        population = shadows.population
        assert population is not None  # `score` has checked
        if shadows.X is None or population.X is None:
            raise AttackError("attack 'quantile-regression' reads features, but these shadows have none. Give X.")
        labels = np.unique(population.y)
        population_rows, target_rows = (  # a constant, the features, and an indicator of each class
            np.column_stack([np.ones(len(s.y)), np.asarray(s.X, dtype=np.float64), s.y[:, None] == labels])
            for s in (population, shadows)
        )
        values = population.signal(self.signal).T
        predict = self._linear if self.regressor == "linear" else _boosting
        fitted, predicted = predict(population_rows, values, target_rows)
        # A distance of exactly 0 has no logarithm; it is equivalent to a very small one.
        distance = np.log(np.maximum(np.abs(values - fitted), 1e-3 * values.std(axis=0) + 1e-12))
        log_sd = predict(population_rows, distance, target_rows)[1] + HALF_LOG_TWO
        scores: Floats = (shadows.signal(self.signal) - predicted.T) / np.exp(log_sd.T)
        return scores

    def _linear(self, population_rows: Floats, values: Floats, target_rows: Floats) -> tuple[Floats, Floats]:
        """Return ridge predictions at the population rows and at the target rows, one column per target."""
        penalty = np.sqrt(self.ridge * len(population_rows)) * np.eye(population_rows.shape[1])
        penalty[0, 0] = 0.0  # the constant
        padded = np.concatenate([values, np.zeros((len(penalty), values.shape[1]))])
        weights = np.linalg.lstsq(np.concatenate([population_rows, penalty]), padded, rcond=None)[0]
        return population_rows @ weights, target_rows @ weights


def _boosting(population_rows: Floats, values: Floats, target_rows: Floats) -> tuple[Floats, Floats]:
    """Return predictions of boosted trees: out of fold at the population rows, so that residuals are not overfitted."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import cross_val_predict

    model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0)
    with single_thread():
        fitted = [cross_val_predict(model, population_rows, column, cv=3) for column in values.T]
        predicted = [model.fit(population_rows, column).predict(target_rows) for column in values.T]
    return np.stack(fitted, axis=1), np.stack(predicted, axis=1)
