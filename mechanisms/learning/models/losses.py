"""Losses of a batch of runs: their derivative with respect to the outputs, and the law of the label that they imply.

Outputs are `(n_runs, n_outputs, n)`, one column an example: sums over classes then run over whole rows of memory.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ..base import Floats

Labels = NDArray[Any]


class Loss(Protocol):
    """What training needs to know of a loss."""

    name: ClassVar[str]

    def check(self, y: Labels, n_outputs: int) -> None:
        """Raises `ParameterError` if a label is none that the loss knows."""
        ...

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        """Labels as the other methods take them."""
        ...

    def derive(self, outputs: Floats, targets: Labels) -> None:
        """Overwrites outputs `(n_runs, n_outputs, n)` by the derivative of the loss with respect to them; targets are
        `(n_runs, n)`, or `(n,)` where all runs see the same examples."""
        ...

    def values(self, outputs: Floats, targets: Labels) -> Floats:
        """Loss of each example, `(n_runs, n)`, from outputs and targets as above."""
        ...

    def log_probabilities(self, outputs: Floats) -> NDArray[np.float64]:
        """Log probability of each class, `(n_runs, n, n_classes)`; raises `ParameterError` for a regression."""
        ...


class Softmax:
    """Cross-entropy of the softmax of the outputs: -log p_y. Derivative p - e_y."""

    name: ClassVar[str] = "softmax"

    def check(self, y: Labels, n_outputs: int) -> None:
        _check_classes(y, n_outputs)

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        return y.astype(np.intp)

    def derive(self, outputs: Floats, targets: Labels) -> None:
        outputs -= outputs.max(axis=1, keepdims=True)
        np.exp(outputs, out=outputs)
        outputs /= outputs.sum(axis=1, keepdims=True)
        runs, n_outputs, n = outputs.shape
        if targets.ndim == 1:
            outputs[:, targets, np.arange(n)] -= 1.0
        else:
            at = targets * n
            at += np.arange(n)
            at += (n_outputs * n) * np.arange(runs)[:, None]
            outputs.reshape(-1)[at] -= 1.0

    def values(self, outputs: Floats, targets: Labels) -> Floats:
        every = _log_softmax(outputs)
        at = np.broadcast_to(targets, (len(outputs), outputs.shape[2]))
        return -np.take_along_axis(every, at[:, None, :], axis=1)[:, 0, :]

    def log_probabilities(self, outputs: Floats) -> NDArray[np.float64]:
        return np.ascontiguousarray(_log_softmax(outputs.astype(np.float64)).transpose(0, 2, 1))


class Logistic:
    """Cross-entropy of one logit z, labels 0 and 1: log(1 + e^z) - y z. Derivative sigmoid(z) - y."""

    name: ClassVar[str] = "logistic"

    def check(self, y: Labels, n_outputs: int) -> None:
        _check_classes(y, 2)

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        return y.astype(dtype)

    def derive(self, outputs: Floats, targets: Labels) -> None:
        outputs *= 0.5
        np.tanh(outputs, out=outputs)
        outputs += 1.0
        outputs *= 0.5
        outputs[:, 0, :] -= targets

    def values(self, outputs: Floats, targets: Labels) -> Floats:
        z = outputs[:, 0, :]
        loss: Floats = np.logaddexp(0.0, z) - targets * z
        return loss

    def log_probabilities(self, outputs: Floats) -> NDArray[np.float64]:
        z = outputs[:, 0, :].astype(np.float64)
        found: NDArray[np.float64] = np.stack([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)], axis=-1)
        return found


class Squared:
    """Half the squared error of one output: (z - y)^2 / 2. Derivative z - y."""

    name: ClassVar[str] = "squared"

    def check(self, y: Labels, n_outputs: int) -> None:
        """Every finite number is a target."""

    def targets(self, y: Labels, dtype: np.dtype[Any]) -> Labels:
        return y.astype(dtype)

    def derive(self, outputs: Floats, targets: Labels) -> None:
        outputs[:, 0, :] -= targets

    def values(self, outputs: Floats, targets: Labels) -> Floats:
        loss: Floats = 0.5 * (outputs[:, 0, :] - targets) ** 2
        return loss

    def log_probabilities(self, outputs: Floats) -> NDArray[np.float64]:
        raise ParameterError(
            "a regression has no classes, and so no class probabilities. Ask for outputs or losses, or train a "
            "classifier."
        )


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Softmax(), Logistic(), Squared())}


def _log_softmax(outputs: Floats) -> Floats:
    shifted: Floats = outputs - outputs.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def _check_classes(y: Labels, n_classes: int) -> None:
    wrong = (y < 0) | (y >= n_classes) | (y != np.floor(y) if y.dtype.kind == "f" else False)
    if np.any(wrong):
        raise ParameterError(
            f"y must hold class labels, whole numbers from 0 to {n_classes - 1}, but holds {y[wrong][0]}. Number the "
            "classes from 0, or give the model as many classes as there are.",
            argument="y",
        )
