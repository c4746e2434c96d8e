"""Names of sampling schemes and schedules, for tables in a configuration. A new one is one class and one line here."""

from mechanisms.registry import Catalogue

samplings = Catalogue(
    "sampling",
    {
        "poisson": "mechanisms.learning.dp_sgd.sampling:PoissonSampling",
        "fixed-size": "mechanisms.learning.dp_sgd.sampling:FixedSizeSampling",
        "shuffled": "mechanisms.learning.dp_sgd.sampling:ShuffledEpochs",
        "cyclic": "mechanisms.learning.dp_sgd.sampling:CyclicBatches",
        "full-batch": "mechanisms.learning.dp_sgd.sampling:FullBatch",
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
