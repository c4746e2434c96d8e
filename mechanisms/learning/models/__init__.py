"""Models that the trainer trains many at once.

architectures.py   Models by architecture: linear models, with one dense layer, and multi-layer perceptrons
base.py            Models: stacks of dense layers, whose parameters are one flat vector
losses.py          Losses of a batch of runs: derivatives with respect to the outputs, and class probabilities
passes.py          Forward and backward passes for many runs at once, without the gradient of any single example
trained.py         Trained models, many at once, which membership attacks query
"""

from .architectures import (
    LinearRegression as LinearRegression,
    LogisticRegression as LogisticRegression,
    MultiLayerPerceptron as MultiLayerPerceptron,
    SoftmaxRegression as SoftmaxRegression,
)
from .base import Layer as Layer, Model as Model
from .trained import TrainedModels as TrainedModels
