"""GEM: a network that turns noise into mixtures of product distributions (Liu, Vietri and Wu 2021)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import softmax

from ....core import Floats, Positive, PositiveInt, whole
from .objective import LeastSquaresProblem
from .product_mixtures import MixtureGenerator, adam, error_gradients, through_softmax


@dataclass(frozen=True)
class GeneratorNetwork(MixtureGenerator):
    """Generator network f_theta, fitted by gradients of its answers.

    z ~ N(0, I) passes through fully connected layers with ReLU; a softmax over the values of each attribute turns the
    result into a product distribution, and the mixture over `n_samples` fixed draws of z is the fitted distribution.
    Adam minimises the squared error of the answers, each divided by the variance of its noise. A relaxed table stores
    its rows separately; a network shares parameters between them. (Liu, Vietri and Wu 2021 measure the worst queries in
    rounds and fit these; here every answer counts, as in equation 1 of McKenna, Miklau and Sheldon 2021.)

    Args:
        n_samples: draws of z, the rows of the mixture, >= 1.
        n_latent: coordinates of z, >= 1.
        hidden: width of each hidden layer, at least one.
        steps: number of steps of Adam, >= 1.
        learning_rate: rate of the first step, > 0.

    Guarantees:
        * The fit is a distribution; it need not be the best one (the squared error is not convex in the
          parameters).
        * The result of a run depends only on its own answers and draws; all draws are made before the first step.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Domain
        >>> from dpassay.mechanisms.literature.synthetic_data import NoisyMarginal
        >>> domain = Domain({"sex": 2, "race": 2})
        >>> measured = [NoisyMarginal(("sex", "race"), np.array([[40.0, 10.0, 0.0, 50.0]]), 1.0)]
        >>> fitted = GeneratorNetwork(n_samples=50).fit(domain, measured, np.random.default_rng(0))
        >>> fitted.marginal(["sex", "race"]).round()
        array([[40., 10.,  0., 50.]])
    """

    n_samples: PositiveInt = 200
    n_latent: PositiveInt = 16
    hidden: tuple[int, ...] = (128,)
    steps: PositiveInt = 500
    learning_rate: Positive = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hidden", tuple(self.hidden))
        whole(1, **{f"hidden[{k}]": width for k, width in enumerate(self.hidden)}, **{"len(hidden)": len(self.hidden)})

    def _widths(self, n_values: Sequence[int]) -> tuple[int, ...]:
        """Return the width of each layer, the first and the last included."""
        return (self.n_latent, *self.hidden, sum(n_values))

    def _numbers_per_run(self, n_values: Sequence[int]) -> int:
        widths = self._widths(n_values)
        return max(self.n_samples * max(widths), max(a * b for a, b in pairwise(widths)))

    def _rows(self, problem: LeastSquaresProblem, n_values: Sequence[int], rng: np.random.Generator) -> list[Floats]:
        widths = self._widths(n_values)
        sizes = [a * b for a, b in pairwise(widths)]
        drawn = rng.normal(size=(problem.size, self.n_samples * self.n_latent + sum(sizes)))
        z, *flat = np.split(drawn, np.cumsum([self.n_samples * self.n_latent, *sizes])[:-1], axis=1)
        network = Network(z.reshape(problem.size, self.n_samples, self.n_latent), tuple(n_values))

        def gradients(parameters: Sequence[Floats]) -> list[Floats]:
            columns, layers = network.forward(parameters)
            return network.backward(parameters, columns, layers, error_gradients(problem, columns))

        start = network.start(flat, widths)
        fitted_parameters = adam(start, gradients, steps=self.steps, rate=self.learning_rate)
        return network.forward(fitted_parameters)[0]


@dataclass(frozen=True, eq=False)
class Network:
    """Fully connected layers with ReLU and a softmax for each attribute; parameters alternate weights and biases.

    Args:
        z: input, `(size, n_samples, n_latent)`.
        values: number of values of each output attribute.
    """

    z: Floats
    values: tuple[int, ...]

    def start(self, flat: Sequence[Floats], widths: Sequence[int]) -> list[Floats]:
        """Return initial weights of variance 2 / (inputs of a unit), for ReLU (He et al. 2015), and biases 0."""
        parameters = []
        for draws, (n_in, n_out) in zip(flat, pairwise(widths), strict=True):
            parameters.append(math.sqrt(2.0 / n_in) * draws.reshape(len(draws), n_in, n_out))
            parameters.append(np.zeros((len(draws), 1, n_out)))
        return parameters

    def forward(self, parameters: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
        """Return the weights of each attribute, `(size, n_samples, n_values)`, and the input of each layer."""
        layers = [self.z]
        for weights, biases in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            layers.append(np.maximum(layers[-1] @ weights + biases, 0.0))
        logits = layers[-1] @ parameters[-2] + parameters[-1]
        parts = np.split(logits, np.cumsum(self.values)[:-1], axis=2)
        return [softmax(part, axis=2) for part in parts], layers

    def backward(
        self,
        parameters: Sequence[Floats],
        columns: Sequence[Floats],
        layers: Sequence[Floats],
        gradients: Sequence[Floats],
    ) -> list[Floats]:
        """Return gradients by the parameters, from the gradients by the weights of each attribute."""
        pairs = zip(columns, gradients, strict=True)
        error = np.concatenate([through_softmax(column, gradient) for column, gradient in pairs], axis=2)
        parameter_gradients: list[Floats] = []
        for layer, weights in zip(reversed(layers), reversed(parameters[::2]), strict=True):
            parameter_gradients = [
                layer.transpose(0, 2, 1) @ error,
                error.sum(axis=1, keepdims=True),
                *parameter_gradients,
            ]
            error = (error @ weights.transpose(0, 2, 1)) * (layer > 0.0)
        return parameter_gradients
