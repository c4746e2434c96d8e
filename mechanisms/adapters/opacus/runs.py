"""Trainings with Opacus on any subset of the records, with the capabilities that adversaries need.

See `dpassay.mechanisms.learning.dp_sgd.capabilities`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...core import Bools, Dataset, DpassayError, Floats, Neighbours, Outputs, ParameterError
from ...learning.base import MAX_ROUNDING, AnyFloats, TrainingData, differing
from ..functions.forms import RaisedException
from .options import OpacusOptions

if TYPE_CHECKING:
    from .training import OpacusClassifiers


@dataclass(frozen=True, eq=False)
class OpacusRuns(OpacusOptions):
    """Capabilities of single trainings."""

    def fit_subsets(self, records: Dataset, inclusion: Bools, rng: np.random.Generator) -> OpacusClassifiers:
        """Return one model per row of `inclusion`, `(n_models, n_records)`, trained on these records (a `Learner`).

        With `constants` "opacus" the sampling rate is that of the subset.
        """
        trained = self._on_subsets(records, inclusion, rng, "final")
        return self.library.OpacusClassifiers.of(self.make_model, np.array(trained), TrainingData.of(records).X)  # type: ignore[no-any-return]

    @property
    def clip_norm(self) -> float:
        """`max_grad_norm`, under the name used by other learners."""
        return self.max_grad_norm

    @property
    def trains_as_stated(self) -> bool:
        """False: not known for user code, so every released output must be examined."""
        return False

    def check_data(self, data: TrainingData) -> None:
        """Raise `ParameterError` for gradient records that cannot be inserted; the module is checked later."""
        if data.gradients is not None:
            self._check_gradients(data.gradients)

    def count_classes(self, data: TrainingData) -> int:
        """Return the number of classes, read from the output of the module for one record."""
        return int(self.library.count_classes(self.make_model, data.X))

    def initial_parameters(self) -> AnyFloats | None:
        """Return `initial`; None if the module draws its parameters."""
        return None if self.initial is None else np.asarray(self.initial, dtype=np.float64)

    def initial_models(self, data: TrainingData) -> OpacusClassifiers | None:
        """Return one model with the initial parameters; None if the module draws its parameters."""
        initial = self.initial_parameters()
        if initial is None:
            return None
        return self.library.OpacusClassifiers.of(self.make_model, initial[None, :], data.X)  # type: ignore[no-any-return]

    def no_examples(self) -> TrainingData:
        """Raise an error: an empty dataset is not known for arbitrary modules.

        Raises:
            ParameterError: always.
        """
        raise ParameterError(
            "records must be given: the number of features of a module is not known. Pass some (X, y)."
        )

    def showing(self, directions: AnyFloats) -> Self:
        """Return these options with the view of the noisy gradients along unit directions `(m, n_parameters)`."""
        return replace(self, view="noisy_gradients", directions=directions)

    def release_subsets(self, records: Any, inclusion: Bools, rng: np.random.Generator) -> Outputs:
        """Return one run per row of `inclusion`, `(n_runs, n_records)`, on these records; `view` selects the output.

        Raises:
            ParameterError: `constants` is "opacus", for which the noise would depend on the size of the subset.
        """
        if self.constants != "public":
            raise ParameterError(
                "constants is 'opacus', which takes the sampling rate from the records of a run: with a coin for each "
                "canary it would differ from run to run. Set constants='public'."
            )
        return Outputs(np.array(self._on_subsets(records, inclusion, rng, self.view)))

    def losses(self, data: TrainingData, parameters: AnyFloats) -> Floats:
        """Return the loss of each example, `(n_models, n_examples)`."""
        losses: Floats = self.library.losses(self, data, np.asarray(parameters))
        return losses

    def clipped_gradient(self, data: TrainingData, parameters: Floats) -> Floats:
        """Return the sum of the clipped gradients of a few records at `parameters`, `(n_runs, n_parameters)`."""
        total = np.tile(self._clipped(data).sum(axis=0), (len(parameters), 1))
        if data.n_examples:
            total += self.library.clipped_gradients(self, data, parameters)
        return np.asarray(total)

    # --- private ------------------------------------------------------------------------------------------------------

    def _direction_of(self, neighbours: Neighbours) -> Floats | None:
        """Return the unit direction from side 0 to side 1, after clipping; None if examples differ, or nothing does."""
        only0, only1 = differing(neighbours)
        if only0.n_examples or only1.n_examples:
            return None
        difference = self._clipped(only1).sum(axis=0) - self._clipped(only0).sum(axis=0)
        norm = float(np.linalg.norm(difference))
        return None if norm < MAX_ROUNDING * self.max_grad_norm else np.asarray(difference / norm)

    def _clipped(self, data: TrainingData) -> AnyFloats:
        """Return the gradient records as Opacus clips them, `(n_gradients, n_parameters)`."""
        if data.gradients is None:
            return np.zeros((0, self.n_parameters))
        norms = np.linalg.norm(data.gradients, axis=1, keepdims=True)
        return np.asarray(data.gradients * (self.max_grad_norm / np.maximum(norms, self.max_grad_norm)))

    def _on_subsets(self, records: Any, inclusion: Any, rng: np.random.Generator, view: str) -> list[AnyFloats]:
        """Return one training per row of `inclusion`, `(n_runs, n_records)`."""
        data, inclusion = TrainingData.of(records), np.asarray(inclusion, dtype=np.bool_)
        if inclusion.ndim != 2 or inclusion.shape[1] != len(data) or not inclusion.any(axis=1).all():
            raise ParameterError(
                f"inclusion must have shape (n_models, {len(data)}), one column per record and at least one record per "
                f"row, but has shape {inclusion.shape}."
            )
        drawn = seeds(len(inclusion), rng)
        return [self._train(_subset(data, rows), seed, view) for rows, seed in zip(inclusion, drawn, strict=True)]

    def _run(self, data: TrainingData, seed: int) -> Any:
        """Return the released output of one training, or `RaisedException` in its place."""
        try:
            return self._train(data, seed, self.view)
        except (DpassayError, MemoryError):
            raise
        except Exception as error:
            return RaisedException.by(error)

    def _train(self, data: TrainingData, seed: int, view: str) -> AnyFloats:
        """Return the result of one training: flat parameters, or observations."""
        if data.gradients is not None:
            self._check_gradients(data.gradients)
        trained: AnyFloats = self.library.train(self, data, seed, view)
        return trained

    def _check_gradients(self, gradients: AnyFloats) -> None:
        if "ghost" in self.grad_sample_mode:
            raise ParameterError(
                f"grad_sample_mode is {self.grad_sample_mode!r}, which makes no gradients of single records: gradient "
                "records cannot be inserted. Use 'hooks', or examples only."
            )
        if gradients.shape[1] != self.n_parameters:
            raise ParameterError(
                f"gradients must have one number for each of the {self.n_parameters} trainable parameters, but have "
                f"shape {gradients.shape}."
            )


def seeds(size: int, rng: np.random.Generator) -> list[int]:
    """Return one seed per training."""
    drawn: list[int] = rng.integers(2**63, size=size, dtype=np.uint64).tolist()
    return drawn


def _subset(data: TrainingData, rows: Bools) -> TrainingData:
    examples, others = rows[: data.n_examples], rows[data.n_examples :]
    gradients = None if data.gradients is None else data.gradients[others]
    return TrainingData(data.X[examples], data.y[examples], gradients)
