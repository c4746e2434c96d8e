"""Choosing the best of several private runs, as when hyper-parameters are tuned, and what that costs.

base.py          one run, whose output ends with a score: read this first
catalogue.py     names of the laws of a number of runs
repetitions.py   how often to run: a random number, whose law decides what the choice costs
candidate.py     one run: a candidate at random, and how good it looks
best.py          the best of a random number of runs
threshold.py     the first run that is good enough
chooses_run.py       Base class of the mechanisms that choose among private runs
"""

from .base import TuningTrial as TuningTrial
from .best import BestOfRepetitions as BestOfRepetitions
from .candidate import NoisyCandidate as NoisyCandidate, RandomMechanism as RandomMechanism
from .chooses_run import ChoosesRun as ChoosesRun
from .repetitions import (
    NegativeBinomialRepetitions as NegativeBinomialRepetitions,
    PoissonRepetitions as PoissonRepetitions,
    Repetitions as Repetitions,
)
from .threshold import FirstGoodEnough as FirstGoodEnough
