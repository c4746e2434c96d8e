"""Selection: mechanisms that choose among finitely many candidates.

base.py          Base class of mechanisms that choose among finitely many candidates by their utilities
broken.py        Intentionally broken selection: noisy maxima, the exponential mechanism, hyper-parameter tuning
exponential.py   Exponential mechanism: choose one of finitely many candidates, better ones with a higher probability
laws.py          Law of the candidates with the largest scores after noise of scale 1 is added
noisy_max.py     Report noisy max, and permute-and-flip, which has the law of report noisy max with exponential noise
sparse_vector/   Sparse vector technique: many queries against a noisy threshold, with a budget only for those above
"""

from .exponential import (
    Exponential as Exponential,
    chance_of_shortfall as chance_of_shortfall,
    expected_shortfall as expected_shortfall,
    shortfall as shortfall,
)
from .noisy_max import PermuteAndFlip as PermuteAndFlip, ReportNoisyMax as ReportNoisyMax
