"""Which records a step of training sees."""

from mechanisms.learning.dp_sgd.sampling.base import (
    BatchSampling,
    CyclicBatches,
    Draw,
    FixedSizeSampling,
    FullBatch,
    Mask,
    PoissonSampling,
    Sampling,
    ShuffledEpochs,
    successes,
)

__all__ = [
    "BatchSampling",
    "CyclicBatches",
    "Draw",
    "FixedSizeSampling",
    "FullBatch",
    "Mask",
    "PoissonSampling",
    "Sampling",
    "ShuffledEpochs",
    "successes",
]
