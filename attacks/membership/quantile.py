"""Quantile regression: the expected signal of a similar record that is not a member."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import NonNegative, one_of_names
from ...mechanisms.core.errors import AttackError
from ..learners.threads import single_thread
from .base import MembershipAttack
from .shadows import Shadows

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
        population_rows, target_rows = (_design(s.X, s.y, labels) for s in (population, shadows))
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


def _design(X: Any, y: NDArray[Any], labels: NDArray[Any]) -> Floats:
    """Return a constant, the features, and an indicator of each class."""
    return np.concatenate([np.ones((len(y), 1)), np.asarray(X, dtype=np.float64), y[:, None] == labels], axis=1)


def _boosting(population_rows: Floats, values: Floats, target_rows: Floats) -> tuple[Floats, Floats]:
    """Return predictions of boosted trees: out of fold at the population rows, so that residuals are not overfitted."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import cross_val_predict

    model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0)
    with single_thread():
        fitted = [cross_val_predict(model, population_rows, column, cv=3) for column in values.T]
        predicted = [model.fit(population_rows, column).predict(target_rows) for column in values.T]
    return np.stack(fitted, axis=1), np.stack(predicted, axis=1)
