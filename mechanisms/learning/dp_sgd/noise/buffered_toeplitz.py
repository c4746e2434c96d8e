"""Noise of a buffered linear Toeplitz (BLT) matrix: any number of steps with a few buffers of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, reduce
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz

from ....core import Floats, ParameterError, PositiveInt, one_of_names, single_thread
from .base import ERRORS, CorrelatedNoise

OPTIMISER_OPTIONS = {"maxiter": 1000, "maxfun": 20_000, "ftol": 1e-13}
MAX_LOGIT = 20.0
"""Largest absolute value of the parameters of the optimisation."""


@dataclass(frozen=True)
class BufferedToeplitzNoise(CorrelatedNoise):
    """Buffered linear Toeplitz factorisation: C is Toeplitz with few geometric series as coefficients.

        c_0 = 1,    c_t = sum over j of scale_j decay_j^(t - 1),    then divided by the norm of its first column

    The noise of a step is the fresh noise minus a weighted sum of one buffer for each j, so that memory does not grow
    with the steps. Scales and decays are given, or optimised for the error of the prefix sums times the sensitivity.

    Args:
        buffers: number of geometric series, >= 1, where they are optimised.
        scales: of given series, each > 0; None to optimise.
        decays: of given series, each in (0, 1), as many as `scales`.
        separation: steps between two participations for which the series are optimised, >= 1; None for a single one.
            The guarantee is computed from the batches, whatever is set here.
        error: "rms" or "max", the error of the prefix sums that is minimised.

    Raises:
        ParameterError: one of `scales` and `decays` without the other, of other lengths, or out of range.

    References:
        Dvijotham, McMahan, Pillutla, Steinke, Thakurta (2024), "Efficient and near-optimal noise generation for
        streaming differential privacy"; McMahan, Xu, Zhang (2024), "A hassle-free algorithm for strong differential
        privacy in federated learning systems".

    Example:
        >>> noise = BufferedToeplitzNoise(scales=(0.5,), decays=(0.8,))
        >>> (noise.strategy(3)[:, 0] / noise.strategy(3)[0, 0]).round(6).tolist()
        [1.0, 0.5, 0.4]
    """

    buffers: PositiveInt = 3
    _: KW_ONLY
    scales: tuple[float, ...] | None = None
    decays: tuple[float, ...] | None = None
    separation: PositiveInt | None = None
    error: Annotated[str, one_of_names(*ERRORS)] = "rms"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [np.asarray(values, dtype=np.float64) for values in (self.scales, self.decays) if values is not None]
        for name, values in zip(("scales", "decays"), (self.scales, self.decays), strict=True):
            if values is not None:
                object.__setattr__(self, name, tuple(map(float, values)))
        if not given:
            return
        if len(given) == 1 or given[0].shape != given[1].shape or not given[0].size:
            raise ParameterError(
                f"scales and decays must have one number for each series, but are {self.scales!r} and "
                f"{self.decays!r}. Give both, or neither to optimise them.",
                argument=("scales", "decays"),
            )
        if not (np.all(given[0] > 0.0) and np.isfinite(given[0]).all() and np.all((given[1] > 0.0) & (given[1] < 1.0))):
            raise ParameterError(
                f"scales must be > 0 and decays between 0 and 1, but they are {self.scales!r} and {self.decays!r}.",
                argument=("scales", "decays"),
            )

    def series(self, steps: int) -> tuple[Floats, Floats]:
        """Return the scales and the decays, given or optimised for this number of steps."""
        if self.scales is not None and self.decays is not None:
            return np.array(self.scales), np.array(self.decays)
        return _optimised(self.buffers, steps, self.separation or steps, self.error)

    def matrix(self, steps: int) -> Floats:
        return np.asarray(np.tril(toeplitz(coefficients(*self.series(steps), steps))))

    def correlate(self, steps: int) -> Callable[[NDArray[Any]], None]:
        scales, decays = self.series(steps)
        return _Buffers(scales, decays, float(np.linalg.norm(coefficients(scales, decays, steps))))


class _Buffers:
    """Solution of C X = Z, one row for each call, with one buffer s_j for each series.

    x_t = norm z_t - sum over j of scale_j s_j, then s_j <- decay_j s_j + x_t.
    """

    def __init__(self, scales: Floats, decays: Floats, norm: float) -> None:
        self.scales, self.decays, self.norm = scales, decays, norm
        self.buffers: list[NDArray[Any]] = []

    def __call__(self, noise: NDArray[Any]) -> None:
        number = noise.dtype.type
        if not self.buffers:
            self.buffers = [np.zeros_like(noise) for _ in self.scales]
        noise *= number(self.norm)
        for scale, buffer in zip(self.scales, self.buffers, strict=True):
            noise -= number(scale) * buffer
        for decay, buffer in zip(self.decays, self.buffers, strict=True):
            buffer *= number(decay)
            buffer += noise


def coefficients(scales: Floats, decays: Floats, n: int) -> Floats:
    """Return c_0, ..., c_(n-1)."""
    powers = decays[:, None] ** np.arange(n - 1)
    return np.concatenate([[1.0], scales @ powers])


def _decoder_coefficients(scales: Floats, decays: Floats, n: int) -> Floats:
    """Return the first column of A C^-1 for prefix sums A.

    As a power series C is (p + sum_j scale_j x p_j) / p with p the product of all 1 - decay_j x, and p_j without j; A
    is 1 / (1 - x). So A C^-1 is a rational function, and its coefficients are the impulse response of a filter.
    """
    from scipy.signal import lfilter

    denominator = _product(decays)
    numerator = denominator.copy()
    for j, scale in enumerate(scales):
        numerator[1:] += scale * _product([*decays[:j], *decays[j + 1 :]])
    impulse = np.zeros(n)
    impulse[0] = 1.0
    return np.asarray(np.cumsum(lfilter(denominator, numerator, impulse)))


def _product(decays: Iterable[float]) -> Floats:
    """Return the coefficients of the product of 1 - decay x: `np.poly` without its checks."""
    return reduce(np.convolve, [np.array([1.0, -decay]) for decay in decays], np.ones(1))


def _scaled_error(scales: Floats, decays: Floats, n: int, separation: int, error: str) -> float:
    """Return the squared error of the prefix sums times the squared sensitivity.

    The coefficients are positive and decreasing, if c_1 <= c_0, so that participations in steps 1, 1 + b, ... are the
    worst (Kalinin and Lampert 2024, Theorem 2). Row t of A C^-1 has the first t of the decoder coefficients.
    """
    column = coefficients(scales, decays, n)
    participations = -(-n // separation)
    padded = np.pad(column, (0, participations * separation - n)).reshape(participations, separation)
    sensitivity = float(np.sum(np.cumsum(padded, axis=0).ravel()[:n] ** 2))
    squares = _decoder_coefficients(scales, decays, n) ** 2
    variance = squares.sum() if error == "max" else squares @ np.arange(n, 0, -1) / n
    return float(variance) * sensitivity


@lru_cache(maxsize=32)
def _optimised(buffers: int, n: int, separation: int, error: str) -> tuple[Floats, Floats]:
    """Return scales, of sum at most 1, and decays of least `_scaled_error`, by L-BFGS from two starts.

    The scales are e^x_j / (1 + sum of e^x_i), and the decays 1 / (1 + e^-y_j).
    """
    from scipy.optimize import minimize

    def series(x: Floats) -> tuple[Floats, Floats]:
        weights = np.exp(x[:buffers])
        return weights / (1.0 + weights.sum()), 1.0 / (1.0 + np.exp(-x[buffers:]))

    def loss(x: Floats) -> float:
        return float(np.log(_scaled_error(*series(x), n, separation, error)))

    def descent(slowest: float) -> Any:
        gaps = np.geomspace(min(0.5, slowest / n), 0.5, buffers)
        start = np.concatenate([0.5 * np.log(gaps), np.log1p(-gaps) - np.log(gaps)])
        return minimize(
            loss,
            start,
            method="L-BFGS-B",
            jac="3-point",
            bounds=[(-MAX_LOGIT, MAX_LOGIT)] * len(start),
            options=OPTIMISER_OPTIONS,
        )

    with single_thread("blas"):  # threads take longer for matrices this small
        descents = [descent(slowest) for slowest in (1.0, 8.0)]
    return series(min(descents, key=lambda found: float(found.fun)).x)
