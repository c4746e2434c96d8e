"""Sampling schemes: the records of each training step, for many runs at once.

base.py                Interface of a sampling scheme: read this first
cyclic_poisson.py      Cyclic Poisson sampling: fixed blocks of the records, visited in turn, with a Poisson sample of
                       the block
epochs.py              Schemes that use all records in each epoch, in batches of consecutive records of an order
fixed_size.py          Schemes whose batches have a fixed size: their base class, and a fresh subset each step, without
                       replacement
full_batch.py          Full batches: every record in every step
poisson.py             Poisson sampling: independent inclusion of every record, as the accountants of the subsampled
                       Gaussian assume
random_allocation.py   Random allocation: each record takes part in exactly k random steps of every epoch; k = 1 is
                       balls in bins
truncated_poisson.py   Truncated Poisson sampling: Poisson samples that are cut at a largest size, for batches of a
                       fixed shape

Their names are in `dpassay.mechanisms.learning.dp_sgd.catalogue`.
"""

from typing import TYPE_CHECKING

from ....core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .base import BatchDraw as BatchDraw, Sampling as Sampling
    from .cyclic_poisson import CyclicPoisson as CyclicPoisson
    from .epochs import CyclicBatches as CyclicBatches, EpochSampling as EpochSampling, ShuffledEpochs as ShuffledEpochs
    from .fixed_size import BatchSampling as BatchSampling, FixedSizeSampling as FixedSizeSampling
    from .full_batch import FullBatch as FullBatch
    from .poisson import PoissonSampling as PoissonSampling
    from .random_allocation import RandomAllocation as RandomAllocation
    from .truncated_poisson import TruncatedPoisson as TruncatedPoisson
else:
    __getattr__, __dir__ = lazy_names(__name__)
