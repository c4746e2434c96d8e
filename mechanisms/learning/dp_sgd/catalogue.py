"""Names of sampling schemes and schedules. A new one is one file, or one class, and one line here."""

from mechanisms.registry import Catalogue

samplings = Catalogue(
    "sampling",
    {
        "poisson": "mechanisms.learning.dp_sgd.sampling.poisson:PoissonSampling",
        "fixed-size": "mechanisms.learning.dp_sgd.sampling.fixed_size:FixedSizeSampling",
        "shuffled": "mechanisms.learning.dp_sgd.sampling.shuffled:ShuffledEpochs",
        "cyclic": "mechanisms.learning.dp_sgd.sampling.cyclic:CyclicBatches",
        "full-batch": "mechanisms.learning.dp_sgd.sampling.full_batch:FullBatch",
    },
)
schedules = Catalogue(
    "schedule",
    {
        "constant": "mechanisms.learning.dp_sgd.schedules:Constant",
        "inverse-square-root": "mechanisms.learning.dp_sgd.schedules:InverseSquareRoot",
        "step-decay": "mechanisms.learning.dp_sgd.schedules:StepDecay",
        "cosine": "mechanisms.learning.dp_sgd.schedules:Cosine",
    },
)
