"""Models that the trainer trains many at once.

base.py          Model and Layer: the flat parameters, and where each layer lies in them
losses.py        squared, logistic, softmax
linear.py        LinearRegression, LogisticRegression, SoftmaxRegression
perceptron.py    MultiLayerPerceptron
passes.py        forward and backward through the layers, for many runs at once
trained.py       TrainedModels, that can be queried
catalogue.py     all of them by name
"""

from .base import Layer, Model
from .linear import LinearRegression, LogisticRegression, SoftmaxRegression
from .perceptron import MultiLayerPerceptron
from .trained import TrainedModels

__all__ = [
    "Layer",
    "LinearRegression",
    "LogisticRegression",
    "Model",
    "MultiLayerPerceptron",
    "SoftmaxRegression",
    "TrainedModels",
]
