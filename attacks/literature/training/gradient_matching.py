"""Gradient matching: examples whose gradient equals the observed one, found by descent, many problems at once.

    minimise over X    |g(X) - seen|^2 / (2 noise^2) + sum over examples and features of (x - mean)^2 / (2 sd^2)

g is the sum of the (clipped) gradients of the examples. If the examples and the noise are normal, this is the most
probable batch. Problems and restarts are rows of one array. The derivative is analytic:
<v, gradient of the loss at (x, y)> is the derivative of the loss along v in the parameters; its derivative in x is
computed by a forward and a backward pass that both carry their derivatives along v (Pearlmutter 1994, "Fast exact
multiplication by the Hessian").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ....mechanisms.core import Bools, Floats, ParameterError, Positive, PositiveInt, check_fields, one_of_names
from ....mechanisms.learning.models.base import Model
from ....mechanisms.learning.models.trained import TrainedModels


def _hessian_vector_product(model: Model, parameters: Floats, X: Floats, y: NDArray[Any], along: Floats) -> Floats:
    """Return the derivative in x of <v, gradient of the loss>, for each example.

    Args:
        model: model with the loss.
        parameters: `(n_parameters,)` parameters of the model.
        X, y: examples, `(n, n_features)` and `(n,)`.
        along: direction v of each example, `(n, n_parameters)`.

    Returns:
        Derivatives, `(n, n_features)`. The second derivative of a ReLU at its kink is taken as 0.
    """
    weights = [layer.of(parameters[None])[0] for layer in model.layers]
    directions = [layer.of(along) for layer in model.layers]
    inputs, rates, slopes = [X], [np.zeros_like(X)], []
    for index, (w, v) in enumerate(zip(weights, directions, strict=True)):
        width = inputs[-1].shape[1]
        outputs = inputs[-1] @ w[:, :width].T
        changes = rates[-1] @ w[:, :width].T + np.einsum("nui,ni->nu", v[:, :, :width], inputs[-1])
        if model.layers[index].bias:
            outputs, changes = outputs + w[:, -1], changes + v[:, :, -1]
        if index == len(weights) - 1:
            delta, change = _loss(model, outputs, changes, y)
            break
        activated, slope, curvature = _activation(model, outputs)
        slopes.append((slope, curvature * changes))
        inputs.append(activated)
        rates.append(slope * changes)
    for index in range(len(weights) - 1, -1, -1):
        width = inputs[index].shape[1]
        w, v = weights[index][:, :width], directions[index][:, :, :width]
        delta, change = delta @ w, change @ w + np.einsum("nui,nu->ni", v, delta)
        if index:
            slope, slope_change = slopes[index - 1]
            delta, change = slope * delta, slope * change + slope_change * delta
    return np.asarray(change)


def _activation(model: Model, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Return value, first and second derivative."""
    if model.activation_name == "tanh":
        a = np.tanh(z)
        return a, 1.0 - a * a, -2.0 * a * (1.0 - a * a)
    return np.maximum(z, 0.0), (z > 0.0).astype(np.float64), np.zeros_like(z)


def _loss(model: Model, outputs: Floats, changes: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the first derivative of the loss in the outputs, and its derivative along v, both `(n, n_outputs)`."""
    first = np.ascontiguousarray(outputs.T)[None]
    model.loss.derive(first, model.loss.targets(y, np.dtype(np.float64)))
    delta = first[0].T
    if model.loss.name == "squared":
        return delta, changes
    if model.loss.name == "logistic":
        p = delta + y[:, None]
        return delta, p * (1.0 - p) * changes
    p = delta + np.eye(outputs.shape[1])[y.astype(np.intp)]
    return delta, p * (changes - np.sum(p * changes, axis=1, keepdims=True))


def matched_errors(guesses: Any, truths: Any) -> Floats:
    """Return the root mean squared error of the guess assigned to each example; inf if there is none.

    Guesses and examples are assigned to each other so that as many as possible are matched, with the smallest sum of
    squared errors.

    Args:
        guesses: `(m, n_features)` guesses; rows with NaN are no guesses.
        truths: `(n, n_features)` true examples.

    Raises:
        ParameterError: inconsistent shapes.

    Example:
        >>> matched_errors([[1.0], [np.nan], [5.0]], [[5.0], [0.0], [9.0]]).tolist()
        [0.0, 1.0, inf]
    """
    guessed, true = np.asarray(guesses, dtype=np.float64), np.asarray(truths, dtype=np.float64)
    if guessed.ndim != 2 or true.ndim != 2 or guessed.shape[1] != true.shape[1]:
        raise ParameterError(
            f"guesses and truths must have rows of equal length, but have shapes {guessed.shape} and {true.shape}.",
            argument="guesses",
        )
    guessed = guessed[~np.isnan(guessed).any(axis=1)]
    squares = np.mean((true[:, None] - guessed[None]) ** 2, axis=2)
    errors = np.full(len(true), np.inf)
    rows, columns = linear_sum_assignment(squares)
    errors[rows] = np.sqrt(squares[rows, columns])
    return errors


FLOORS = {"squared": 1e-28, "cosine": 1e-15}
"""Distance -> its size at rounding error."""
Objective = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class MatchedGradients:
    """Result of the descent.

    Args:
        x: `(size, n_examples, n_features)` examples, unordered.
        mismatch: |g(x) - seen| / |seen|, `(size,)`: near 0 if a batch with that gradient was found.
    """

    x: Floats
    mismatch: Floats


@dataclass(frozen=True, eq=False)
class GradientMatching:
    """Recovery of the batch behind a gradient, by descent.

    Args:
        model: the trained model.
        mean, sd: mean and standard deviation of the features before any observation, numbers or `(n_features,)`: the
            start of the descent and, with `noise_sd`, the prior.
        distance: "squared", or "cosine", which ignores the length of the gradient (Geiping et al. 2020) and has
            no prior.
        noise_sd: standard deviation of the noise on each coordinate of the gradient; None for no noise and no prior.
        clip_norm: clip norm of each gradient; None for no clipping.
        restarts: descents from different draws of the prior, of which the best is returned, >= 1; the first one starts
            at the mean, with a perturbation of a tenth of `sd`, so that examples differ.
        iterations: largest number of iterations, >= 1.

    Raises:
        ParameterError: a value out of range.

    Guarantees:
        * the result may be another batch, or no solution: `mismatch` shows whether it has that gradient, but not
          whether another batch has it too.

    References:
        Zhu, Liu and Han (2019), "Deep leakage from gradients"; Geiping et al. (2020) for the cosine.

    Example:
        >>> from dpassay.mechanisms.learning import MultiLayerPerceptron
        >>> rng, model = np.random.default_rng(0), MultiLayerPerceptron(4, 3, hidden=(12,))
        >>> parameters, X, y = model.random_parameters(1, rng), rng.normal(size=(2, 4)), np.array([0, 2])
        >>> seen = TrainedModels(model, parameters).gradients(X, y).sum(axis=1)
        >>> match = GradientMatching(model).recover(parameters[0], seen, y[None], rng)
        >>> bool(match.mismatch[0] < 1e-6), bool(np.abs(np.sort(match.x[0], axis=0) - np.sort(X, axis=0)).max() < 1e-5)
        (True, True)
    """

    model: Model
    _: KW_ONLY
    mean: Any = 0.0
    sd: Any = 1.0
    distance: Annotated[str, one_of_names("squared", "cosine")] = "squared"
    noise_sd: Positive | None = None
    clip_norm: Positive | None = None
    restarts: PositiveInt = 4
    iterations: PositiveInt = 500

    def __post_init__(self) -> None:
        check_fields(self)
        if self.distance == "cosine" and self.noise_sd is not None:
            raise ParameterError(
                f"noise_sd is {self.noise_sd:g}, but the distance 'cosine' is not a likelihood, and has no prior. Use "
                "distance='squared', or leave noise_sd out.",
                argument="noise_sd",
            )
        if not np.all(np.asarray(self.sd) > 0.0):
            raise ParameterError("sd must be above 0 for every feature, but is not.", argument="sd")

    def recover(self, parameters: Any, seen: Any, y: Any, rng: np.random.Generator) -> MatchedGradients:
        """Return the batch of each gradient.

        Args:
            parameters: parameters at which the gradients were taken, `(n_parameters,)`.
            seen: sums of the gradients of batches, `(size, n_parameters)`.
            y: labels of each batch, `(size, n_examples)`; for a single example, `invert_gradient` recovers them.
            rng: random generator of the starts.

        Raises:
            ParameterError: inconsistent shapes, or gradients that are 0.
        """
        theta, seen, y = np.asarray(parameters, dtype=np.float64), np.asarray(seen, dtype=np.float64), np.asarray(y)
        self._check(theta, seen, y)
        size, n, d = len(seen), y.shape[1], self.model.n_features
        repeated, labels = np.tile(seen, (self.restarts, 1)), np.tile(y, (self.restarts, 1))
        spread = np.repeat(np.r_[0.1, np.ones(self.restarts - 1)], size)[:, None, None]
        starts = self.mean + spread * self.sd * rng.standard_normal((len(repeated), n, d))
        objective = self._objective(theta, repeated, labels)
        points, values = _descend(
            objective, starts.reshape(len(starts), -1), self.iterations, floor=FLOORS[self.distance]
        )
        best = values.reshape(self.restarts, size).argmin(axis=0) * size + np.arange(size)
        x = points[best].reshape(size, n, d)
        total = self._gradients(theta, x.reshape(-1, d), y.ravel())[0].reshape(size, n, -1).sum(axis=1)
        return MatchedGradients(x, np.linalg.norm(total - seen, axis=1) / np.linalg.norm(seen, axis=1))

    def _check(self, theta: Floats, seen: Floats, y: NDArray[Any]) -> None:
        length = self.model.n_parameters
        if theta.shape != (length,) or seen.ndim != 2 or seen.shape[1] != length or y.shape[:1] != seen.shape[:1]:
            raise ParameterError(
                f"parameters must have shape ({length},), seen (size, {length}) and y (size, n_examples), but have "
                f"shapes {theta.shape}, {seen.shape} and {y.shape}.",
                argument=("parameters", "seen", "y"),
            )
        if y.ndim != 2 or not y.shape[1] or not seen.any(axis=1).all() or not np.isfinite(seen).all():
            raise ParameterError(
                "seen must be finite gradients other than 0, and y at least one label for each of them. If no "
                "unit is active the gradient is 0, and has no information.",
                argument="seen",
            )
        self.model.loss.check(y.ravel(), self.model.output_units)

    def _objective(self, theta: Floats, seen: Floats, y: NDArray[Any]) -> Objective:
        """Return a function for value and derivative of all problems, `(m,)` and `(m, n_examples * n_features)`."""
        (m, n), d = y.shape, self.model.n_features
        norms = np.linalg.norm(seen, axis=1)
        weight = 1.0 / norms**2 if self.noise_sd is None else np.full(m, self.noise_sd**-2.0)

        def objective(flat: Floats) -> tuple[Floats, Floats]:
            x = flat.reshape(m, n, d)
            gradients, scales, clipped = self._gradients(theta, x.reshape(-1, d), y.ravel())
            total = gradients.reshape(m, n, -1).sum(axis=1)
            if self.distance == "cosine":
                length = np.maximum(np.linalg.norm(total, axis=1), 1e-300)
                cosine = np.einsum("mp,mp->m", total, seen) / (length * norms)
                value = 1.0 - cosine
                residual = (cosine / length**2)[:, None] * total - seen / (length * norms)[:, None]
            else:
                value = 0.5 * weight * np.sum((total - seen) ** 2, axis=1)
                residual = weight[:, None] * (total - seen)
            along = np.repeat(residual, n, axis=0)
            if clipped.any():  # a clipped gradient changes only orthogonally to itself
                unit = gradients / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1e-300)
                part = np.where(clipped, np.einsum("np,np->n", along, unit), 0.0)
                along = scales[:, None] * (along - part[:, None] * unit)
            slope = _hessian_vector_product(self.model, theta, x.reshape(-1, d), y.ravel(), along).reshape(m, n, d)
            if self.noise_sd is not None:
                standardised = (x - self.mean) / self.sd
                value, slope = value + 0.5 * np.sum(standardised**2, axis=(1, 2)), slope + standardised / self.sd
            return value, slope.reshape(m, -1)

        return objective

    def _gradients(self, theta: Floats, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats, Bools]:
        """Return clipped gradients `(N, P)`, their scale factors, and a mask of those that were clipped."""
        gradients = TrainedModels(self.model, theta[None]).gradients(X, y)[0]
        if self.clip_norm is None:
            return gradients, np.ones(len(X)), np.zeros(len(X), dtype=np.bool_)
        norms = np.linalg.norm(gradients, axis=1)
        scales = self.clip_norm / np.maximum(norms, self.clip_norm)
        return gradients * scales[:, None], scales, norms > self.clip_norm


def _descend(
    objective: Objective, starts: Floats, iterations: int, *, floor: float, memory: int = 20
) -> tuple[Floats, Floats]:
    """Minimise many functions at once, by L-BFGS with halved steps; each stops when it decreases no more.

    Args:
        objective: maps points `(m, D)` to values `(m,)` and slopes `(m, D)`, row by row.
        starts: `(m, D)` starting points.
        iterations: largest number of iterations.
        floor: decrease of a value below which descent stops: rounding.
        memory: number of steps used to estimate the curvature.

    Returns:
        Points and values.

    References:
        Nocedal and Wright (2006), "Numerical optimization", algorithms 7.4 and 3.1.
    """
    points, active = starts.copy(), np.ones(len(starts), dtype=np.bool_)
    values, slopes = objective(points)
    steps: list[Floats] = []
    slope_changes: list[Floats] = []
    for _ in range(iterations):
        step = -_two_loops(slopes, steps, slope_changes)
        slope_along = np.einsum("md,md->m", step, slopes)
        step = np.where((slope_along < 0.0)[:, None], step, -slopes)
        slope_along = np.minimum(np.where(slope_along < 0.0, slope_along, -np.einsum("md,md->m", slopes, slopes)), 0.0)
        if not steps:
            step, slope_along = (
                part / np.maximum(1.0, np.linalg.norm(slopes, axis=1)).reshape(-1, *[1] * (part.ndim - 1))
                for part in (step, slope_along)
            )
        share = np.ones(len(points))
        candidates, new_values, new_slopes, too_high = points, values, slopes, ~active
        for _ in range(30):
            candidates = points + share[:, None] * step
            new_values, new_slopes = objective(candidates)
            too_high = ~(new_values <= values + 1e-4 * share * slope_along)
            if not (too_high & active).any():
                break
            share[too_high] *= 0.4
        stuck = too_high | ~active
        candidates = np.where(stuck[:, None], points, candidates)
        new_values, new_slopes = np.where(stuck, values, new_values), np.where(stuck[:, None], slopes, new_slopes)
        steps, slope_changes = [*steps, candidates - points][-memory:], [*slope_changes, new_slopes - slopes][-memory:]
        active = ~stuck & (values - new_values > np.maximum(floor, 1e-12 * np.abs(values)))
        points, values, slopes = candidates, new_values, new_slopes
        if not active.any():
            break
    return points, values


def _two_loops(slopes: Floats, steps: list[Floats], slope_changes: list[Floats]) -> Floats:
    """Return the inverse Hessian approximated from the last steps, times the slopes; invalid steps are ignored."""
    q, shares = slopes.copy(), []
    products = [np.einsum("md,md->m", s, t) for s, t in zip(steps, slope_changes, strict=True)]
    inverses = [np.where(p > 1e-300, 1.0 / np.where(p > 1e-300, p, 1.0), 0.0) for p in products]
    for s, t, inverse in zip(reversed(steps), reversed(slope_changes), reversed(inverses), strict=True):
        share = inverse * np.einsum("md,md->m", s, q)
        q -= share[:, None] * t
        shares.append(share)
    if steps:
        scale = products[-1] / np.maximum(np.einsum("md,md->m", slope_changes[-1], slope_changes[-1]), 1e-300)
        q *= np.where(products[-1] > 1e-300, scale, 1.0)[:, None]
    for s, t, inverse, share in zip(steps, slope_changes, inverses, reversed(shares), strict=True):
        q += (share - inverse * np.einsum("md,md->m", t, q))[:, None] * s
    return q
