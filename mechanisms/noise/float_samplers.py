"""Exact laws of samplers that compute in floats: the number of random draws that give an output.

A sampler draws an index k < N uniformly, and returns output(k), computed in floats. Where output is non-decreasing in
k, the indices that give a value y are consecutive, and two searches find the first and the last of them:

    Pr[output = y] = #{k : output(k) = y} / N

A value between two outputs has no such index. This proves that it cannot be released, without any estimate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..accounting import ExactDP
from ..core import Bools, Floats, Ints, Relation, least_integers

# --- preimages of an output -------------------------------------------------------------------------------------------

Indices = Ints
Sampler = Callable[[Indices], Floats]
BRACKET_HALF_WIDTH = 32
"""Half the width of the first search bracket: more than the rounding error of a guess, which is a few indices."""


def n_preimages(output: Sampler, n: int, values: Floats, low: Indices, high: Indices) -> Indices:
    """Return #{k < n : output(k) = y} for each y of `values`, exactly.

    Args:
        output: function from indices to outputs, elementwise for the entries of `values`; non-decreasing.
        n: number of indices, at most 2^62.
        values: `(size,)`.
        low, high: `(size,)` guesses of the first index that gives y and of the first that gives more; they affect only
            the speed.
    """
    first = first_index(lambda k: output(k) >= values, n, low)
    return first_index(lambda k: output(k) > values, n, np.maximum(high, first)) - first


def first_index(reached: Callable[[Indices], Bools], n: int, guess: Indices) -> Indices:
    """Return the smallest index at which `reached` holds, n if there is none, by bisection around a guess.

    `before` is -1 or an index at which `reached` does not hold; `at` is n or an index at which it holds.
    """
    before, at = np.clip(guess - BRACKET_HALF_WIDTH, -1, n - 1), np.clip(guess + BRACKET_HALF_WIDTH, 0, n)
    before[(before >= 0) & reached(np.maximum(before, 0))] = -1
    at[(at < n) & ~reached(np.minimum(at, n - 1))] = n
    return least_integers(lambda k: reached(np.maximum(k, 0)), before, at)


# --- pairs of Gaussian numbers ----------------------------------------------------------------------------------------

ROUNDING_POINTS = 4.0
"""Number of grid points by which rounding within a sampler can move either index, at noise of ordinary size."""
MAX_GRID_POINTS = 64
"""Largest number of grid points on either side that are tried; outputs that would need more count as possible."""
TRIED_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class PairSampler(ABC):
    """Sampler of two Gaussian numbers from two uniform ones, and its inversion from an output.

    The inversion has three steps. Real arithmetic inverts the sampler, which gives the uniform numbers up to
    rounding. The effect of rounding is bounded by a few units of the last place of each operation, and by the
    rounding of the sum of answer and noise. All pairs of grid points within that distance are then tried, in the
    floating-point arithmetic of the sampler, and those that give the output bit for bit are counted.

    Args:
        n: number of values of each of the two uniform numbers.
        sigma: standard deviation of the noise.
    """

    n: int
    sigma: float

    @abstractmethod
    def noise(self, first: Indices, second: Indices) -> tuple[Floats, Floats]:
        """Return the two numbers for these indices of the uniform numbers; NaN where they are drawn again."""

    @abstractmethod
    def near(self, z: Floats, rounded: Floats) -> tuple[Floats, Floats, Floats]:
        """Invert the sampler in real arithmetic.

        Args:
            z: `(size, 2)` noise / sigma.
            rounded: `(size,)` bound on the rounding error of the sum, in units of sigma.

        Returns:
            The two indices, not rounded, and a bound on the error of both, each of shape `(size,)`.
        """

    @property
    @abstractmethod
    def log_n_pairs(self) -> float:
        """Logarithm of the number of pairs of indices that are not drawn again, up to a relative 2^-26."""

    def every(self) -> Floats:
        """Return the noise of every pair that is not drawn again, `(n_pairs, 2)`."""
        first, second = (grid.ravel() for grid in np.meshgrid(np.arange(self.n), np.arange(self.n)))
        noise = np.column_stack(self.noise(first, second))
        return np.asarray(noise[~np.isnan(noise[:, 0])])

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw fresh noise, shape `(size, 2)`."""
        drawn, pending = np.empty((size, 2)), np.arange(size)
        while len(pending):
            noise = np.column_stack(self.noise(*rng.integers(0, self.n, size=(2, len(pending)))))
            accepted = ~np.isnan(noise[:, 0])
            drawn[pending[accepted]] = noise[accepted]
            pending = pending[~accepted]
        return drawn

    def log_mass(self, values: Floats, answers: Floats) -> Floats:
        """Return ln Pr[answers + noise = values], shape `(size,)`; values and answers have shape `(size, 2)`."""
        gaps = np.spacing(np.abs(values))
        z = (values - answers) / self.sigma
        first, second, reach = self.near(z, 0.5 * gaps.max(axis=1) / self.sigma)
        log_masses = np.log(gaps).sum(axis=1) - 0.5 * (z**2).sum(axis=1) - math.log(2.0 * math.pi * self.sigma**2)
        for low, high in ((0, 8), (8, 16), (16, 32), (32, MAX_GRID_POINTS)):
            rows = np.flatnonzero((reach > low) & (reach <= high))
            step = max(1, TRIED_AT_ONCE // (2 * high + 1) ** 2)
            for part in (rows[i : i + step] for i in range(0, len(rows), step)):
                counts = self._n_pairs(values[part], answers[part], first[part], second[part], high)
                with np.errstate(divide="ignore"):
                    log_masses[part] = np.log(counts) - self.log_n_pairs
        return np.asarray(log_masses)

    def _n_pairs(self, values: Floats, answers: Floats, first: Floats, second: Floats, reach: int) -> Indices:
        """Return the number of pairs of indices within `reach` that give each value."""
        steps = np.arange(-reach, reach + 1)
        k = np.rint(first).astype(np.int64)[:, None, None] + steps[:, None]
        m = np.rint(second).astype(np.int64)[:, None, None] + steps
        x, y = self.noise(k, m % self.n)
        hit = (x + answers[:, :1, None] == values[:, :1, None]) & (y + answers[:, 1:, None] == values[:, 1:, None])
        return np.asarray((hit & (k >= 0) & (k < self.n)).sum(axis=(1, 2)))


class BoxMuller(PairSampler):
    """Box-Muller sampler (Box and Muller 1958): first index k for U = (k + 1) / n, second for V = k / n."""

    def noise(self, first: Indices, second: Indices) -> tuple[Floats, Floats]:
        u = np.clip(first + 1, 1, self.n) / self.n
        radius, angle = np.sqrt(-2.0 * np.log(u)), 2.0 * math.pi * (second / self.n)
        return radius * np.cos(angle) * self.sigma, radius * np.sin(angle) * self.sigma

    def near(self, z: Floats, rounded: Floats) -> tuple[Floats, Floats, Floats]:
        radius = np.hypot(z[:, 0], z[:, 1])
        u = np.exp(-0.5 * radius**2)
        v = np.arctan2(z[:, 1], z[:, 0]) / (2.0 * math.pi) % 1.0
        with np.errstate(divide="ignore"):
            shift = np.maximum(u * radius, 1.0 / (2.0 * math.pi * radius)) * 2.0 * rounded
        return u * self.n - 1.0, v * self.n, ROUNDING_POINTS * (1.0 + u * radius**2) + shift * self.n

    @property
    def log_n_pairs(self) -> float:
        return 2.0 * math.log(self.n)


class Polar(PairSampler):
    """Polar sampler, from a point in the unit disc (Marsaglia and Bray 1964): indices k for 2 k / n - 1."""

    def noise(self, first: Indices, second: Indices) -> tuple[Floats, Floats]:
        x, y = (2.0 * (index / self.n) - 1.0 for index in (first, second))
        s = x * x + y * y
        s = np.where((s > 0.0) & (s < 1.0), s, np.nan)
        factor = np.sqrt(-2.0 * np.log(s) / s)
        return x * factor * self.sigma, y * factor * self.sigma

    def near(self, z: Floats, rounded: Floats) -> tuple[Floats, Floats, Floats]:
        radius = np.hypot(z[:, 0], z[:, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = np.exp(-0.25 * radius**2) / radius
            indices = (np.nan_to_num(z * shrink[:, None]) + 1.0) * (0.5 * self.n)
        shift = shrink * (2.0 + 0.5 * radius**2) * rounded
        return indices[:, 0], indices[:, 1], ROUNDING_POINTS + radius**2 + 0.5 * shift * self.n

    @property
    def log_n_pairs(self) -> float:
        return 2.0 * math.log(self.n) + math.log(math.pi / 4.0)


SAMPLERS: dict[str, type[PairSampler]] = {"box-muller": BoxMuller, "polar": Polar}


# --- floats in order --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FloatLadder:
    """Floats by position in their order; the position of a positive float is its bits, read as a whole number.

    Args:
        bits: number of bits of the format: 16, 32 or 64.
        n_below_infinity: position of infinity: number of floats from 0.0 on.
    """

    bits: int
    n_below_infinity: int

    def at(self, positions: Ints) -> NDArray[Any]:
        """Return the floats at these positions; infinity beyond the last."""
        sizes = (
            np.minimum(np.abs(positions), self.n_below_infinity).astype(f"i{self.bits // 8}").view(f"f{self.bits // 8}")
        )
        return np.where(positions < 0, -sizes, sizes)

    def place(self, values: NDArray[Any]) -> Ints:
        """Return the positions of these floats."""
        sizes: Ints = np.abs(values).view(f"i{self.bits // 8}").astype(np.int64)
        return np.where(values < 0, -sizes, sizes)


SAMPLER_LADDERS = MappingProxyType(
    {
        "float16": FloatLadder(16, 0x7C00),
        "float32": FloatLadder(32, 0x7F80_0000),
        "float64": FloatLadder(64, 0x7FF0_0000_0000_0000),
    }
)


# --- samplers with few outputs ----------------------------------------------------------------------------------------

MAX_ENUMERATED_BITS = 16
"""Largest number of random bits for which all outputs are listed."""


def curve_of_outputs(
    outputs0: NDArray[Any], outputs1: NDArray[Any], *, relation: Relation, weights: Floats | None = None
) -> ExactDP:
    """Return the exact curve of two samplers with the same draws.

    Args:
        outputs0, outputs1: output of each draw on side 0 and on side 1, shape `(n_draws, ...)` each.
        relation: the neighbouring relation.
        weights: `(n_draws,)` probabilities of the draws; None where they are equally likely.
    """
    outputs = np.concatenate([outputs0, outputs1]) + outputs0.dtype.type(0)  # -0.0 is 0.0
    _, index = np.unique(outputs, axis=0, return_inverse=True)
    n, index = len(outputs0), index.ravel()
    weights = np.full(n, 1.0 / n) if weights is None else weights
    p0, p1 = (np.bincount(part, weights, minlength=index.max() + 1) for part in (index[:n], index[n:]))
    return ExactDP(p0, p1, relation=relation)
