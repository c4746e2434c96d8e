"""Learning: DP-SGD by the thousand, and models to attack.

base.py               TrainingData, Classifiers, Learner: read this first
dp_sgd.py             DPSGD, the mechanism
models/               linear, logistic and softmax regression, multi-layer perceptrons
sampling.py           Poisson, fixed-size, shuffled, cyclic and full batches
schedules.py          learning rates
clipping.py           flat, per layer, none
normals.py            noise in single precision, fast
training.py           the loop, for many runs at once
trained.py            what comes out: models that can be queried
named.py              models and samplings by name
catalogue.py          names of samplings and schedules; models have their own
pairs.py              in which record two sides differ, and where that pulls
claims.py             the guarantee for each way of sampling
accounting.py         the same as a function, by other accountants too
calibration.py        how much noise a wanted epsilon needs
output_perturbation.py, objective_perturbation.py   private logistic regression without steps
projected_sgd.py      noisy projected SGD, the textbook's
observation_law.py    the law of what a white-box adversary sees of a gradient record
canaries/             records that are made to be found, and pairs of datasets from them
"""

from .base import Classifiers, Learner, TrainingData
from .dp_sgd import DPSGD
from .models import LinearRegression, LogisticRegression, MultiLayerPerceptron, SoftmaxRegression
from .sampling import CyclicBatches, FixedSizeSampling, FullBatch, PoissonSampling, ShuffledEpochs
from .trained import TrainedModels

__all__ = [
    "DPSGD",
    "Classifiers",
    "CyclicBatches",
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
