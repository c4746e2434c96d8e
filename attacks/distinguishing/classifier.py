"""The classifier attack: learns from pilot outputs only, for mechanisms known only by samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import NO_NAMES, AttackError, Floats, Ints, OutputNames, Outputs, at_least, number, one_of_names
from ..base import Attack, Target
from ..learners.additive import AdditiveModel, fit_additive
from ..learners.base import (
    MAX_TRAINING_ENTRIES,
    MAX_TRUSTED_CELLS,
    N_FOLDS,
    ScoringModel,
    held_out_losses,
    simplest,
    two_classes,
)
from ..learners.features import FeatureKind, Features, as_rows
from ..learners.quadratic import MAX_COLUMNS, fit_quadratic
from ..learners.table import OutputCells, TableModel, find_cells, fit_table
from ..learners.trees import fit_boosting, fit_forest
from .simple_rules import interval_in_words

MODELS = ("auto", "logistic", "quadratic", "boosting", "forest", "table")
CONTEST_ENTRIES = 2_000_000  # rows times columns in the cross-validation
CONTEST_ROWS = 20_000  # rows per side in the cross-validation
MAX_VALUES_SHOWN = 5  # values listed in a description
MODEL_NAMES = {
    "logistic": "logistic regression",
    "quadratic": "two normal distributions",
    "boosting": "gradient boosting",
    "forest": "a random forest",
    "table": "counts",
}


Fitter = Callable[[NDArray[Any], Ints], ScoringModel]
"""Pilot rows and their sides -> model."""


@dataclass(frozen=True, kw_only=True)
class Classifier(Attack):
    """Score of an output: the log odds of side 1 by a classifier trained on pilot outputs.

    Neyman and Pearson's best score is a monotone function of Pr[side 1 | output], so a classifier that estimates this
    probability estimates the best attack (Bichsel et al., 2021, section 4).

    Args:
        model: "logistic", logistic regression on piecewise-linear functions of the features; "quadratic", a normal
            distribution of each side, whose covariances may differ, for up to 1,000 numbers; "boosting", gradient
            boosting of small trees on histograms; "forest", a random forest; "table", counts of each distinct output;
            "auto", the simplest of these models, without the forest, whose cross-validated log loss on the pilot is
            within one standard error of the smallest.
        features: "auto", coordinates of the output and summaries of them (sum, norm, maximum, minimum, products);
            "coordinates" only; or a function `(size, ...) -> (size, n_features)` that works on all runs at once
            (at module level, if workers are processes). "quadratic" needs no summaries; the table reads the outputs
            themselves.
        max_rows: largest number of pilot outputs per side used for training; the first ones are used.

    Raises:
        ParameterError: an unknown model or kind of features.
        AttackError: fewer than 30 pilot outputs on a side; "table" on outputs with too many distinct values;
            "quadratic" on outputs of more than 1,000 numbers; outputs that are not numbers; features of the wrong
            shape.

    Guarantees:
        * the score is determined by the pilot outputs and `rng`, whatever the number of threads;
        * outputs that never vary all get the same score.

    References:
        Bichsel, Steffen, Bogunovic and Vechev (2021), "DP-Sniper", IEEE S&P, section 4.

    Example:
        >>> import numpy as np
        >>> from dpassay.mechanisms import Laplace
        >>> target = Target(Laplace(epsilon=1.0), Laplace(epsilon=1.0).worst_case())  # it learns from the pilot alone
        >>> rng = np.random.default_rng(0)
        >>> out, in_ = Outputs(rng.integers(0, 3, 900)), Outputs(rng.integers(1, 4, 900))
        >>> scorer = Classifier().fit(target, out, in_, rng)
        >>> scorer.model_name
        'table'
        >>> scorer.score(Outputs(np.array([0, 1, 3]))).round(0).tolist()
        [-6.0, -0.0, 6.0]
    """

    minimum_pilot: ClassVar[int] = 30

    model: Annotated[str, one_of_names(*MODELS)] = "auto"
    features: FeatureKind = "auto"
    max_rows: Annotated[int, at_least(30)] = 100_000

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> ClassifierScorer:
        return self._fit(pilot0, pilot1, rng, cross_validated=self.model == "auto")[0]

    def fit_with_held_out(
        self, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator
    ) -> tuple[ClassifierScorer, tuple[Floats, Floats] | None]:
        """Return the scorer, and scores of the first pilot outputs by models trained without their third.

        None in place of the scores if the distinct outputs are so few that they are counted.
        """
        return self._fit(pilot0, pilot1, rng, cross_validated=True)

    def _fit(
        self, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator, *, cross_validated: bool
    ) -> tuple[ClassifierScorer, tuple[Floats, Floats] | None]:
        seed = int(rng.integers(2**31 - 1))
        self._check_pilot(pilot0, pilot1, "Raise trials, or use attack='threshold'.")
        values0, values1 = pilot0.values[: self.max_rows], pilot1.values[: self.max_rows]
        counted = two_classes(as_rows(values0), as_rows(values1)) if self.model in ("auto", "table") else None
        cells = None if counted is None else find_cells(counted[0])
        if self.model == "table" and cells is None:
            raise AttackError(
                f"model 'table' counts each distinct output, but {len(values0) + len(values1)} pilot outputs have too "
                "many different values for that. Use model='auto', or raise trials."
            )
        if cells is not None and counted is not None and (self.model == "table" or len(cells) <= MAX_TRUSTED_CELLS):
            return ClassifierScorer("table", None, fit_table(cells, *counted)), None
        return self._learn(values0, values1, cells, seed, cross_validated=cross_validated)

    def _learn(
        self,
        values0: NDArray[Any],
        values1: NDArray[Any],
        cells: OutputCells | None,
        seed: int,
        *,
        cross_validated: bool,
    ) -> tuple[ClassifierScorer, tuple[Floats, Floats] | None]:
        """Return the requested or selected model, trained on all pilot rows within the budget, and held-out scores."""
        features = Features.learn(self.features, values0, values1)
        n_columns, n_numbers = features.columns(values0[:1]).shape[1], len(features.centre)
        limit = max(self.minimum_pilot, MAX_TRAINING_ENTRIES // (2 * n_columns))
        columns = (features.columns(values0[:limit]), features.columns(values1[:limit]))
        candidates: dict[str, tuple[tuple[NDArray[Any], NDArray[Any]], Fitter]] = {}
        if cells is not None:
            candidates["table"] = (as_rows(values0), as_rows(values1)), partial(fit_table, cells)
        candidates["logistic"] = columns, fit_additive
        if self.model == "quadratic" and n_numbers > MAX_COLUMNS:
            raise AttackError(
                f"model 'quadratic' reads up to {MAX_COLUMNS:,} numbers of an output, but there are {n_numbers:,}. Use "
                "model='auto', or features with fewer columns."
            )
        if self.model == "quadratic" or 2 <= n_numbers <= MAX_COLUMNS:
            candidates["quadratic"] = (columns[0][:, :n_numbers], columns[1][:, :n_numbers]), fit_quadratic
        candidates["boosting"] = columns, partial(fit_boosting, seed=seed)
        if self.model == "forest":
            candidates["forest"] = columns, partial(fit_forest, seed=seed)
        if self.model != "auto":
            candidates = {self.model: candidates[self.model]}
        held_out = {name: _held_out(rows, fit) for name, (rows, fit) in candidates.items() if cross_validated}
        losses = {name: _log_losses(*scores) for name, scores in held_out.items()}
        name = simplest(losses) if losses else self.model
        rows, fit = candidates[name]
        read = {"table": None, "quadratic": features.without_summaries()}.get(name, features)
        return ClassifierScorer(name, read, fit(*two_classes(*rows))), held_out.get(name)


@dataclass(frozen=True, eq=False)
class ClassifierScorer:
    """Scorer that returns the log odds of side 1.

    Args:
        model_name: name of the trained model.
        features: makes the columns that the model reads; None for the table, which reads the outputs.
        model: trained model, which returns the log odds.
        names: names of the numbers of an output, for descriptions.
    """

    model_name: str
    features: Features | None
    model: ScoringModel
    names: OutputNames = NO_NAMES

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, natural logarithms."""
        if self.features is None:
            return self.model.log_odds(as_rows(outputs.values))
        return self.model.log_odds(self.features.columns(outputs.values))

    def describe(self, threshold: float, *, above: bool = True) -> str:
        """Describe the outputs that score at or above the threshold, or below: values or intervals where possible."""
        if isinstance(self.model, TableModel):
            return self._values(self.model, threshold, above)
        read = self.features
        if isinstance(self.model, AdditiveModel) and read is not None and read.of_one_number:
            intervals = read.centre[0] + read.scale[0] * self.model.where(threshold, above=above)
            return f"the output is {' or '.join(interval_in_words(*ends) for ends in intervals) or 'no possible value'}"
        sign = ">=" if above else "<"
        return f"log odds of side 1 {sign} {number(threshold)}, learned by {MODEL_NAMES[self.model_name]}"

    def describes_outputs(self, threshold: float, *, above: bool = True) -> bool:
        """Return whether `describe` names values or intervals."""
        one_number = self.features is not None and self.features.of_one_number
        return isinstance(self.model, TableModel) or (isinstance(self.model, AdditiveModel) and one_number)

    def _values(self, model: TableModel, threshold: float, above: bool) -> str:
        """Describe the outputs of a table that reach the threshold, or do not."""
        rows = model.cells.rows()[(model.scores[:-1] >= threshold) == above]
        shown = [self.names.row(row[0] if len(row) == 1 else row) for row in rows[:MAX_VALUES_SHOWN]]
        more = f" or {len(rows) - MAX_VALUES_SHOWN:,} more" * (len(rows) > MAX_VALUES_SHOWN)
        return f"the output is {' or '.join(shown) or 'new'}{more}"


def _held_out(rows: tuple[NDArray[Any], NDArray[Any]], fit: Fitter) -> tuple[Floats, Floats]:
    """Return held-out log odds of as many of the first pilot rows of each side as the cross-validation may read."""
    n = min(len(rows[0]), len(rows[1]), CONTEST_ROWS, max(1_000, CONTEST_ENTRIES // (2 * rows[0].shape[1])))
    fold = np.tile(np.arange(n) % N_FOLDS, 2)
    log_odds = held_out_losses(fit, *two_classes(rows[0][:n], rows[1][:n]), fold, _log_odds)
    return log_odds[:n], log_odds[n:]


def _log_odds(model: ScoringModel, rows: NDArray[Any], sides: Ints) -> Floats:
    return model.log_odds(rows)


def _log_losses(out: Floats, in_: Floats) -> Floats:
    """Return the log losses of the log odds of both sides."""
    return np.asarray(np.logaddexp(0.0, np.concatenate([out, -in_])))
