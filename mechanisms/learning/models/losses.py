"""Losses of a batch of runs: derivatives with respect to the outputs, and class probabilities.

Outputs are `(n_runs, n_outputs, n)`, one column for each example: sums over classes are then sums over whole rows of
memory.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core import Floats, ParameterError
from ..base import AnyFloats

Labels = NDArray[Any]


class LossFunction(Protocol):
    """Interface of a loss."""

    name: ClassVar[str]

    def check(self, y: Labels, n_outputs: int) -> None:
        """Raise `ParameterError` if a label is not valid for the loss."""

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        """Return the labels in the form that the other methods require."""

    def derive(self, outputs: AnyFloats, targets: Labels) -> None:
        """Overwrite outputs by the derivative of the loss with respect to them.

        Args:
            outputs: `(n_runs, n_outputs, n)`.
            targets: `(n_runs, n)`, or `(n,)` if all runs use the same examples.
        """

    def values(self, outputs: AnyFloats, targets: Labels) -> AnyFloats:
        """Return the loss of each example, `(n_runs, n)`, for outputs and targets of the shapes of `derive`."""

    def log_probabilities(self, outputs: AnyFloats) -> Floats:
        """Return the log probability of each class, `(n_runs, n, n_classes)`.

        Raises:
            ParameterError: the model is a regression.
        """


class Softmax:
    """Cross-entropy -log p_y of the softmax of the outputs, with derivative p - e_y."""

    name: ClassVar[str] = "softmax"

    def check(self, y: Labels, n_outputs: int) -> None:
        _check_classes(y, n_outputs)

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        return y.astype(np.intp)

    def derive(self, outputs: AnyFloats, targets: Labels) -> None:
        outputs -= outputs.max(axis=1, keepdims=True)
        np.exp(outputs, out=outputs)
        outputs /= outputs.sum(axis=1, keepdims=True)
        runs, n_outputs, n = outputs.shape
        if targets.ndim == 1:
            outputs[:, targets, np.arange(n)] -= 1.0
        else:
            positions = targets * n
            positions += np.arange(n)
            positions += (n_outputs * n) * np.arange(runs)[:, None]
            outputs.reshape(-1)[positions] -= 1.0

    def values(self, outputs: AnyFloats, targets: Labels) -> AnyFloats:
        log_probabilities = _log_softmax(outputs)
        labels = np.broadcast_to(targets, (len(outputs), outputs.shape[2]))
        return -np.take_along_axis(log_probabilities, labels[:, None, :], axis=1)[:, 0, :]

    def log_probabilities(self, outputs: AnyFloats) -> Floats:
        return np.ascontiguousarray(_log_softmax(outputs.astype(np.float64)).transpose(0, 2, 1))


class Logistic:
    """Cross-entropy log(1 + e^z) - y z of one logit z with labels 0 and 1, with derivative sigmoid(z) - y."""

    name: ClassVar[str] = "logistic"

    def check(self, y: Labels, n_outputs: int) -> None:
        _check_classes(y, 2)

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        return y.astype(dtype)

    def derive(self, outputs: AnyFloats, targets: Labels) -> None:
        outputs *= 0.5
        np.tanh(outputs, out=outputs)
        outputs += 1.0
        outputs *= 0.5
        outputs[:, 0, :] -= targets

    def values(self, outputs: AnyFloats, targets: Labels) -> AnyFloats:
        z = outputs[:, 0, :]
        loss: AnyFloats = np.logaddexp(0.0, z) - targets * z
        return loss

    def log_probabilities(self, outputs: AnyFloats) -> Floats:
        z = outputs[:, 0, :].astype(np.float64)
        log_probabilities: Floats = np.stack([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)], axis=-1)
        return log_probabilities


class Squared:
    """Half the squared error (z - y)^2 / 2 of one output, with derivative z - y."""

    name: ClassVar[str] = "squared"

    def check(self, y: Labels, n_outputs: int) -> None:
        """Accept every finite number as a target."""

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        return y.astype(dtype)

    def derive(self, outputs: AnyFloats, targets: Labels) -> None:
        outputs[:, 0, :] -= targets

    def values(self, outputs: AnyFloats, targets: Labels) -> AnyFloats:
        loss: AnyFloats = 0.5 * (outputs[:, 0, :] - targets) ** 2
        return loss

    def log_probabilities(self, outputs: AnyFloats) -> Floats:
        raise ParameterError(
            "a regression has no classes, and so no class probabilities. Use outputs or losses, or train a classifier."
        )


LOSSES: dict[str, LossFunction] = {loss.name: loss for loss in (Softmax(), Logistic(), Squared())}


def _log_softmax(outputs: AnyFloats) -> AnyFloats:
    shifted: AnyFloats = outputs - outputs.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def _check_classes(y: Labels, n_classes: int) -> None:
    wrong = (y < 0) | (y >= n_classes) | (y != np.floor(y) if y.dtype.kind == "f" else False)
    if np.any(wrong):
        raise ParameterError(
            f"y must hold class labels, whole numbers from 0 to {n_classes - 1}, but holds {y[wrong][0]}. Number the "
            "classes from 0, or increase the number of classes of the model.",
            argument="y",
        )
