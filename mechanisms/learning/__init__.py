"""Learning: private trainers, and models to attack.

base.py           TrainingData, Classifiers, Learner: read this first
pairs.py          in which records two sides differ
models/           linear, logistic and softmax regression, multi-layer perceptrons; trained, many at once
dp_sgd/           DP-SGD: the trainer, its samplings, its claims
federated/        FedSGD and FedAvg over clients, with noise at the server or at the client
convex/           output and objective perturbation, noisy projected SGD
accounting/       the guarantee of noisy steps, by several accountants, and the noise that a wanted epsilon needs
ngrams/              Language models of n-grams, private and not
pate/                Teachers that vote: models of disjoint parts of the data, whose noisy vote is released
"""

from .base import Classifiers as Classifiers, Learner as Learner, TrainingData as TrainingData
from .dp_sgd.fine_tuning import FineTuning as FineTuning
from .dp_sgd.mechanism import DPSGD as DPSGD
from .dp_sgd.sampling.cyclic import CyclicBatches as CyclicBatches
from .dp_sgd.sampling.fixed_size import FixedSizeSampling as FixedSizeSampling
from .dp_sgd.sampling.full_batch import FullBatch as FullBatch
from .dp_sgd.sampling.poisson import PoissonSampling as PoissonSampling
from .dp_sgd.sampling.shuffled import ShuffledEpochs as ShuffledEpochs
from .models.linear import (
    LinearRegression as LinearRegression,
    LogisticRegression as LogisticRegression,
    SoftmaxRegression as SoftmaxRegression,
)
from .models.perceptron import MultiLayerPerceptron as MultiLayerPerceptron
from .models.trained import TrainedModels as TrainedModels
