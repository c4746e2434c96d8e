"""A reconstructor that learns from runs only: for mechanisms known only by samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...mechanisms.core import AttackError, Floats, Ints, Outputs, at_least, plural
from ..distinguishing.events import mark
from ..learners.additive import RidgeModel, fit_ridge
from ..learners.base import MAX_TRAINING_ENTRIES, ClassModel
from ..learners.features import FeatureKind, Features, Featuriser, check_features
from ..learners.multiclass import fit_classes
from .base import FairBits, OneOf, Reconstructor, SecretTarget

MAX_LABELS = 32
"""Largest number of events with a separate column: the most frequent ones of the pilot."""


@dataclass(frozen=True, eq=False)
class EventColumns:
    """Columns of `Features`, followed by indicator columns of events, if the pilot had any.

    An event is 0 in the columns of ordinary outputs; an event that is not in the pilot is 0 in the columns of labels.

    Args:
        features: makes the columns of ordinary outputs; None if the pilot had none.
        n_columns: number of columns of ordinary outputs.
        labels: events with a separate column; empty if the pilot had no event, and then there is no column of events.
    """

    features: Features | None
    n_columns: int
    labels: tuple[str, ...]

    @classmethod
    def learn(cls, kind: str | Featuriser, pilot: Outputs) -> EventColumns:
        """Learn centre and scale of ordinary outputs, and the most frequent events."""
        check_features(kind)
        pilot = mark(pilot)
        events = pilot.labels
        ordinary = pilot.values[events == ""]
        labels = tuple(label for label, _ in Counter(events[events != ""].tolist()).most_common(MAX_LABELS))
        if not len(ordinary):
            return cls(None, 0, labels)
        features = Features.learn(kind, ordinary, ordinary[:0])
        return cls(features, features.columns(ordinary[:1]).shape[1], labels)

    def columns(self, outputs: Outputs) -> Floats:
        """Return the columns, `(size, n_columns)`, and more if there are events."""
        outputs = mark(outputs)
        events = outputs.labels
        ordinary = events == ""
        rows = np.zeros((len(outputs), self.n_columns))
        if self.features is not None and ordinary.any():
            rows[ordinary] = self.features.columns(outputs.values[ordinary])
        if not self.labels:
            return rows
        return np.column_stack([rows, ~ordinary, *(events == label for label in self.labels)])


@dataclass(frozen=True, kw_only=True)
class LearnedReconstruction(Reconstructor):
    """Guess of the secret by a model trained on runs with known secrets.

    It needs no output law, and works for external code. Exceptional runs have separate columns.

    For a `OneOf`, each candidate is run `pilot_runs` times. A k-class model (logistic regression on piecewise-linear
    functions, boosted trees, or counts of each distinct output, whichever has the smallest cross-validated log loss)
    gives the probability of each candidate under a uniform prior; multiplied by the prior, it is the posterior, and the
    guess is the candidate that is most probably correct, as for `MaximumLikelihood`. As the model approaches the true
    probabilities, the attack approaches the optimum.

    For `FairBits` there are `pilot_runs` runs, each on fresh bits. The score of a bit is the margin of a ridge
    regression from the columns to all bits at once, on the columns or on piecewise-linear functions of them, whichever
    has the smaller leave-one-out error. For noisy linear answers this is, in the limit, the best linear estimate.

    Args:
        pilot_runs: pilot runs, >= 30: per candidate, or for all bits together. They are never counted.
        features: "auto", numbers of the output and summaries of them (sum, norm, maximum, minimum, products);
            "coordinates" only; or a function `(size, ...) -> (size, n_features)`, as for the classifier of a pair.

    Raises:
        AttackError: outputs that are not numbers, whose shape varies with the secret, or that are too large for 30
            runs of each candidate.

    Guarantees:
        * the guesses are determined by the pilot runs and `rng`: rounds are independent, and successes are counted.

    References:
        Bichsel, Steffen, Bogunovic and Vechev (2021), "DP-Sniper", section 4, for two candidates.

    Example:
        >>> from dpassay.mechanisms import KAryRandomizedResponse
        >>> target = SecretTarget(KAryRandomizedResponse(epsilon=3.0, k=4), OneOf((0, 1, 2, 3)))
        >>> guesser = LearnedReconstruction().fit(target, np.random.default_rng(0))
        >>> guesser.model_name, guesser.guess(Outputs(np.arange(4))).tolist()
        ('table', [0, 1, 2, 3])
    """

    minimum_pilot: ClassVar[int] = 30

    pilot_runs: Annotated[int, at_least(30)] = 2_000
    features: FeatureKind = "auto"

    def check(self, target: SecretTarget) -> None:
        """Raise `AttackError` if the secret is of another kind; `fit` checks whether outputs can be read."""
        if not isinstance(target.secret, (OneOf, FairBits)):
            raise AttackError(
                f"the learned attack guesses OneOf candidates or FairBits, not a {type(target.secret).__name__}."
            )

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> LearnedCandidate | LearnedBits:
        self.check(target)
        secret, seed = target.secret, int(rng.integers(2**31 - 1))
        if isinstance(secret, FairBits):
            bits = secret.draw(self._affordable(target, secret.zeros, 1, rng), rng)
            runs = [target.run(secret.dataset(row), 1, rng) for row in bits]
            columns, rows = self._columns(runs)
            return LearnedBits(columns, fit_ridge(rows, bits.astype(np.float64) - 0.5))
        assert isinstance(secret, OneOf)
        n = self._affordable(target, secret.candidates[0], secret.k, rng)
        columns, rows = self._columns([target.run(candidate, n, rng) for candidate in secret.candidates])
        name, model = fit_classes(rows, np.repeat(np.arange(secret.k), n), seed)
        return LearnedCandidate(name, columns, model, secret)

    def _affordable(self, target: SecretTarget, dataset: Any, k: int, rng: np.random.Generator) -> int:
        """Return the number of runs of each of `k` datasets: all, or as many as fit the budget."""
        width = max(1, target.run(dataset, 1, rng).values.size)
        max_runs = MAX_TRAINING_ENTRIES // (k * width)
        if max_runs < self.minimum_pilot:
            raise AttackError(
                f"outputs of {plural(width, 'number')} are too large for the learned attack, which needs at least "
                f"{plural(self.minimum_pilot, 'pilot run')} of each of {k} candidates and keeps "
                f"{MAX_TRAINING_ENTRIES:,} numbers. Let the mechanism return fewer numbers, or use a custom "
                "Reconstructor."
            )
        return min(self.pilot_runs, max_runs)

    def _columns(self, runs: list[Outputs]) -> tuple[EventColumns, Floats]:
        """Return the map from outputs to columns, and the columns of all pilot runs."""
        shapes = sorted({run.values.shape[1:] for run in runs})
        if len(shapes) > 1:
            raise AttackError(
                f"the learned attack needs outputs of one shape, but the shape varies with the secret: {shapes[0]} and "
                f"{shapes[1]}. Let the mechanism return the same number of values always."
            )
        pilot = Outputs(np.concatenate([run.values for run in runs]), np.concatenate([run.labels for run in runs]))
        columns = EventColumns.learn(self.features, pilot)
        return columns, columns.columns(pilot)


@dataclass(frozen=True, eq=False)
class LearnedCandidate:
    """Guesser of the candidate that is most probably correct.

    Args:
        model_name: name of the trained model: "logistic", "boosting" or "table".
        columns: map from outputs to columns.
        model: returns the probabilities of all candidates under a uniform prior.
        secret: the secret, with its prior and `close`.
    """

    model_name: str
    columns: EventColumns
    model: ClassModel
    secret: OneOf

    def guess(self, outputs: Outputs) -> Ints:
        if not len(outputs):
            return np.zeros(0, dtype=np.int64)
        weights = self.model.probabilities(self.columns.columns(outputs)) * self.secret.probabilities
        if self.secret.close is not None:
            weights = weights @ np.asarray(self.secret.close, dtype=np.float64)
        return np.asarray(weights.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class LearnedBits:
    """Scores of the bits: margins of a regression.

    Args:
        columns: map from outputs to columns.
        model: regression that returns the margins.
    """

    columns: EventColumns
    model: RidgeModel

    def guess(self, outputs: Outputs) -> Floats:
        """Return margins, `(size, n)`, positive = the bit is 1."""
        return self.model.predict(self.columns.columns(outputs))
