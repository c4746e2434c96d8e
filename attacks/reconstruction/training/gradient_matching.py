"""Gradient matching: examples whose gradient is the one that was seen, found by descent, many problems at once.

    minimise over X    |g(X) - seen|^2 / (2 noise^2) + sum over examples and features of (x - mean)^2 / (2 sd^2)

g is the sum of the (clipped) gradients of the examples. If the examples are normal and the noise is, this is the most
probable batch. The derivative is analytic (derivatives.py); problems and restarts are rows of one array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.errors import ParameterError
from ....mechanisms.learning.models.base import Model
from ....mechanisms.learning.models.trained import TrainedModels
from ....mechanisms.validation import one_of, positive, whole
from .derivatives import turn
from .regression import Floats

FLOORS = {"squared": 1e-28, "cosine": 1e-15}
"""Distance -> what rounding leaves of it."""
Objective = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class MatchedGradients:
    """What descent arrived at.

    Args:
        x: `(size, n_examples, n_features)`, in no order.
        mismatch: |g(x) - seen| / |seen|, `(size,)`: near 0 where a batch with that gradient was found.
    """

    x: Floats
    mismatch: Floats


@dataclass(frozen=True, eq=False)
class GradientMatching:
    """The batch behind a gradient, by descent.

    Args:
        model: what was trained.
        mean, sd: of the features before anything is seen, numbers or `(n_features,)`: where descent starts, and with
            `noise_sd` the prior.
        distance: "squared", or "cosine", which leaves the length of the gradient aside (Geiping et al. 2020) and knows
            no prior.
        noise_sd: of the noise on each coordinate of the gradient; None for none, and no prior.
        clip_norm: of each gradient; None for no clipping.
        restarts: descents from different draws of the prior, of which the best is kept, >= 1; the first one starts at
            the mean, up to a tenth of `sd` that tells examples apart.
        iterations: >= 1.

    Raises:
        ParameterError: a value out of range.

    Guarantees:
        * it may end in another batch, or in none: `mismatch` says whether it has that gradient, and not whether
          another batch has it too.

    References:
        Zhu, Liu and Han (2019), "Deep leakage from gradients"; Geiping et al. (2020) for the cosine.

    Example:
        >>> from dpassay.mechanisms.learning import MultiLayerPerceptron
        >>> rng, model = np.random.default_rng(0), MultiLayerPerceptron(4, 3, hidden=(12,))
        >>> parameters, X, y = model.random_parameters(1, rng), rng.normal(size=(2, 4)), np.array([0, 2])
        >>> seen = TrainedModels(model, parameters).gradients(X, y).sum(axis=1)
        >>> found = GradientMatching(model).recover(parameters[0], seen, y[None], rng)
        >>> bool(found.mismatch[0] < 1e-6), bool(np.abs(np.sort(found.x[0], axis=0) - np.sort(X, axis=0)).max() < 1e-5)
        (True, True)
    """

    model: Model
    _: KW_ONLY
    mean: Any = 0.0
    sd: Any = 1.0
    distance: str = "squared"
    noise_sd: float | None = None
    clip_norm: float | None = None
    restarts: int = 4
    iterations: int = 500

    def __post_init__(self) -> None:
        one_of(("squared", "cosine"), distance=self.distance)
        whole(1, restarts=self.restarts, iterations=self.iterations)
        for name in ("noise_sd", "clip_norm"):
            if getattr(self, name) is not None:
                positive(**{name: getattr(self, name)})
        if self.distance == "cosine" and self.noise_sd is not None:
            raise ParameterError(
                f"noise_sd is {self.noise_sd:g}, but the distance 'cosine' is no likelihood, and has no prior. Take "
                "distance='squared', or leave noise_sd out.",
                argument="noise_sd",
            )
        if not np.all(np.asarray(self.sd) > 0.0):
            raise ParameterError("sd must be above 0 for every feature, but is not.", argument="sd")

    def recover(self, parameters: Any, seen: Any, y: Any, rng: np.random.Generator) -> MatchedGradients:
        """The batch of each gradient.

        Args:
            parameters: where the gradients were taken, `(n_parameters,)`.
            seen: sums of the gradients of batches, `(size, n_parameters)`.
            y: labels of each batch, `(size, n_examples)`; for one example they are known, see `invert_gradient`.
            rng: of the starts.

        Raises:
            ParameterError: shapes that do not fit, or gradients that are 0.
        """
        theta, seen, y = np.asarray(parameters, dtype=np.float64), np.asarray(seen, dtype=np.float64), np.asarray(y)
        self._check(theta, seen, y)
        size, n, d = len(seen), y.shape[1], self.model.n_features
        repeated, labels = np.tile(seen, (self.restarts, 1)), np.tile(y, (self.restarts, 1))
        spread = np.repeat(np.r_[0.1, np.ones(self.restarts - 1)], size)[:, None, None]
        starts = self.mean + spread * self.sd * rng.standard_normal((len(repeated), n, d))
        objective = self._objective(theta, repeated, labels)
        found, values = descend(
            objective, starts.reshape(len(starts), -1), self.iterations, floor=FLOORS[self.distance]
        )
        best = values.reshape(self.restarts, size).argmin(axis=0) * size + np.arange(size)
        x = found[best].reshape(size, n, d)
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
                "seen must hold finite gradients other than 0, and y at least one label for each of them. Where no "
                "unit is active the gradient is 0, and says nothing.",
                argument="seen",
            )
        self.model.loss.check(y.ravel(), self.model.output_units)

    def _objective(self, theta: Floats, seen: Floats, y: NDArray[Any]) -> Objective:
        """Value and derivative for all problems, `(m,)` and `(m, n_examples * n_features)`."""
        (m, n), d = y.shape, self.model.n_features
        norms = np.linalg.norm(seen, axis=1)
        weight = 1.0 / norms**2 if self.noise_sd is None else np.full(m, self.noise_sd**-2.0)

        def objective(flat: Floats) -> tuple[Floats, Floats]:
            x = flat.reshape(m, n, d)
            each, scales, clipped = self._gradients(theta, x.reshape(-1, d), y.ravel())
            total = each.reshape(m, n, -1).sum(axis=1)
            if self.distance == "cosine":
                length = np.maximum(np.linalg.norm(total, axis=1), 1e-300)
                cosine = np.einsum("mp,mp->m", total, seen) / (length * norms)
                value = 1.0 - cosine
                pull = (cosine / length**2)[:, None] * total - seen / (length * norms)[:, None]
            else:
                value = 0.5 * weight * np.sum((total - seen) ** 2, axis=1)
                pull = weight[:, None] * (total - seen)
            along = np.repeat(pull, n, axis=0)
            if clipped.any():  # what clips turns with the gradient: only the part across it is left
                unit = each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-300)
                part = np.where(clipped, np.einsum("np,np->n", along, unit), 0.0)
                along = scales[:, None] * (along - part[:, None] * unit)
            slope = turn(self.model, theta, x.reshape(-1, d), y.ravel(), along).reshape(m, n, d)
            if self.noise_sd is not None:
                away = (x - self.mean) / self.sd
                value, slope = value + 0.5 * np.sum(away**2, axis=(1, 2)), slope + away / self.sd
            return value, slope.reshape(m, -1)

        return objective

    def _gradients(self, theta: Floats, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Clipped gradients `(N, P)`, what each was multiplied by, and which were clipped."""
        each = TrainedModels(self.model, theta[None]).gradients(X, y)[0]
        if self.clip_norm is None:
            return each, np.ones(len(X)), np.zeros(len(X), dtype=np.bool_)
        norms = np.linalg.norm(each, axis=1)
        scales = self.clip_norm / np.maximum(norms, self.clip_norm)
        return each * scales[:, None], scales, norms > self.clip_norm


def descend(
    objective: Objective, starts: Floats, iterations: int, *, floor: float, memory: int = 20
) -> tuple[Floats, Floats]:
    """Minimises many functions at once, by L-BFGS with halved steps; each goes on until it falls no more.

    Args:
        objective: from points `(m, D)` to values `(m,)` and slopes `(m, D)`, row by row.
        starts: `(m, D)`.
        iterations: at most.
        floor: a value that falls by less than this falls no more: rounding.
        memory: steps that the curvature is read from.

    Returns:
        Points and values.

    References:
        Nocedal and Wright (2006), "Numerical optimization", algorithms 7.4 and 3.1.
    """
    points, falling = starts.copy(), np.ones(len(starts), dtype=np.bool_)
    values, slopes = objective(points)
    moves: list[Floats] = []
    turns: list[Floats] = []
    for _ in range(iterations):
        step = -_two_loops(slopes, moves, turns)
        down = np.einsum("md,md->m", step, slopes)
        step = np.where((down < 0.0)[:, None], step, -slopes)
        down = np.minimum(np.where(down < 0.0, down, -np.einsum("md,md->m", slopes, slopes)), 0.0)
        if not moves:
            step, down = (part / np.maximum(1.0, np.linalg.norm(slopes, axis=1)).reshape(-1, *[1] * (part.ndim - 1))
                          for part in (step, down))  # fmt: skip
        share = np.ones(len(points))
        moved, new_values, new_slopes, high = points, values, slopes, ~falling
        for _ in range(30):
            moved = points + share[:, None] * step
            new_values, new_slopes = objective(moved)
            high = ~(new_values <= values + 1e-4 * share * down)
            if not (high & falling).any():
                break
            share[high] *= 0.4
        stuck = high | ~falling
        moved = np.where(stuck[:, None], points, moved)
        new_values, new_slopes = np.where(stuck, values, new_values), np.where(stuck[:, None], slopes, new_slopes)
        moves, turns = [*moves, moved - points][-memory:], [*turns, new_slopes - slopes][-memory:]
        falling = ~stuck & (values - new_values > np.maximum(floor, 1e-12 * np.abs(values)))
        points, values, slopes = moved, new_values, new_slopes
        if not falling.any():
            break
    return points, values


def _two_loops(slopes: Floats, moves: list[Floats], turns: list[Floats]) -> Floats:
    """The inverse of the curvature that the last steps showed, times the slopes; steps of no use count for nothing."""
    q, shares = slopes.copy(), []
    products = [np.einsum("md,md->m", s, t) for s, t in zip(moves, turns, strict=True)]
    inverses = [np.where(p > 1e-300, 1.0 / np.where(p > 1e-300, p, 1.0), 0.0) for p in products]
    for s, t, inverse in zip(reversed(moves), reversed(turns), reversed(inverses), strict=True):
        share = inverse * np.einsum("md,md->m", s, q)
        q -= share[:, None] * t
        shares.append(share)
    if moves:
        scale = products[-1] / np.maximum(np.einsum("md,md->m", turns[-1], turns[-1]), 1e-300)
        q *= np.where(products[-1] > 1e-300, scale, 1.0)[:, None]
    for s, t, inverse, share in zip(moves, turns, inverses, reversed(shares), strict=True):
        q += (share - inverse * np.einsum("md,md->m", t, q))[:, None] * s
    return q
