"""Intentionally broken per-layer clipping in DP-SGD: the sensitivity is larger than the accountant assumes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from ...learning.base import Floats
from ...learning.dp_sgd.training import Batch, Trainer
from ...learning.models import MultiLayerPerceptron
from ...learning.models.base import Model
from ...learning.models.passes import squared_norms
from .base import LARGE, PERCEPTRON, BrokenDPSGD

DEEP = MultiLayerPerceptron(4, hidden=(3, 3, 3), n_outputs=2)


class _LayerByLayer(Trainer):
    @abstractmethod
    def factors(self, squared: Sequence[Floats]) -> list[Floats]:
        """Return the factor of the part of each layer, from its squared norms."""

    def clip(self, found: list[Floats], deltas: list[Floats], batch: Batch) -> None:
        """Scale the part of each layer by its factor."""
        norms = squared_norms(self.model, batch.inputs_squared, found, deltas)
        for delta, factor in zip(deltas, self.factors(norms), strict=True):
            delta *= (factor if batch.included is None else factor * batch.included)[:, None, :]

    def _clipped_gradient_records(self) -> Floats | None:
        if self.data.gradients is None:
            return None
        parts = [self.data.gradients[:, layer.span] for layer in self.model.layers]
        factors = self.factors([np.einsum("np,np->n", part, part) for part in parts])
        clipped = np.concatenate([part * f[:, None] for part, f in zip(parts, factors, strict=True)], axis=1)
        return clipped.astype(self.dtype)

    def _to_clip_norm(self, squared: Floats) -> Floats:
        return np.asarray(self.recipe.clip_norm / np.maximum(np.sqrt(squared), self.recipe.clip_norm))


class _EachToTheWhole(_LayerByLayer):
    def factors(self, squared: Sequence[Floats]) -> list[Floats]:
        """Return factors that clip every layer to clip_norm; should be clip_norm / sqrt(L)."""
        return [self._to_clip_norm(part) for part in squared]


class _LastNotClipped(_LayerByLayer):
    def factors(self, squared: Sequence[Floats]) -> list[Floats]:
        """Return factors that clip all layers except the last together to clip_norm, and 1 for the last."""
        others = self._to_clip_norm(np.sum([np.zeros_like(squared[-1]), *squared[:-1]], axis=0))
        return [others] * (len(squared) - 1) + [np.ones_like(squared[-1])]


@dataclass(frozen=True, eq=False)
class PerLayerFullClip(BrokenDPSGD):
    """Broken: DP-SGD that clips the gradient of each layer to clip_norm, with sensitivity clip_norm for all of them.

    Bug: the clipping function of the framework is called for each array of parameters, with the bound of the whole
    gradient. With L layers the whole gradient has norm up to sqrt(L) clip_norm, and with full batches mu is sqrt(L)
    times the claimed one. Correct: clip_norm / sqrt(L) for each.

    Args:
        all: as for `DPSGD`. Default: a perceptron with three hidden layers of 3 units, L = 4.

    References:
        McMahan, Ramage, Talwar, Zhang (2018), Section 2.3, for the correct per-layer clipping.

    Example:
        >>> broken = PerLayerFullClip()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (2.0, 4.39)
    """

    model: Model | str = DEEP
    noise_multiplier: float = 3.99
    clipping: str = "per-layer"

    trainer_class: ClassVar[type[Trainer]] = _EachToTheWhole

    @cached_property
    def canary(self) -> NDArray[np.float64]:
        """Unit vector with equal entries at the first weight of every layer."""
        starts = [layer.start for layer in self.network.layers]
        return np.asarray(np.eye(self.network.n_parameters)[starts].sum(axis=0) / math.sqrt(len(starts)))

    def worst_case(self) -> Neighbours:
        """Return one gradient record that is large in every layer, and no other record."""
        return self._pair(LARGE)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(sqrt(L steps) / noise_multiplier)` for full batches."""
        return self._gaussian(self.reach * math.sqrt(len(self.network.layers)))


@dataclass(frozen=True, eq=False)
class LayerNotClipped(BrokenDPSGD):
    """Broken: DP-SGD that clips the gradients of all layers except the last one.

    Bug: a layer that was added later is not in the list of clipped layers. Its gradient, and therefore epsilon, is
    unbounded; `exact_guarantee` is the curve of the worst-case pair, a gradient of 20 clip norms.

    Args:
        all: as for `DPSGD`. Default: a perceptron of 4 inputs, 3 hidden units and 2 outputs.

    References:
        None; a check of the sensitivity of every parameter detects this kind of bug.

    Example:
        >>> broken = LayerNotClipped()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 1)
        (1.0, 36.5)
    """

    model: Model | str = PERCEPTRON

    trainer_class: ClassVar[type[Trainer]] = _LastNotClipped

    @cached_property
    def canary(self) -> NDArray[np.float64]:
        """Unit vector at the first weight of the last layer."""
        return np.asarray(np.eye(self.network.n_parameters)[self.network.layers[-1].start])

    def worst_case(self) -> Neighbours:
        """Return one gradient of 20 clip norms in the last layer, and no other record."""
        return self._pair(LARGE)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP(20 sqrt(steps) / noise_multiplier)` for full batches; 40 under replace_one."""
        return self._gaussian(self.reach * LARGE)
