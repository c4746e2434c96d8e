"""Answers to many queries at once, from one distribution over the cells of a domain.

base.py            what they share: records, a workload, a public number of records
updates.py         multiplicative weights over the cells, for many runs at once
measured.py        MWEM with either noise: rounds, transcripts and their exact law
mwem.py            multiplicative weights with the exponential mechanism: Laplace noise, Gaussian noise
gaussian_choice.py the exact curve of a choice that is seen and a number with Gaussian noise
small_database.py  the exponential mechanism over all small databases
"""

from .mwem import MWEM, GaussianMWEM
from .small_database import SmallDatabase

__all__ = ["MWEM", "GaussianMWEM", "SmallDatabase"]
