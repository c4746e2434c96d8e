"""A reconstructor that learns from runs alone: for mechanisms of which nothing but samples is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import Outputs
from ...mechanisms.errors import AttackError, plural
from ...mechanisms.validation import whole
from ..features import Featuriser, check_kind
from ..models.multiclass import ClassModel, fit_classes
from ..models.ridge import RidgeModel, fit_ridge
from .base import FairBits, OneOf, Reconstructor, SecretTarget
from .columns import EventColumns

Floats = NDArray[np.float64]

MAX_ENTRIES = 10_000_000
"""Runs times numbers of an output, at most, that are learned from."""


@dataclass(frozen=True, kw_only=True)
class Learned(Reconstructor):
    """Guesses what a model says that has learned from runs on secrets that were known.

    It needs no output law, and works for functions of other people. Exceptional runs have columns of their own.

    Of a `OneOf` each candidate is run `pilot_runs` times. A k-class model (logistic regression on piecewise-linear
    functions, boosted trees, or counts of each distinct output, whichever has the smallest cross-validated log loss)
    gives the probability of each candidate, were all equally probable; times the prior that is the posterior, and the
    guess is the one that is most probably right, as for `MaximumLikelihood`. As the model comes near the true
    probabilities, the attack comes near the best there is.

    Of `FairBits` there are `pilot_runs` runs, each on fresh bits. The score of a bit is the margin of a ridge
    regression from the columns to all bits at once, on the columns or on piecewise-linear functions of them, whichever
    has the smaller leave-one-out error. For noisy linear answers that is, in the limit, the best linear estimate.

    Args:
        pilot_runs: runs to learn from, >= 30: of each candidate, or of all bits. They are never counted.
        features: "auto", numbers of the output and summaries of them (sum, norm, maximum, minimum, products);
            "coordinates" alone; or a function `(size, ...) -> (size, n_features)`, as for the classifier of a pair.

    Raises:
        AttackError: outputs that are not numbers, whose shape varies with the secret, or that are too large for 30
            runs of each candidate.

    Guarantees:
        * the guesses are fixed by the pilot runs and `rng` alone: rounds stay independent, and success is counted.

    References:
        Bichsel, Steffen, Bogunovic and Vechev (2021), "DP-Sniper", section 4, for two candidates.

    Example:
        >>> from dpassay.mechanisms import KAryRandomizedResponse
        >>> target = SecretTarget(KAryRandomizedResponse(epsilon=3.0, k=4), OneOf((0, 1, 2, 3)))
        >>> guesser = Learned().fit(target, np.random.default_rng(0))
        >>> guesser.model_name, guesser.guess(Outputs(np.arange(4))).tolist()
        ('table', [0, 1, 2, 3])
    """

    minimum_pilot: ClassVar[int] = 30

    pilot_runs: int = 2_000
    features: str | Featuriser = "auto"

    def __post_init__(self) -> None:
        whole(self.minimum_pilot, pilot_runs=self.pilot_runs)
        check_kind(self.features)

    def check(self, target: SecretTarget) -> None:
        """Raises `AttackError` if the secret is of another kind; whether outputs can be read, `fit` finds out."""
        if not isinstance(target.secret, (OneOf, FairBits)):
            raise AttackError(
                f"the learned attack guesses OneOf candidates or FairBits, and not a {type(target.secret).__name__}."
            )

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> LearnedCandidate | LearnedBits:
        """The guesser, after the pilot runs."""
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
        """How many runs of each of `k` datasets are made: all, or as many as fit the budget."""
        width = max(1, target.run(dataset, 1, rng).values.size)
        most = MAX_ENTRIES // (k * width)
        if most < self.minimum_pilot:
            raise AttackError(
                f"outputs of {plural(width, 'number')} are too large for the learned attack, which needs at least "
                f"{plural(self.minimum_pilot, 'pilot run')} of each of {k} candidates and keeps {MAX_ENTRIES:,} "
                "numbers. Let the mechanism return fewer numbers, or give a Reconstructor of your own."
            )
        return min(self.pilot_runs, most)

    def _columns(self, runs: list[Outputs]) -> tuple[EventColumns, Floats]:
        """What makes columns of outputs, and those of all pilot runs."""
        shapes = sorted({run.values.shape[1:] for run in runs})
        if len(shapes) > 1:
            raise AttackError(
                f"the learned attack needs outputs of one shape, but that varies with the secret: {shapes[0]} and "
                f"{shapes[1]}. Let the mechanism return the same number of values always."
            )
        events = [np.full(len(run), "") if run.events is None else run.events for run in runs]
        pilot = Outputs(np.concatenate([run.values for run in runs]), np.concatenate(events))
        columns = EventColumns.learn(self.features, pilot)
        return columns, columns.columns(pilot)


@dataclass(frozen=True, eq=False)
class LearnedCandidate:
    """The candidate that is most probably right.

    Args:
        model_name: which model was learned: "logistic", "boosting" or "table".
        columns: makes what it reads.
        model: gives the probabilities of all candidates, were they equally probable.
        secret: knows the prior, and which guess is right.
    """

    model_name: str
    columns: EventColumns
    model: ClassModel
    secret: OneOf

    def guess(self, outputs: Outputs) -> NDArray[np.int64]:
        """`(size,)` numbers of candidates."""
        if not len(outputs):
            return np.zeros(0, dtype=np.int64)
        weights = self.model.probabilities(self.columns.columns(outputs)) * self.secret.probabilities
        if self.secret.close is not None:
            weights = weights @ np.asarray(self.secret.close, dtype=np.float64)
        return np.asarray(weights.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class LearnedBits:
    """The margin of each bit.

    Args:
        columns: makes what the model reads.
        model: gives the margins.
    """

    columns: EventColumns
    model: RidgeModel

    def guess(self, outputs: Outputs) -> Floats:
        """`(size, n)` margins, positive = the bit is 1."""
        return self.model.predict(self.columns.columns(outputs))
