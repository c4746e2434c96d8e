"""Learning: private trainers, and models to attack.

base.py   Interfaces of learning: read this first
dp_sgd/   DP-SGD, for many runs at once
models/   Models that the trainer trains many at once
"""

from typing import TYPE_CHECKING

from ..core.lazy_names import lazy_names

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = lazy_names(__name__)
