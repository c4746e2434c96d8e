"""Private selection: the best of several private runs, as in hyper-parameter tuning.

broken.py              Intentionally broken tuning: the best of several runs, claimed at the epsilon of one
candidate.py           One run of a private selection: a random candidate, its output, and its score as the last number
catalogue.py           Names of the laws of a number of runs, for configurations
private_selection.py   Private selection: mechanisms that publish one of several private runs
repetitions.py         Random number of runs of a private algorithm whose best output is published
"""

from .candidate import NoisyCandidate as NoisyCandidate, RandomMechanism as RandomMechanism, TuningTrial as TuningTrial
from .private_selection import (
    BestOfRepetitions as BestOfRepetitions,
    ChoosesRun as ChoosesRun,
    FirstGoodEnough as FirstGoodEnough,
)
from .repetitions import (
    NegativeBinomialRepetitions as NegativeBinomialRepetitions,
    PoissonRepetitions as PoissonRepetitions,
    Repetitions as Repetitions,
)
