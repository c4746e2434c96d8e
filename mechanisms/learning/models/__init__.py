"""Models that the trainer trains many at once.

base.py            Model and Layer: the flat parameters, and the position of each layer in them
losses.py          squared, logistic and softmax loss
architectures.py   linear, logistic and softmax regression, multi-layer perceptrons
passes.py          forward and backward through the layers, for many runs at once
trained.py         TrainedModels, which can be queried
"""

from .architectures import (
    LinearRegression as LinearRegression,
    LogisticRegression as LogisticRegression,
    MultiLayerPerceptron as MultiLayerPerceptron,
    SoftmaxRegression as SoftmaxRegression,
)
from .base import Layer as Layer, Model as Model
from .trained import TrainedModels as TrainedModels
