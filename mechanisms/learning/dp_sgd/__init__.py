"""DP-SGD, for many runs at once.

mechanism.py          DPSGD: read this first
training.py           the training loop, for many runs at once, and its claim
steps.py              parts of a step: learning rates, clipping, noise in single precision
sampling/             sampling schemes: the records of each step, the guarantee and the likelihood
observation_law.py    law of the noisy sums of gradient records, as a white-box adversary observes them
directions.py         checks of a pair, and the direction of its difference
group_privacy.py      claim for pairs that differ in several records
adversaries.py        methods of DP-SGD for adversaries
capabilities.py       capabilities that attacks require of a trainer, one protocol each
catalogue.py          models, samplings and schedules by name
fine_tuning.py        a head trained by DP-SGD on features learned from public records
"""

from .group_privacy import GroupPrivacy as GroupPrivacy
from .mechanism import DPSGD as DPSGD
from .sampling.base import Sampling as Sampling
from .sampling.epochs import CyclicBatches as CyclicBatches, ShuffledEpochs as ShuffledEpochs
from .sampling.fixed_size import FixedSizeSampling as FixedSizeSampling
from .sampling.full_batch import FullBatch as FullBatch
from .sampling.poisson import PoissonSampling as PoissonSampling
from .steps import (
    ConstantSchedule as ConstantSchedule,
    Cosine as Cosine,
    InverseSquareRoot as InverseSquareRoot,
    Schedule as Schedule,
    StepDecay as StepDecay,
)
