"""Learning: private trainers, and models to attack.

base.py           TrainingData, Classifiers, Learner: read this first
capabilities.py   what adversaries need of a trainer
pairs.py          in which records two sides differ
models/           linear, logistic and softmax regression, multi-layer perceptrons; trained, many at once
dp_sgd/           DP-SGD: the trainer, its samplings, its claims
fine_tuning.py    a head trained by DP-SGD on features that public records have taught
federated/        FedSGD and FedAvg over clients, with noise at the server or at the client
convex/           output and objective perturbation, noisy projected SGD
accounting/       the guarantee of noisy steps, by several accountants, and the noise that a wanted epsilon needs
"""

from .base import Classifiers, Learner, TrainingData
from .dp_sgd import (
    DPSGD,
    CyclicBatches,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    ShuffledEpochs,
)
from .fine_tuning import FineTuning
from .models import LinearRegression, LogisticRegression, MultiLayerPerceptron, SoftmaxRegression
from .models.trained import TrainedModels

__all__ = [
    "DPSGD",
    "Classifiers",
    "CyclicBatches",
    "FineTuning",
    "FixedSizeSampling",
    "FullBatch",
    "Learner",
    "LinearRegression",
    "LogisticRegression",
    "MultiLayerPerceptron",
    "PoissonSampling",
    "ShuffledEpochs",
    "SoftmaxRegression",
    "TrainedModels",
    "TrainingData",
]
