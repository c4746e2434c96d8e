"""Sampling schemes: the records of each training step, for many runs at once.

base.py         Sampling, BatchDraw: read this first
full_batch.py   all records in every step
poisson.py      each record independently
fixed_size.py   a fresh subset of fixed size each step; base class of the schemes with batches of fixed size
epochs.py       every record once in an epoch: cyclic batches, and a fresh permutation each epoch

Their names are in `dpassay.mechanisms.learning.dp_sgd.catalogue`.
"""

from .base import BatchDraw as BatchDraw, Sampling as Sampling
from .epochs import CyclicBatches as CyclicBatches, EpochSampling as EpochSampling, ShuffledEpochs as ShuffledEpochs
from .fixed_size import BatchSampling as BatchSampling, FixedSizeSampling as FixedSizeSampling
from .full_batch import FullBatch as FullBatch
from .poisson import PoissonSampling as PoissonSampling
