"""Names of sampling schemes and schedules, for tables in a configuration. A new one is one class and one line here."""

from mechanisms.registry import Catalogue

samplings = Catalogue(
    "sampling",
    {
        "poisson": "mechanisms.learning.sampling:PoissonSampling",
        "fixed-size": "mechanisms.learning.sampling:FixedSizeSampling",
        "shuffled": "mechanisms.learning.sampling:ShuffledEpochs",
        "cyclic": "mechanisms.learning.sampling:CyclicBatches",
        "full-batch": "mechanisms.learning.sampling:FullBatch",
    },
)
schedules = Catalogue(
    "schedule",
    {
        "constant": "mechanisms.learning.schedules:Constant",
        "inverse-square-root": "mechanisms.learning.schedules:InverseSquareRoot",
        "step-decay": "mechanisms.learning.schedules:StepDecay",
        "cosine": "mechanisms.learning.schedules:Cosine",
    },
)
