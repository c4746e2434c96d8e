"""Learning: private trainers, and models to attack.

base.py         TrainingData, Classifiers, Learner, and the records in which a pair differs: read this first
models/         linear, logistic and softmax regression, multi-layer perceptrons; trained, many at once
dp_sgd/         DP-SGD: the trainer, its sampling schemes, its claims
accounting.py   guarantee of noisy steps, by several accountants, and the noise for a target epsilon
federated/      FedSGD and FedAvg over clients, with noise at the server or at the client
convex/         output and objective perturbation, noisy projected SGD
ngrams/         language models of n-grams, private and not
pate/           teachers that vote: models of disjoint parts of the records, whose noisy votes label queries
"""

from .base import Classifiers as Classifiers, Learner as Learner, TrainingData as TrainingData
from .dp_sgd.fine_tuning import FineTuning as FineTuning
from .dp_sgd.mechanism import DPSGD as DPSGD
from .dp_sgd.sampling.epochs import CyclicBatches as CyclicBatches, ShuffledEpochs as ShuffledEpochs
from .dp_sgd.sampling.fixed_size import FixedSizeSampling as FixedSizeSampling
from .dp_sgd.sampling.full_batch import FullBatch as FullBatch
from .dp_sgd.sampling.poisson import PoissonSampling as PoissonSampling
from .models.architectures import (
    LinearRegression as LinearRegression,
    LogisticRegression as LogisticRegression,
    MultiLayerPerceptron as MultiLayerPerceptron,
    SoftmaxRegression as SoftmaxRegression,
)
from .models.trained import TrainedModels as TrainedModels
