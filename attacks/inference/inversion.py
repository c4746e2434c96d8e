"""Model inversion: what do the training examples of a class look like?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.errors import ParameterError
from ...mechanisms.validation import finite, non_negative, positive, whole
from .base import Floats
from .predictions import log_probabilities, places


@dataclass(frozen=True)
class Inversion:
    """The input that a class is most certain of, found by ascent from a public guess: black box.

        x -> maximum of log p_y(x) - (penalty / 2) |x - start|^2 within [low, high]^d

    Steps go along the gradient, by central differences of the predictions (2 d queries a step, all classes at once),
    and have a length of `rate` times the width, which is halved where a step would not rise.

    Args:
        steps: at most this many, >= 1.
        rate: length of the first step, in widths of the box, > 0.
        penalty: on the squared distance from the start: how much the public guess is believed, >= 0.
        low, high: of every feature.

    References:
        Fredrikson, Jha, Ristenpart (2015), algorithm 1 (MI-Face), without its denoising.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> X = np.repeat([[0.2, 0.8], [0.8, 0.2]], 20, axis=0)
        >>> model = LogisticRegression(C=100.0).fit(X, np.repeat([0, 1], 20))
        >>> Inversion().invert(model, [0, 1], start=[0.5, 0.5]).round(1).tolist()
        [[0.3, 0.7], [0.7, 0.3]]
    """

    steps: int = 100
    rate: float = 0.2
    penalty: float = 1.0
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        whole(1, steps=self.steps)
        positive(rate=self.rate)
        non_negative(penalty=self.penalty)
        finite(low=self.low, high=self.high)
        if not self.low < self.high:
            raise ParameterError(f"high must be above low = {self.low:g}, but is {self.high:g}.", argument="high")

    def invert(self, model: Any, labels: ArrayLike, *, start: ArrayLike) -> Floats:
        """One input for each label.

        Args:
            model: a fitted classifier with `predict_proba`, or one trained model with `log_probabilities`.
            labels: `(k,)`.
            start: `(d,)` or `(k, d)`, what is guessed without the model: the mean of public examples.

        Returns:
            `(k, d)`.

        Raises:
            AttackError: a model without probabilities, or a label that it does not know.
            ParameterError: a start outside the box, or of another shape.
        """
        wanted = np.asarray(labels)
        public = np.array(np.broadcast_to(np.asarray(start, dtype=np.float64), (len(wanted), np.shape(start)[-1])))
        if not ((public >= self.low) & (public <= self.high)).all():
            raise ParameterError(
                f"start must lie between low = {self.low:g} and high = {self.high:g} in every feature.",
                argument="start",
            )
        at = places(model, wanted, log_probabilities(model, public[:1]).shape[-1])
        found, length = public.copy(), np.full(len(wanted), self.rate * (self.high - self.low))
        best = self._values(model, found, at, public)
        for _ in range(self.steps):
            gradient = self._gradient(model, found, at, public)
            norm = np.linalg.norm(gradient, axis=1, keepdims=True)
            step = length[:, np.newaxis] * gradient / np.where(norm > 0.0, norm, 1.0)
            tried = np.clip(found + step, self.low, self.high)
            values = self._values(model, tried, at, public)
            rises = values > best
            found, best = np.where(rises[:, np.newaxis], tried, found), np.where(rises, values, best)
            length = np.where(rises, length, 0.5 * length)
            if (length < 1e-6 * (self.high - self.low)).all():
                break
        return found

    def _values(self, model: Any, x: Floats, at: NDArray[np.int64], public: Floats) -> Floats:
        """`(k,)` of what is maximised."""
        log_p = np.take_along_axis(log_probabilities(model, x), at[:, np.newaxis], axis=1)[:, 0]
        return np.asarray(np.maximum(log_p, -700.0) - 0.5 * self.penalty * ((x - public) ** 2).sum(axis=1))

    def _gradient(self, model: Any, x: Floats, at: NDArray[np.int64], public: Floats) -> Floats:
        """`(k, d)`, by central differences."""
        k, d = x.shape
        small = 1e-4 * (self.high - self.low)
        moves = small * np.eye(d)
        points = np.concatenate([x[:, np.newaxis] + moves, x[:, np.newaxis] - moves], axis=1)
        chosen = np.broadcast_to(at[:, np.newaxis, np.newaxis], (k, 2 * d, 1))
        log_p = np.maximum(np.take_along_axis(log_probabilities(model, points), chosen, axis=2)[..., 0], -700.0)
        return np.asarray((log_p[:, :d] - log_p[:, d:]) / (2.0 * small) - self.penalty * (x - public))


def closeness(found: ArrayLike, truth: ArrayLike, *, low: float = 0.0, high: float = 1.0) -> Floats:
    """1 - root mean squared error in widths of the box, `(k,)` in [0, 1]: a score that `gain` averages.

    Example:
        >>> closeness([[0.0, 0.0]], [[0.6, 0.8]]).round(3).tolist()
        [0.293]
    """
    error = np.sqrt(np.mean((np.asarray(found, np.float64) - np.asarray(truth, np.float64)) ** 2, axis=-1))
    return np.asarray(np.clip(1.0 - error / (high - low), 0.0, 1.0))
