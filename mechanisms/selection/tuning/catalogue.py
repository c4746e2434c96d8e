"""Names of the laws of a number of runs, for configurations."""

from ...core.registry import Catalogue

repetitions = Catalogue(
    "repetitions",
    {
        "negative-binomial": "dpassay.mechanisms.selection.tuning.repetitions:NegativeBinomialRepetitions",
        "poisson": "dpassay.mechanisms.selection.tuning.repetitions:PoissonRepetitions",
    },
)
