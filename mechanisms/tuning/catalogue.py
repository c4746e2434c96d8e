"""Names of the laws of a number of runs, for configurations."""

from ..registry import Catalogue

repetitions = Catalogue(
    "repetitions",
    {
        "negative-binomial": "dpassay.mechanisms.tuning.repetitions:NegativeBinomialRepetitions",
        "poisson": "dpassay.mechanisms.tuning.repetitions:PoissonRepetitions",
    },
)
