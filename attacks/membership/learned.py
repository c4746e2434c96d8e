"""Attacks that learn from predictions or features.

ShadowClassifier     predictions on members, learned from other models
QuantileRegression   the expected signal of a similar record that is not a member
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...mechanisms.core import AttackError, Bools, Floats, NonNegative, NonNegativeInt, OpenUnit, at_least, one_of_names
from ..learners.base import single_thread
from .base import MembershipAttack
from .shadows import Shadows

N_TOP_PROBABILITIES = 3
"""Number of largest probabilities used as features."""
USED_SIGNALS = ("loss", "modified-entropy", "entropy", "rescaled-logit", "correct")


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
    references = "learned"

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
    columns = [shadows.signal(name) for name in USED_SIGNALS if has_log_probabilities or name in shadows.signals]
    if not columns:
        raise AttackError(
            f"attack 'shadow-classifier' needs one of the signals {', '.join(USED_SIGNALS)}; there is none."
        )
    if shadows.log_probabilities is not None:
        top = -np.sort(-shadows.log_probabilities, axis=2)[:, :, :N_TOP_PROBABILITIES]
        columns += [np.clip(top[:, :, k] - top[:, :, 0], -50.0, 0.0) for k in range(1, top.shape[2])]
    labels = np.unique(shadows.y)
    if len(labels) > 1:
        columns += [np.broadcast_to(shadows.y == label, columns[0].shape) for label in labels]
    return np.stack(columns, axis=2).astype(np.float64)


MIN_RECORDS_TO_LEARN = 10
"""Smallest number of records that a regression learns on."""
HALF_LOG_TWO = 0.635181422730739
"""-E log |N(0, 1)|: difference of the log standard deviation and the mean log distance."""


@dataclass(frozen=True)
class QuantileRegression(MembershipAttack):
    """Signal of the target in standard deviations above the value expected for a similar record.

    For each target, the mean mu(x, y) and the log standard deviation of the signal are learned from features and class:
    (signal - mu) / sd is then comparable between records. No reference model is needed. With `quantile`, the score is
    the signal minus this conditional quantile, learned by the pinball loss: a score above 0 means "member".

    The regression learns on the population, if the shadows have one: records that no model was trained on and that are
    not scored, as in the papers. The population, non-members and members are then three disjoint sets. Otherwise it
    learns on the other scored records, members included, and the value expected for each record is predicted by a fit
    without it (leave-one-out, exactly, or five folds). This is the attack for canaries of one run.

    Membership is never read, not even that of the records of other folds. A one-run bound counts guesses that are a
    function of the run. If the guesses of fold A used the bits of fold B, and conversely, each fold could guess the
    bits of the other: without any leak, right guesses would come in pairs, and their number would have twice the
    variance that the bound assumes.

    Args:
        regressor: "linear", ridge regression on features and class, of all targets at once; or "boosting", trees on
            histograms, one fit per target (and fold).
        signal: any signal.
        ridge: >= 0, weight of the penalty of "linear", per record it learns on; of absolute weights with `quantile`.
        quantile: in (0, 1), such as 0.99 on a population for a false positive rate of 1 %; 0.5 for the middle between
            members and non-members on scored records; None for mean and standard deviation.

    Raises:
        AttackError: shadows without features, or fewer than 10 records to learn on.

    Guarantees:
        * groups with non-member signals N(0, 1) and N(4, 1), members 1 higher: TPR 0.0924 at 1 % FPR where a single
          threshold has 0.0730;
        * on a population, a score above Phi^-1(1 - a) has false positive rate a on fresh non-members, if the law is
          normal; and a score above 0 with `quantile=1 - a`, for any law of groups;
        * scores are a function of the signals of the target and of public data: valid guesses for one-run bounds.

    References:
        Bertran et al. (2023), "Scalable membership inference attacks via quantile regression", NeurIPS, section 3.1
        (the Gaussian likelihood in two steps: mean, then mean log distance).
        Liu et al. (2025), "Enhancing one-run privacy auditing with quantile regression-based membership inference",
        arXiv 2506.15349: the same score for the canaries of one run, learned on a holdout set.
    """

    name: ClassVar[str] = "quantile-regression"

    regressor: Annotated[str, one_of_names("linear", "boosting")] = "linear"
    signal: str = "rescaled-logit"
    ridge: NonNegative = 1e-3
    quantile: OpenUnit | None = None

    def scores_of(self, shadows: Shadows) -> Floats:
        learned = shadows if shadows.population is None else shadows.population
        if shadows.X is None or learned.X is None:
            raise AttackError("attack 'quantile-regression' reads features, but these shadows have none. Give X.")
        if learned.n_records < MIN_RECORDS_TO_LEARN:
            raise AttackError(
                f"attack 'quantile-regression' learns on {MIN_RECORDS_TO_LEARN} records or more, but has "
                f"{learned.n_records}. Score more records, or give a population."
            )
        labels = np.unique(learned.y)
        rows, target_rows = (  # a constant, the features, and an indicator of each class
            np.column_stack([np.ones(len(s.y)), np.asarray(s.X, dtype=np.float64), s.y[:, None] == labels])
            for s in (learned, shadows)
        )
        other_rows = None if shadows.population is None else target_rows
        values, signal = learned.signal(self.signal).T, shadows.signal(self.signal)
        if self.quantile is not None:
            return (
                signal - (self._crossed(rows, values) if other_rows is None else self._at(rows, values, other_rows)).T
            )
        predict = self._linear if self.regressor == "linear" else self._fitted
        fitted, predicted = predict(rows, values, other_rows)
        # A distance of exactly 0 has no logarithm; it is equivalent to a very small one.
        distance = np.log(np.maximum(np.abs(values - fitted), 1e-3 * values.std(axis=0) + 1e-12))
        log_sd = predict(rows, distance, other_rows)[1] + HALF_LOG_TWO
        return np.asarray((signal - predicted.T) / np.exp(log_sd.T))

    def _linear(self, rows: Floats, values: Floats, other_rows: Floats | None) -> tuple[Floats, Floats]:
        """Return ridge predictions at the rows and at `other_rows`, one column per target; leave-one-out where None."""
        penalty = np.sqrt(self.ridge * len(rows)) * np.eye(rows.shape[1])
        penalty[0, 0] = 0.0  # the intercept is not penalised
        hat = np.linalg.pinv(np.concatenate([rows, penalty]))[:, : len(rows)]
        weights = hat @ values
        if other_rows is not None:
            return rows @ weights, other_rows @ weights
        own = np.einsum("ij,ji->i", rows, hat)[:, None]  # weight of each record in its own prediction
        without = (rows @ weights - own * values) / np.maximum(1.0 - own, 1e-9)
        return without, without

    def _fitted(self, rows: Floats, values: Floats, other_rows: Floats | None) -> tuple[Floats, Floats]:
        """Return predictions at the rows, out of fold against overfitted residuals, and at `other_rows` if not None."""
        crossed = self._crossed(rows, values)
        return crossed, crossed if other_rows is None else self._at(rows, values, other_rows)

    def _crossed(self, rows: Floats, values: Floats) -> Floats:
        """Return predictions at each row by the model of a target that is fitted to the other folds."""
        from sklearn.model_selection import KFold, cross_val_predict

        model, folds = self._build(), KFold(5, shuffle=True, random_state=0)
        with single_thread():
            return np.stack([cross_val_predict(model, rows, column, cv=folds) for column in values.T], axis=1)

    def _at(self, rows: Floats, values: Floats, other_rows: Floats) -> Floats:
        """Return predictions at other rows by the model of each target."""
        model = self._build()
        with single_thread():
            return np.stack([model.fit(rows, column).predict(other_rows) for column in values.T], axis=1)

    def _build(self) -> Any:
        """Return an unfitted regressor of the mean, or of the quantile."""
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import QuantileRegressor

        if self.regressor == "linear":
            return QuantileRegressor(quantile=self.quantile, alpha=self.ridge, solver="highs")
        loss = {} if self.quantile is None else {"loss": "quantile", "quantile": self.quantile}
        options = {"max_iter": 60, "max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}
        return HistGradientBoostingRegressor(**options, **loss)
