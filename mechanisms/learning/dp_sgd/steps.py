"""Parts of a step of DP-SGD: the learning rate, the clipping of gradients, and the noise.

Learning-rate schedules are public: no schedule depends on the data.

Clipping is computed from the norms of the per-example gradients only. A gradient g becomes g * min(1, bound / |g|).
(Abadi et al. 2016, Algorithm 1; per layer: McMahan et al. 2018.)

    flat        the whole gradient to norm clip_norm
    per-layer   the part of each of L layers to clip_norm / sqrt(L), so that the whole has at most norm clip_norm
    none        no clipping, and no guarantee

Noise in single precision is several times faster than by rejection sampling. Box and Muller (1958): for U uniform on
(0, 1] and a uniform angle A, sqrt(-2 ln U) cos A and sqrt(-2 ln U) sin A are independent standard normals. Logarithm,
root, sine and cosine of whole float32 arrays are vectorised by the processor; the loop of a rejection sampler is not.
One random word of 64 bits gives a pair: 40 bits for U, so that values go up to 7.4 (the normal law exceeds it once in
10^12 pairs), and 24 bits for the angle, the precision of float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ...core import Floats, NonNegative, Options, Positive, PositiveInt, named_in
from ..base import AnyFloats
from ..models.base import Model


@named_in("dpassay.mechanisms.learning.dp_sgd.catalogue:schedules")
@runtime_checkable
class Schedule(Protocol):
    """Learning rate of each step."""

    def rates(self, steps: int) -> Floats:
        """Return the learning rates of steps 1 to `steps`, `(steps,)`."""


@dataclass(frozen=True)
class ConstantSchedule(Options):
    """Constant learning rate.

    Args:
        initial: > 0.
    """

    initial: Positive

    def rates(self, steps: int) -> Floats:
        return np.full(steps, float(self.initial))


@dataclass(frozen=True)
class InverseSquareRoot(Options):
    """Rate initial / sqrt(t) in step t = 1, 2, ..., as for projected subgradient descent on convex losses.

    Args:
        initial: > 0.

    Example:
        >>> InverseSquareRoot(2.0).rates(4)[3].item()
        1.0
    """

    initial: Positive

    def rates(self, steps: int) -> Floats:
        return self.initial / np.sqrt(np.arange(1, steps + 1))


@dataclass(frozen=True)
class StepDecay(Options):
    """Rate initial * factor^floor((t - 1) / every) in step t = 1, 2, ....

    Args:
        initial: > 0.
        factor: > 0.
        every: steps between two changes, >= 1.
    """

    initial: Positive
    _: KW_ONLY
    factor: Positive
    every: PositiveInt

    def rates(self, steps: int) -> Floats:
        changes = np.arange(steps) // self.every
        return np.asarray(self.initial * float(self.factor) ** changes, dtype=np.float64)


@dataclass(frozen=True)
class Cosine(Options):
    """Half a cosine from `initial` in the first step to `final`, which the step after the last would have.

    Args:
        initial: > 0.
        final: >= 0.
    """

    initial: Positive
    _: KW_ONLY
    final: NonNegative = 0.0

    def rates(self, steps: int) -> Floats:
        weights = 0.5 * (1.0 + np.cos(np.pi * np.arange(steps) / steps))
        return self.final + (self.initial - self.final) * weights


CLIPPINGS = ("flat", "per-layer", "none")


def factors(clipping: str, squared_norms: Sequence[AnyFloats], clip_norm: float) -> list[AnyFloats | None]:
    """Return the clipping factors of the part of each layer, in the shape of its norms; None for 1.

    Args:
        clipping: one of `CLIPPINGS`.
        squared_norms: squared norms of the parts of each gradient, one array for each layer.
        clip_norm: largest norm of the whole gradient.
    """
    n_layers = len(squared_norms)
    if clipping == "none":
        return [None] * n_layers
    if clipping == "per-layer":
        return [_factor(part, clip_norm / np.sqrt(n_layers)) for part in squared_norms]
    total = squared_norms[0] if n_layers == 1 else np.sum(squared_norms, axis=0)
    return [_factor(total, clip_norm)] * n_layers


def clip_rows(clipping: str, gradients: AnyFloats, clip_norm: float, model: Model) -> AnyFloats:
    """Return explicit flat gradients, one in each row, clipped; a gradient without a finite norm becomes zeros."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [gradients[:, layer.span] for layer in model.layers]
        squared_norms = [np.einsum("np,np->n", part, part) for part in parts]
        overflowed = ~np.isfinite(np.sum(squared_norms, axis=0))
    if clipping != "none" and overflowed.any():
        return clip_rows(clipping, np.where(overflowed[:, None], 0.0, gradients), clip_norm, model)
    scales = factors(clipping, squared_norms, clip_norm)
    return np.concatenate(
        [part if factor is None else part * factor[:, None] for part, factor in zip(parts, scales, strict=True)], axis=1
    )


def _factor(squared: AnyFloats, bound: float) -> AnyFloats:
    """Return bound / max(bound, norm), written over the array of norms."""
    norm = np.sqrt(squared)
    np.maximum(norm, squared.dtype.type(bound), out=norm)
    return np.divide(squared.dtype.type(bound), norm, out=norm)


ANGLE_BITS = 24
MAX_BLOCK_ENTRIES = 2**16
"""Numbers that are generated at once, so that their arrays stay in the cache and the allocator reuses them."""
_MAX_WORD = 2**64 - 1
_UNIFORM = np.float32(2.0**-40)
_ANGLE = np.float32(2.0 * np.pi * 2.0**-32)


def standard_normal(out: AnyFloats, rng: np.random.Generator) -> None:
    """Overwrite `out`, contiguous, by independent standard normal numbers; float64 by the sampler of numpy."""
    if out.dtype != np.float32:
        rng.standard_normal(out=out, dtype=out.dtype)
        return
    flat = out.reshape(-1)
    for start in range(0, flat.size, MAX_BLOCK_ENTRIES):
        _fill(flat[start : start + MAX_BLOCK_ENTRIES], rng)


def _fill(out: AnyFloats, rng: np.random.Generator) -> None:
    """Write the cosines, then the sines; for an odd size, the first pair gives its cosine only."""
    half = (out.size + 1) // 2
    words = rng.integers(0, _MAX_WORD, size=half, dtype=np.uint64, endpoint=True)
    angle = np.left_shift(words.astype(np.uint32), 32 - ANGLE_BITS).view(np.int32).astype(np.float32)
    angle *= _ANGLE
    words >>= np.uint64(ANGLE_BITS)
    radius = (words.view(np.int64) + 1).astype(np.float32)
    radius *= _UNIFORM
    np.log(radius, out=radius)
    radius *= -2.0
    np.sqrt(radius, out=radius)
    odd = out.size % 2
    np.cos(angle, out=out[:half])
    out[:half] *= radius
    np.sin(angle[odd:], out=out[half:])
    out[half:] *= radius[odd:]
