"""Sampling schemes: the records of each training step, for many runs at once.

base.py         Interface of a sampling scheme: read this first
epochs.py       Schemes that use all records in each epoch, in batches of consecutive records of an order
fixed_size.py   Schemes whose batches have a fixed size: their base class, and a fresh subset each step, without
                replacement
full_batch.py   Full batches: every record in every step
poisson.py      Poisson sampling: independent inclusion of every record, as the accountants of the subsampled Gaussian
                assume

Their names are in `dpassay.mechanisms.learning.dp_sgd.catalogue`.
"""

from .base import BatchDraw as BatchDraw, Sampling as Sampling
from .cyclic_poisson import CyclicPoisson as CyclicPoisson
from .epochs import CyclicBatches as CyclicBatches, EpochSampling as EpochSampling, ShuffledEpochs as ShuffledEpochs
from .fixed_size import BatchSampling as BatchSampling, FixedSizeSampling as FixedSizeSampling
from .full_batch import FullBatch as FullBatch
from .poisson import PoissonSampling as PoissonSampling
from .random_allocation import RandomAllocation as RandomAllocation
from .truncated_poisson import TruncatedPoisson as TruncatedPoisson
