"""Quantile regression: what signal a record like this one would have if it were not a member."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.errors import AttackError
from ....mechanisms.validation import non_negative, one_of
from ...models.threads import single_thread
from ..base import Floats, MembershipAttack
from ..shadows import Shadows

HALF_LOG_TWO = 0.635181422730739
"""-E log |N(0, 1)|: what the mean log distance falls short of the log standard deviation."""


@dataclass(frozen=True)
class QuantileRegression(MembershipAttack):
    """Signal of the target in standard deviations above what its own population leads to expect of such a record.

    For each target, the mean mu(x, y) and the log standard deviation of the signal are learned on the population, which
    no model was trained on and which is not scored: (signal - mu) / sd is then the same quantile at every record. No
    reference model is needed. Three sets stay disjoint: population, non-members, members.

    Args:
        regressor: "linear", ridge regression on features and class, of all targets at once; or "boosting", trees on
            histograms, one fit a target.
        signal: any signal.
        ridge: >= 0, weight of the penalty of "linear", per record of the population.

    Raises:
        AttackError: no population, or shadows without features.

    Guarantees:
        * groups with non-member signals N(0, 1) and N(4, 1), members 1 higher: TPR 0.0924 at 1 % FPR where one
          threshold for all has 0.0730;
        * a score above Phi^-1(1 - a) has false positive rate a on fresh non-members, where the law is normal.

    References:
        Bertran et al. (2023), "Scalable membership inference attacks via quantile regression", NeurIPS, section 3.1
        (the Gaussian likelihood in two steps: mean, then mean log distance).
    """

    name: ClassVar[str] = "quantile-regression"
    needs_population: ClassVar[bool] = True

    regressor: str = "linear"
    signal: str = "rescaled-logit"
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        one_of(("linear", "boosting"), regressor=self.regressor)
        non_negative(ridge=self.ridge)

    def scores_of(self, shadows: Shadows) -> Floats:
        population = shadows.population
        assert population is not None  # `score` has checked
        if shadows.X is None or population.X is None:
            raise AttackError("attack 'quantile-regression' reads features, but these shadows hold none. Give X.")
        labels = np.unique(population.y)
        known, asked = (_design(s.X, s.y, labels) for s in (population, shadows))
        values = population.signal(self.signal).T
        predict = self._linear if self.regressor == "linear" else _boosting
        at_known, at_asked = predict(known, values, asked)
        # A distance of exactly 0 has no logarithm; it says no more than a very small one.
        distance = np.log(np.maximum(np.abs(values - at_known), 1e-3 * values.std(axis=0) + 1e-12))
        log_sd = predict(known, distance, asked)[1] + HALF_LOG_TWO
        scores: Floats = (shadows.signal(self.signal) - at_asked.T) / np.exp(log_sd.T)
        return scores

    def _linear(self, known: Floats, values: Floats, asked: Floats) -> tuple[Floats, Floats]:
        """Ridge predictions at the known and at the asked rows, a column a target."""
        penalty = np.sqrt(self.ridge * len(known)) * np.eye(known.shape[1])
        penalty[0, 0] = 0.0  # the constant
        padded = np.concatenate([values, np.zeros((len(penalty), values.shape[1]))])
        weights = np.linalg.lstsq(np.concatenate([known, penalty]), padded, rcond=None)[0]
        return known @ weights, asked @ weights


def _design(X: Any, y: NDArray[Any], labels: NDArray[Any]) -> Floats:
    """A constant, the features, and an indicator of each class."""
    return np.concatenate([np.ones((len(y), 1)), np.asarray(X, dtype=np.float64), y[:, None] == labels], axis=1)


def _boosting(known: Floats, values: Floats, asked: Floats) -> tuple[Floats, Floats]:
    """Predictions of boosted trees: out of fold at the known rows, whose residuals must not be those of memory."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import cross_val_predict

    model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0)
    with single_thread():
        at_known = [cross_val_predict(model, known, column, cv=3) for column in values.T]
        at_asked = [model.fit(known, column).predict(asked) for column in values.T]
    return np.stack(at_known, axis=1), np.stack(at_asked, axis=1)
