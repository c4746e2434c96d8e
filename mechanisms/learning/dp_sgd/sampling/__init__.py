"""Which records a step of training sees: sampling schemes, for many runs at once.

base.py         Sampling, Draw: read this first
full_batch.py   all records in every step
poisson.py      every record by its own coin
batches.py      what the schemes below share: batches of a number of records
fixed_size.py   a fresh subset of fixed size each step
epochs.py       what the last two share: every record once in an epoch
shuffled.py     a fresh permutation each epoch, cut into batches
cyclic.py       the records in their order, cut into batches, over and over

Their names stand in `dpassay.mechanisms.learning.dp_sgd.catalogue`.
"""

from .base import BatchDraw as BatchDraw, Sampling as Sampling
from .batches import BatchSampling as BatchSampling
from .cyclic import CyclicBatches as CyclicBatches
from .epochs import EpochSampling as EpochSampling
from .fixed_size import FixedSizeSampling as FixedSizeSampling
from .full_batch import FullBatch as FullBatch
from .poisson import PoissonSampling as PoissonSampling
from .shuffled import ShuffledEpochs as ShuffledEpochs
