"""Trained models, many at once, which membership attacks query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Floats, ParameterError
from ..base import AnyFloats, TrainingData
from .base import Model
from .passes import Workspace, backward, forward, squared_norms

QUERY_BYTES = 16 * 2**20
"""Memory for the outputs that are computed at once."""


@dataclass(frozen=True, eq=False)
class TrainedModels:
    """Trained models of one configuration with their parameters.

    Args:
        model: the configuration.
        parameters: `(n_models, n_parameters)`.

    Raises:
        ParameterError: parameters of another length.
    """

    model: Model
    parameters: AnyFloats

    def __post_init__(self) -> None:
        if self.parameters.ndim != 2 or self.parameters.shape[1] != self.model.n_parameters:
            raise ParameterError(
                f"parameters must have shape (n_models, {self.model.n_parameters}), one flat row for each model, but "
                f"have shape {self.parameters.shape}.",
                argument="parameters",
            )

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def n_classes(self) -> int:
        """Number of classes; raises `ParameterError` for a regression."""
        return self.model.n_labels

    def outputs(self, X: AnyFloats) -> AnyFloats:
        """Return the outputs of the last layer before any softmax, `(n_models, n, n_outputs)`."""
        data = self._data(X)
        values = np.empty((len(self), data.n_examples, self.model.output_units), dtype=self.parameters.dtype)
        for models, outputs in self._each(data):
            values[models] = outputs[-1].transpose(0, 2, 1)
        return values

    def log_probabilities(self, X: AnyFloats) -> Floats:
        """Return the log probability of each class, `(n_models, n, n_classes)`, by a stable log-softmax."""
        data = self._data(X)
        values = np.empty((len(self), data.n_examples, self.n_classes))
        for models, outputs in self._each(data):
            values[models] = self.model.loss.log_probabilities(outputs[-1])
        return values

    def losses(self, X: AnyFloats, y: NDArray[Any]) -> Floats:
        """Return the loss of each example, `(n_models, n)`."""
        data = self._data(X, y)
        targets = self.model.loss.targets(data.y, self.parameters.dtype)
        values = np.empty((len(self), data.n_examples))
        for models, outputs in self._each(data):
            values[models] = self.model.loss.values(outputs[-1], targets)
        return values

    def gradients(self, X: AnyFloats, y: NDArray[Any]) -> Floats:
        """Return the gradient of the loss at each example in the flat parameters, `(n_models, n, n_parameters)`."""
        data = self._data(X, y)
        gradients = np.empty((len(self), data.n_examples, self.model.n_parameters))
        for models, inputs, deltas in self._derived(data):
            for layer, into, delta in zip(self.model.layers, inputs, deltas, strict=True):
                outer = np.einsum("rkn,rin->rnki", delta, into)
                gradients[models, :, layer.span] = outer.reshape(*outer.shape[:2], -1)
        return gradients

    def gradient_norms(self, X: AnyFloats, y: NDArray[Any]) -> Floats:
        """Return the L2 norm of each gradient, `(n_models, n)`, without storing the gradients."""
        data = self._data(X, y)
        norms = np.empty((len(self), data.n_examples))
        for models, inputs, deltas in self._derived(data):
            squared = np.einsum("rin,rin->rn", inputs[0], inputs[0])
            norms[models] = np.sqrt(np.sum(squared_norms(self.model, squared, inputs[1:], deltas), axis=0))
        return norms

    def _data(self, X: AnyFloats, y: NDArray[Any] | None = None) -> TrainingData:
        X = np.asarray(X)
        data = TrainingData(X, np.zeros(len(X)) if y is None else y)
        self.model.check(data)
        return data

    def _each(self, data: TrainingData) -> Iterator[tuple[slice, list[AnyFloats]]]:
        """Yield blocks of models, and their result of a forward pass."""
        inputs = self.model.inputs(data.X, self.parameters.dtype)
        work = Workspace(self.parameters.dtype)
        widths = sum(layer.n_units for layer in self.model.layers)
        length = max(1, QUERY_BYTES // max(1, widths * len(inputs) * inputs.itemsize))
        for start in range(0, len(self), length):
            models = slice(start, start + length)
            yield models, forward(self.model, self.parameters[models], inputs, work)

    def _derived(self, data: TrainingData) -> Iterator[tuple[slice, list[AnyFloats], list[AnyFloats]]]:
        """Yield blocks of models, the inputs of each layer, and the derivatives in the outputs of each layer."""
        first = self.model.inputs(data.X, self.parameters.dtype).T[None]
        targets = self.model.loss.targets(data.y, self.parameters.dtype)
        work = Workspace(self.parameters.dtype)
        for models, activations in self._each(data):
            self.model.loss.derive(activations[-1], targets)
            deltas = backward(self.model, self.parameters[models], activations, work)
            yield models, [np.broadcast_to(first, (len(activations[-1]), *first.shape[1:])), *activations[:-1]], deltas
