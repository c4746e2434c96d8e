"""Attack interface of DP-SGD: see `dpassay.mechanisms.learning.dp_sgd.capabilities`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ..base import AnyFloats, TrainingData
from ..models.base import Model
from ..models.trained import TrainedModels
from .directions import clipped_gradient, clipped_gradients
from .sampling.base import BatchDraw
from .training import Recipe, Trainer


class AdversaryViews:
    """Mixin with the capabilities that follow from the recipe."""

    trainer_class: ClassVar[type[Trainer]] = Trainer
    """Class of the trainer; an intentionally broken variant overrides it."""

    @property
    @abstractmethod
    def recipe(self) -> Recipe:
        """Options and fixed inputs of the trainer."""

    @property
    @abstractmethod
    def network(self) -> Model:
        """Model that is trained."""

    def trainer_on(self, data: TrainingData) -> Trainer:
        """Return the trainer on `data`."""
        return self.trainer_class(self.recipe, data)

    @property
    def n_parameters(self) -> int:
        """Number of flat parameters."""
        return self.network.n_parameters

    @property
    def trains_as_stated(self) -> bool:
        """True if the trainer follows the formula; False for an intentionally broken variant."""
        return self.trainer_class is Trainer

    def check_data(self, data: TrainingData) -> None:
        """Raise `ParameterError` for records that do not fit the model."""
        self.network.check(data)

    def count_classes(self, data: TrainingData) -> int:
        """Return the number of classes of the model, for any labels; raise `ParameterError` for a regression."""
        return self.network.n_labels

    def initial_parameters(self) -> AnyFloats | None:
        """Return the flat parameters before the first step; None if they are drawn for every run."""
        return self.recipe.initial

    def initial_models(self, data: TrainingData) -> TrainedModels | None:
        """Return one model with the initial parameters; None if they are drawn for every run."""
        initial = self.recipe.initial
        return None if initial is None else TrainedModels(self.network, np.asarray(initial)[None, :])

    def no_examples(self) -> TrainingData:
        """Return data of the right shape without records."""
        return TrainingData(np.empty((0, self.network.n_features)), np.empty(0))

    def input_weights(self) -> NDArray[np.intp]:
        """Return the indices of the weights of the first layer, `(n_units, n_features)`."""
        layer = self.network.layers[0]
        return layer.start + np.arange(layer.n_units)[:, None] * layer.n_inputs + np.arange(self.network.n_features)

    def rates(self) -> Floats:
        """Return the learning rate of each step."""
        return self.recipe.rates

    def noise_strategy(self) -> Floats | None:
        """Return C, `(steps, steps)`, for noise C^-1 Z on the sums of the steps; None for independent noise."""
        noise = self.recipe.noise
        return None if noise.independent else noise.strategy(len(self.recipe.rates))

    def losses(self, data: TrainingData, parameters: AnyFloats) -> Floats:
        """Return the loss of each example, `(n_models, n_examples)`."""
        return TrainedModels(self.network, np.ascontiguousarray(parameters)).losses(data.X, data.y)

    def clipped_gradient(self, data: TrainingData, parameters: Floats) -> Floats:
        """Return the sum of the clipped gradients of a few records at parameters of shape `(n_runs, n_parameters)`."""
        return clipped_gradient(self.recipe, data, parameters)

    def clipped_gradients(self, data: TrainingData, parameters: Floats) -> Floats:
        """Return the clipped gradient of each of a few records, `(n_runs, n_records, n_parameters)`."""
        return clipped_gradients(self.recipe, data, parameters)

    def clipped_sum_of(self, data: TrainingData) -> Callable[[Floats], AnyFloats]:
        """Return a function from parameters to the sum of the clipped gradients of many records.

        The parameters and the sums have shape `(n_runs, n_parameters)`. The sum is computed as the trainer does for a
        full batch of the records.
        """
        trainer = self.trainer_on(data)
        batch = trainer.batch(BatchDraw(None, None))

        def clipped_sum(parameters: Floats) -> AnyFloats:
            sums = np.empty(parameters.shape, dtype=trainer.dtype)
            for runs, _ in trainer.blocks(len(parameters)):
                trainer.clipped_sum(parameters[runs].astype(trainer.dtype), batch, sums[runs])
            return sums

        return clipped_sum
