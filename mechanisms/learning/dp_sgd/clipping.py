"""Clipping of per-example gradients, computed from their norms only.

    flat        the whole gradient to norm clip_norm
    per-layer   the part of each of L layers to clip_norm / sqrt(L), so that the whole has at most norm clip_norm
    none        no clipping, and no guarantee

A gradient g becomes g * min(1, bound / |g|). (Abadi et al. 2016, Algorithm 1; per layer: McMahan et al. 2018.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base import Floats
from ..models.base import Model

CLIPPINGS = ("flat", "per-layer", "none")


def factors(clipping: str, squared_norms: Sequence[Floats], clip_norm: float) -> list[Floats | None]:
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


def clip_rows(clipping: str, gradients: Floats, clip_norm: float, model: Model) -> Floats:
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


def _factor(squared: Floats, bound: float) -> Floats:
    """Return bound / max(bound, norm), written over the array of norms."""
    norm = np.sqrt(squared)
    np.maximum(norm, squared.dtype.type(bound), out=norm)
    return np.divide(squared.dtype.type(bound), norm, out=norm)
