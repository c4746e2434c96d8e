"""DP-SGD by the thousand.

mechanism.py          DPSGD: read this first
training.py           the loop, for many runs at once
sampling/             which records a step sees: one scheme a file, with its guarantee and its likelihood
clipping.py           flat, per layer, none
normals.py            noise in single precision, fast
schedules.py          learning rates
claims.py             the guarantee of a configuration, or why there is none
observation_law.py    the law of what a white-box adversary sees of a gradient record
directions.py         where the record in which two sides differ pulls, and whether a view can show it
group_privacy.py      the claim for pairs that differ in several records
adversaries.py        what adversaries ask of it
catalogue.py          samplings and schedules by name
capabilities.py      Capabilities that attacks require of a trainer, one protocol each: read base.py first
fine_tuning.py       Private fine-tuning: a head trained by DP-SGD on features learned from public records
"""

from .group_privacy import GroupPrivacy as GroupPrivacy
from .mechanism import DPSGD as DPSGD
from .sampling.base import Sampling as Sampling
from .sampling.cyclic import CyclicBatches as CyclicBatches
from .sampling.fixed_size import FixedSizeSampling as FixedSizeSampling
from .sampling.full_batch import FullBatch as FullBatch
from .sampling.poisson import PoissonSampling as PoissonSampling
from .sampling.shuffled import ShuffledEpochs as ShuffledEpochs
from .schedules import (
    ConstantSchedule as ConstantSchedule,
    Cosine as Cosine,
    InverseSquareRoot as InverseSquareRoot,
    Schedule as Schedule,
    StepDecay as StepDecay,
)
