"""Intentionally broken DP-SGD: the unclipped mean gradient is added to the sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.base import Neighbours
from ...core.guarantee import Guarantee
from ...learning.base import Floats, TrainingData
from ...learning.dp_sgd.sampling import FullBatch, Sampling
from ...learning.dp_sgd.training import Batch, Recipe, Trainer
from .base import LARGE, BrokenDPSGD, Unclipped

ALL_BY_FOUR = FullBatch(expected_batch_size=4)


class _RawMeanMixedIn(Trainer):
    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        super().__init__(recipe, data)
        self.backward_pass = Unclipped(recipe, data)

    def clipped_sum(self, parameters: Floats, batch: Batch, out: Floats) -> None:
        """Write to `out` the sum of clipped gradients plus the mean of the raw ones."""
        raw = np.empty_like(out)
        self.backward_pass.clipped_sum(parameters, batch, raw)
        super().clipped_sum(parameters, batch, out)
        out += raw / self.divisor(batch)


@dataclass(frozen=True, eq=False)
class RawMeanMixedIn(BrokenDPSGD):
    """Broken: DP-SGD that adds the clipped gradients to the mean gradient of the ordinary backward pass.

        S_t = raw mean gradient + sum of clipped gradients + N(0, (noise_multiplier * clip_norm)^2 I)

    Bug: clipped gradients are accumulated in the buffer that the backward pass has filled, and that is never cleared. A
    gradient of norm G moves the sum by clip_norm + G / B, without limit; the exact curve is that of the worst-case
    pair, G = 20 clip norms.

    Args:
        all: as for `DPSGD`; B is the public number that updates are divided by. Default: B = 4.

    References:
        dayu11/Differentially-Private-Deep-Learning, issue 7 (reported; not confirmed by its authors).

    Example:
        >>> broken = RawMeanMixedIn()
        >>> round(broken.guarantee().epsilon(1e-5), 2), round(broken.exact_guarantee().epsilon(1e-5), 2)
        (1.0, 7.67)
    """

    sampling: Sampling | str = ALL_BY_FOUR

    trainer_class: ClassVar[type[Trainer]] = _RawMeanMixedIn

    def worst_case(self) -> Neighbours:
        """Return one gradient of 20 clip norms, and no other record."""
        return self._pair(LARGE)

    def exact_guarantee(self) -> Guarantee | None:
        """Return `GaussianDP((1 + 20 / B) sqrt(steps) / noise_multiplier)` for full batches; twice if replace_one."""
        return self._gaussian(self.reach * (1.0 + LARGE / self.batch))
