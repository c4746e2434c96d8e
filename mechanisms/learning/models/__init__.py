"""Models that the trainer trains many at once.

base.py          Model and Layer: the flat parameters, and where each layer lies in them
losses.py        squared, logistic, softmax
linear.py        LinearRegression, LogisticRegression, SoftmaxRegression
perceptron.py    MultiLayerPerceptron
passes.py        forward and backward through the layers, for many runs at once
trained.py       TrainedModels, that can be queried
catalogue.py     all of them by name
"""

from .base import Layer as Layer, Model as Model
from .linear import (
    LinearRegression as LinearRegression,
    LogisticRegression as LogisticRegression,
    SoftmaxRegression as SoftmaxRegression,
)
from .perceptron import MultiLayerPerceptron as MultiLayerPerceptron
from .trained import TrainedModels as TrainedModels
