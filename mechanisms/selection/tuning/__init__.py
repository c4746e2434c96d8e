"""Private selection: the best of several private runs, as in hyper-parameter tuning.

candidate.py          TuningTrial, one run whose output ends with a score: read this first
repetitions.py        the random number of runs, whose law determines the guarantee
private_selection.py  the best of a random number of runs, and the first run that is good enough
catalogue.py          names of the laws of a number of runs
"""

from .candidate import (
    NoisyCandidate as NoisyCandidate,
    RandomMechanism as RandomMechanism,
    TuningTrial as TuningTrial,
)
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
