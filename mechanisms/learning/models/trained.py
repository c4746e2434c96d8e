"""Trained models, many at once: what membership attacks query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ..base import Floats, TrainingData
from .base import Model
from .passes import Workspace, backward, forward, squared_norms

QUERY_BYTES = 16 * 2**20
"""Memory of the outputs that are computed at once."""


@dataclass(frozen=True, eq=False)
class TrainedModels:
    """Models of one shape with their parameters.

    Args:
        model: the shape.
        parameters: `(n_models, n_parameters)`.

    Raises:
        ParameterError: parameters of another length.
    """

    model: Model
    parameters: Floats

    def __post_init__(self) -> None:
        if self.parameters.ndim != 2 or self.parameters.shape[1] != self.model.n_parameters:
            raise ParameterError(
                f"parameters must have shape (n_models, {self.model.n_parameters}), one flat row a model, but have "
                f"shape {self.parameters.shape}.",
                argument="parameters",
            )

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def n_classes(self) -> int:
        """Raises `ParameterError` for a regression."""
        return self.model.n_labels

    def outputs(self, X: Floats) -> Floats:
        """Outputs of the last layer, before any softmax, `(n_models, n, n_outputs)`."""
        data = self._data(X)
        found = np.empty((len(self), data.n_examples, self.model.output_units), dtype=self.parameters.dtype)
        for models, outputs in self._each(data):
            found[models] = outputs[-1].transpose(0, 2, 1)
        return found

    def log_probabilities(self, X: Floats) -> NDArray[np.float64]:
        """Log probability of each class, `(n_models, n, n_classes)`, by a stable log-softmax."""
        data = self._data(X)
        found = np.empty((len(self), data.n_examples, self.n_classes))
        for models, outputs in self._each(data):
            found[models] = self.model.loss.log_probabilities(outputs[-1])
        return found

    def losses(self, X: Floats, y: NDArray[Any]) -> NDArray[np.float64]:
        """Loss of each example, `(n_models, n)`."""
        data = self._data(X, y)
        targets = self.model.loss.targets(data.y, self.parameters.dtype)
        found = np.empty((len(self), data.n_examples))
        for models, outputs in self._each(data):
            found[models] = self.model.loss.values(outputs[-1], targets)
        return found

    def gradients(self, X: Floats, y: NDArray[Any]) -> NDArray[np.float64]:
        """Gradient of the loss at each example with respect to the flat parameters, `(n_models, n, n_parameters)`."""
        data = self._data(X, y)
        found = np.empty((len(self), data.n_examples, self.model.n_parameters))
        for models, inputs, deltas in self._derived(data):
            for layer, into, delta in zip(self.model.layers, inputs, deltas, strict=True):
                outer = np.einsum("rkn,rin->rnki", delta, into)
                found[models, :, layer.span] = outer.reshape(*outer.shape[:2], -1)
        return found

    def gradient_norms(self, X: Floats, y: NDArray[Any]) -> NDArray[np.float64]:
        """L2 norm of each of these gradients, `(n_models, n)`, without making them."""
        data = self._data(X, y)
        found = np.empty((len(self), data.n_examples))
        for models, inputs, deltas in self._derived(data):
            squared = np.einsum("rin,rin->rn", inputs[0], inputs[0])
            found[models] = np.sqrt(np.sum(squared_norms(self.model, squared, inputs[1:], deltas), axis=0))
        return found

    def _data(self, X: Floats, y: NDArray[Any] | None = None) -> TrainingData:
        X = np.asarray(X)
        data = TrainingData(X, np.zeros(len(X)) if y is None else y)
        self.model.check(data)
        return data

    def _each(self, data: TrainingData) -> Iterator[tuple[slice, list[Floats]]]:
        """Some models, and what a forward pass gives for them."""
        inputs = self.model.inputs(data.X, self.parameters.dtype)
        work = Workspace(self.parameters.dtype)
        widths = sum(layer.n_units for layer in self.model.layers)
        length = max(1, QUERY_BYTES // max(1, widths * len(inputs) * inputs.itemsize))
        for start in range(0, len(self), length):
            models = slice(start, start + length)
            yield models, forward(self.model, self.parameters[models], inputs, work)

    def _derived(self, data: TrainingData) -> Iterator[tuple[slice, list[Floats], list[Floats]]]:
        """Some models, the inputs of each of their layers, and the derivatives with respect to its outputs."""
        first = self.model.inputs(data.X, self.parameters.dtype).T[None]
        targets = self.model.loss.targets(data.y, self.parameters.dtype)
        work = Workspace(self.parameters.dtype)
        for models, found in self._each(data):
            self.model.loss.derive(found[-1], targets)
            deltas = backward(self.model, self.parameters[models], found, work)
            yield models, [np.broadcast_to(first, (len(found[-1]), *first.shape[1:])), *found[:-1]], deltas
