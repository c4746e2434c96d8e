"""Names of sampling schemes and schedules. A new one is one file, or one class, and one line here."""

from ...registry import Catalogue

samplings = Catalogue(
    "sampling",
    {
        "poisson": "dpassay.mechanisms.learning.dp_sgd.sampling.poisson:PoissonSampling",
        "fixed-size": "dpassay.mechanisms.learning.dp_sgd.sampling.fixed_size:FixedSizeSampling",
        "shuffled": "dpassay.mechanisms.learning.dp_sgd.sampling.shuffled:ShuffledEpochs",
        "cyclic": "dpassay.mechanisms.learning.dp_sgd.sampling.cyclic:CyclicBatches",
        "full-batch": "dpassay.mechanisms.learning.dp_sgd.sampling.full_batch:FullBatch",
    },
)
schedules = Catalogue(
    "schedule",
    {
        "constant": "dpassay.mechanisms.learning.dp_sgd.schedules:Constant",
        "inverse-square-root": "dpassay.mechanisms.learning.dp_sgd.schedules:InverseSquareRoot",
        "step-decay": "dpassay.mechanisms.learning.dp_sgd.schedules:StepDecay",
        "cosine": "dpassay.mechanisms.learning.dp_sgd.schedules:Cosine",
    },
)
