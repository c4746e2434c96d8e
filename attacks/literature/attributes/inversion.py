"""Model inversion: reconstruction of a typical training example of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import Finite, Floats, Ints, NonNegative, ParameterError, Positive, PositiveInt, check_fields
from .predictions import class_indices, log_probabilities


@dataclass(frozen=True)
class Inversion:
    """Input to which the model gives a class the highest probability, found by black-box ascent from a public guess.

        x -> maximum of log p_y(x) - (penalty / 2) |x - start|^2 within [low, high]^d

    Steps go along the gradient, by central differences of the predictions (2 d queries a step, all classes at once),
    with a length of `rate` times the width, which is halved if a step would not increase the value.

    Args:
        steps: largest number of steps, >= 1.
        rate: length of the first step, in widths of the box, > 0.
        penalty: weight of the squared distance from the start, >= 0.
        low, high: range of every feature.

    References:
        Fredrikson, Jha, Ristenpart (2015), algorithm 1 (MI-Face), without its denoising.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> X = np.repeat([[0.2, 0.8], [0.8, 0.2]], 20, axis=0)
        >>> model = LogisticRegression(C=100.0).fit(X, np.repeat([0, 1], 20))
        >>> Inversion().invert(model, [0, 1], start=[0.5, 0.5]).round(1).tolist()
        [[0.3, 0.7], [0.7, 0.3]]
    """

    steps: PositiveInt = 100
    rate: Positive = 0.2
    penalty: NonNegative = 1.0
    low: Finite = 0.0
    high: Finite = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.low < self.high:
            raise ParameterError(f"high must be above low = {self.low:g}, but is {self.high:g}.", argument="high")

    def invert(self, model: Any, labels: ArrayLike, *, start: ArrayLike) -> Floats:
        """Return one input for each label.

        Args:
            model: a fitted classifier with `predict_proba`, or one trained model with `log_probabilities`.
            labels: `(k,)` classes.
            start: `(d,)` or `(k, d)`, guess without the model, such as the mean of public examples.

        Returns:
            Inputs, `(k, d)`.

        Raises:
            AttackError: a model without probabilities, or a label that is not one of its classes.
            ParameterError: a start outside the box, or of another shape.
        """
        classes = np.asarray(labels)
        public = np.array(np.broadcast_to(np.asarray(start, dtype=np.float64), (len(classes), np.shape(start)[-1])))
        if not ((public >= self.low) & (public <= self.high)).all():
            raise ParameterError(
                f"start must lie between low = {self.low:g} and high = {self.high:g} in every feature.",
                argument="start",
            )
        class_index = class_indices(model, classes, log_probabilities(model, public[:1]).shape[-1])
        inputs, length = public.copy(), np.full(len(classes), self.rate * (self.high - self.low))
        best = self._values(model, inputs, class_index, public)
        for _ in range(self.steps):
            gradient = self._gradient(model, inputs, class_index, public)
            norm = np.linalg.norm(gradient, axis=1, keepdims=True)
            step = length[:, np.newaxis] * gradient / np.where(norm > 0.0, norm, 1.0)
            candidates = np.clip(inputs + step, self.low, self.high)
            values = self._values(model, candidates, class_index, public)
            improved = values > best
            inputs, best = np.where(improved[:, np.newaxis], candidates, inputs), np.where(improved, values, best)
            length = np.where(improved, length, 0.5 * length)
            if (length < 1e-6 * (self.high - self.low)).all():
                break
        return inputs

    def _values(self, model: Any, x: Floats, class_index: Ints, public: Floats) -> Floats:
        """Return the values of the maximised function, `(k,)`."""
        log_p = np.take_along_axis(log_probabilities(model, x), class_index[:, np.newaxis], axis=1)[:, 0]
        return np.asarray(np.maximum(log_p, -700.0) - 0.5 * self.penalty * ((x - public) ** 2).sum(axis=1))

    def _gradient(self, model: Any, x: Floats, class_index: Ints, public: Floats) -> Floats:
        """Return the gradient, `(k, d)`, by central differences."""
        k, d = x.shape
        small = 1e-4 * (self.high - self.low)
        moves = small * np.eye(d)
        points = np.concatenate([x[:, np.newaxis] + moves, x[:, np.newaxis] - moves], axis=1)
        selected_class = np.broadcast_to(class_index[:, np.newaxis, np.newaxis], (k, 2 * d, 1))
        log_p = np.maximum(np.take_along_axis(log_probabilities(model, points), selected_class, axis=2)[..., 0], -700.0)
        return np.asarray((log_p[:, :d] - log_p[:, d:]) / (2.0 * small) - self.penalty * (x - public))


def closeness(recovered: ArrayLike, truth: ArrayLike, *, low: float = 0.0, high: float = 1.0) -> Floats:
    """Return 1 - root mean squared error in widths of the box, `(k,)` in [0, 1]: a score that `gain` averages.

    Example:
        >>> closeness([[0.0, 0.0]], [[0.6, 0.8]]).round(3).tolist()
        [0.293]
    """
    error = np.sqrt(np.mean((np.asarray(recovered, np.float64) - np.asarray(truth, np.float64)) ** 2, axis=-1))
    return np.asarray(np.clip(1.0 - error / (high - low), 0.0, 1.0))
