"""Names of sampling schemes and schedules, for tables in a configuration. A new one is one class and one line here."""

from ..registry import Catalogue

samplings = Catalogue(
    "sampling",
    {
        "poisson": "dpassay.mechanisms.learning.sampling:PoissonSampling",
        "fixed-size": "dpassay.mechanisms.learning.sampling:FixedSizeSampling",
        "shuffled": "dpassay.mechanisms.learning.sampling:ShuffledEpochs",
        "cyclic": "dpassay.mechanisms.learning.sampling:CyclicBatches",
        "full-batch": "dpassay.mechanisms.learning.sampling:FullBatch",
    },
)
schedules = Catalogue(
    "schedule",
    {
        "constant": "dpassay.mechanisms.learning.schedules:Constant",
        "inverse-square-root": "dpassay.mechanisms.learning.schedules:InverseSquareRoot",
        "step-decay": "dpassay.mechanisms.learning.schedules:StepDecay",
        "cosine": "dpassay.mechanisms.learning.schedules:Cosine",
    },
)
