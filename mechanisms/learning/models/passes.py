"""Forward and backward passes for many runs at once, without the gradient of any single example.

Arrays are `(n_runs, units, n)`: one column for each example. The inputs are `(n_runs, n, n_inputs)`, rows gathered for
each run, or `(n, n_inputs)` if all runs use the same examples; then one large product serves all runs.

For a dense layer with inputs a (the constant of the bias included) and derivative d with respect to its outputs, the
gradient of one example is the outer product d a^T, so that its squared norm is |a|^2 |d|^2, and the weighted sum over
examples is one product of matrices (Goodfellow 2015, "Efficient per-example gradient computations").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import AnyFloats
from .base import Model

MAX_DIRECT_PRODUCT = 10**6
"""Multiplications up to which OpenBLAS reads the factors in place, instead of copying them in another order."""
MIN_EXAMPLES = 64
"""Smallest number of examples of a product, unless there are fewer."""


class Workspace:
    """Arrays that are reused in every step, because fresh memory would cost more than the arithmetic."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._flat: dict[object, NDArray[Any]] = {}

    def array(self, name: object, *shape: int) -> AnyFloats:
        """Return an array of that shape with arbitrary content; the next call with the same name overwrites it."""
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is None or flat.size < size:
            flat = self._flat[name] = np.empty(size + size // 4, dtype=self.dtype)
        return flat[:size].reshape(shape)


def forward(model: Model, parameters: AnyFloats, inputs: AnyFloats, work: Workspace) -> list[AnyFloats]:
    """Return the inputs of each layer after the first, `(n_runs, n_inputs, n)`, and the outputs last.

    The outputs have shape `(n_runs, n_outputs, n)`.
    """
    activations: list[AnyFloats] = []
    n_runs, n = len(parameters), inputs.shape[-2]
    for index, layer in enumerate(model.layers):
        weights = layer.of(parameters)
        last = index == len(model.layers) - 1
        rows = layer.n_units if last else layer.n_units + layer.bias
        full = work.array(("layer", index), n_runs, rows, n)
        outputs = full[:, : layer.n_units]
        if index:
            np.matmul(weights, activations[-1], out=outputs)
        else:
            _apply(weights, inputs, outputs, work)
        if not last:
            _ACTIVATIONS[model.activation_name](outputs)
            full[:, layer.n_units :] = 1.0
        activations.append(full)
    return activations


def backward(model: Model, parameters: AnyFloats, activations: Sequence[AnyFloats], work: Workspace) -> list[AnyFloats]:
    """Return the derivatives of the loss in the outputs of each layer before activation, `(n_runs, n_units, n)`.

    `activations` is the result of `forward`, with the last entry overwritten by the derivative of the loss.
    """
    deltas = [activations[-1]]
    for index in range(len(model.layers) - 1, 0, -1):
        layer, below = model.layers[index], model.layers[index - 1]
        activated = activations[index - 1][:, : below.n_units]
        delta = work.array(("delta", index), *activated.shape)
        weights = layer.of(parameters)[:, :, : below.n_units]
        np.matmul(weights.transpose(0, 2, 1), deltas[0], out=delta)
        slope = work.array("slope", *activated.shape)
        _ACTIVATION_SLOPES[model.activation_name](activated, slope)
        delta *= slope
        deltas.insert(0, delta)
    return deltas


def squared_norms(
    model: Model, inputs_squared: AnyFloats, activations: Sequence[AnyFloats], deltas: Sequence[AnyFloats]
) -> list[AnyFloats]:
    """Return the squared norm |a|^2 |d|^2 of the gradient of each example in each layer, `(n_runs, n)` each.

    Args:
        inputs_squared: |a|^2 of the first layer, `(n_runs, n)` or `(n,)`.
        activations, deltas: the results of `forward` and `backward`.
    """
    norms = []
    for index, delta in enumerate(deltas):
        norm = np.einsum("rkn,rkn->rn", delta, delta)
        norm *= (
            inputs_squared if index == 0 else np.einsum("rkn,rkn->rn", activations[index - 1], activations[index - 1])
        )
        norms.append(norm)
    return norms


def accumulate(
    model: Model,
    inputs: AnyFloats,
    activations: Sequence[AnyFloats],
    deltas: Sequence[AnyFloats],
    out: AnyFloats,
    work: Workspace,
) -> None:
    """Write the sum of the gradients of all examples into `out`, `(n_runs, n_parameters)`."""
    for index, (layer, delta) in enumerate(zip(model.layers, deltas, strict=True)):
        total = layer.of(out)
        if index:
            np.matmul(delta, activations[index - 1].transpose(0, 2, 1), out=total)
        else:
            _gather(delta, inputs, total, work)


def _apply(weights: AnyFloats, inputs: AnyFloats, out: AnyFloats, work: Workspace) -> None:
    """Write weights @ inputs^T of each run into `out`."""
    if inputs.ndim == 3:
        columns = work.array("columns", len(weights), weights.shape[2], weights.shape[1])
        np.copyto(columns, weights.transpose(0, 2, 1))  # two contiguous factors: several times as fast
        for part in _parts(inputs, out.shape[1]):
            piece = work.array("piece", len(out), part.stop - part.start, out.shape[1])
            np.matmul(inputs[:, part], columns, out=piece)
            np.copyto(out[:, :, part], piece.transpose(0, 2, 1))
    elif out.flags.c_contiguous:
        np.matmul(weights.reshape(-1, weights.shape[2]), inputs.T, out=out.reshape(-1, len(inputs)))
    else:
        np.matmul(weights, inputs.T, out=out)


def _gather(deltas: AnyFloats, inputs: AnyFloats, out: AnyFloats, work: Workspace) -> None:
    """Write deltas @ inputs of each run into `out`."""
    if inputs.ndim == 2 and out.flags.c_contiguous:
        np.matmul(deltas.reshape(-1, len(inputs)), inputs, out=out.reshape(-1, inputs.shape[1]))
        return
    if inputs.ndim == 2:
        np.matmul(deltas, inputs, out=out)
        return
    for part in _parts(inputs, out.shape[1]):
        if part.start == 0:
            np.matmul(deltas[:, :, part], inputs[:, part], out=out)
        else:
            more = work.array("more", *out.shape)
            np.matmul(deltas[:, :, part], inputs[:, part], out=more)
            out += more


def _parts(inputs: AnyFloats, n_units: int) -> Iterator[slice]:
    """Yield the examples of one product of each run: small products need no copies, and stay in the cache."""
    n, n_inputs = inputs.shape[1:]
    size = max(MAX_DIRECT_PRODUCT // max(n_inputs * n_units, 1), MIN_EXAMPLES)
    yield from (slice(start, min(start + size, n)) for start in range(0, n, size))


def _relu(values: AnyFloats) -> None:
    np.maximum(values, 0.0, out=values)


def _tanh(values: AnyFloats) -> None:
    np.tanh(values, out=values)


def _tanh_slope(activated: AnyFloats, out: AnyFloats) -> None:
    """Write 1 - tanh^2 into `out`."""
    np.multiply(activated, activated, out=out)
    np.subtract(1.0, out, out=out)


def _relu_slope(activated: AnyFloats, out: AnyFloats) -> None:
    np.greater(activated, 0.0, out=out, casting="unsafe")


_ACTIVATIONS = {"tanh": _tanh, "relu": _relu}
_ACTIVATION_SLOPES = {"tanh": _tanh_slope, "relu": _relu_slope}
