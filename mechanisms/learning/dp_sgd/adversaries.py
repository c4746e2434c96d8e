"""What adversaries ask of DP-SGD: see `dpassay.mechanisms.learning.capabilities`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base import Floats, TrainingData
from ..models.base import Model
from ..models.trained import TrainedModels
from .directions import clipped_gradient, clipped_gradients
from .sampling import Draw
from .training import Recipe, Trainer


class ForAdversaries:
    """Everything that follows from the recipe alone."""

    trainer_class: ClassVar[type[Trainer]] = Trainer
    """What trains: a broken twin has its own."""

    @property
    @abstractmethod
    def recipe(self) -> Recipe:
        """What the trainer needs to know."""

    @property
    @abstractmethod
    def network(self) -> Model:
        """The model."""

    @property
    def n_parameters(self) -> int:
        """Length of the flat parameters."""
        return self.network.n_parameters

    @property
    def trains_as_stated(self) -> bool:
        """Whether the trainer is that of the formula: a broken twin has its own."""
        return self.trainer_class is Trainer

    def check_data(self, data: TrainingData) -> None:
        """Raises `ParameterError` for records that the model cannot take."""
        self.network.check(data)

    def count_classes(self, data: TrainingData) -> int:
        """Of the model, whatever labels the data hold; raises `ParameterError` for a regression."""
        return self.network.n_labels

    def initial_parameters(self) -> Floats | None:
        """Flat parameters before the first step; None where they are drawn for every run."""
        return self.recipe.initial

    def initial_models(self, data: TrainingData) -> TrainedModels | None:
        """One model with the initial parameters; None where they are drawn for every run."""
        initial = self.recipe.initial
        return None if initial is None else TrainedModels(self.network, np.asarray(initial)[None, :])

    def no_examples(self) -> TrainingData:
        """Data of the right shape that hold no record."""
        return TrainingData(np.empty((0, self.network.n_features)), np.empty(0))

    def input_weights(self) -> NDArray[np.intp]:
        """Places of the weights of the first layer, `(n_units, n_features)`."""
        layer = self.network.layers[0]
        return layer.start + np.arange(layer.n_units)[:, None] * layer.n_inputs + np.arange(self.network.n_features)

    def rates(self) -> NDArray[np.float64]:
        """Learning rate of each step."""
        return self.recipe.rates

    def losses(self, data: TrainingData, parameters: Floats) -> NDArray[np.float64]:
        """Loss of each example, `(n_models, n_examples)`."""
        return TrainedModels(self.network, np.ascontiguousarray(parameters)).losses(data.X, data.y)

    def clipped_gradient(self, data: TrainingData, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the clipped gradients of a few records at parameters `(n_runs, n_parameters)`, of their shape."""
        return clipped_gradient(self.recipe, data, parameters)

    def clipped_gradients(self, data: TrainingData, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """The clipped gradient of each of a few records, `(n_runs, n_records, n_parameters)`."""
        return clipped_gradients(self.recipe, data, parameters)

    def clipped_sum_of(self, data: TrainingData) -> Callable[[NDArray[np.float64]], Floats]:
        """From parameters `(n_runs, n_parameters)` to the sum of the clipped gradients of many records, of their shape,
        as the trainer makes it of a full batch of them."""
        trainer = self.trainer_class(self.recipe, data)
        batch = trainer.batch(Draw(None, None))

        def clipped_sum(parameters: NDArray[np.float64]) -> Floats:
            found = np.empty(parameters.shape, dtype=trainer.dtype)
            for runs, _ in trainer.blocks(len(parameters)):
                trainer.clipped_sum(parameters[runs].astype(trainer.dtype), batch, found[runs])
            return found

        return clipped_sum
