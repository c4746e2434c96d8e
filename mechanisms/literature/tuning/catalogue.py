"""Names of the laws of a number of runs, for configurations."""

from ...core import Catalogue

repetitions = Catalogue(
    "repetitions",
    "dpassay.mechanisms.literature.tuning",
    {
        "negative-binomial": "repetitions:NegativeBinomialRepetitions",
        "poisson": "repetitions:PoissonRepetitions",
    },
)
