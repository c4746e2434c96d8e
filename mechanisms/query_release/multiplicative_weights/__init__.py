"""Answers to many queries at once, from one distribution over the cells of a domain.

base.py            what they share: records, a workload, a public number of records
updates.py         multiplicative weights over the cells, for many runs at once
measured.py        MWEM with either noise: rounds, transcripts and their exact law
mwem.py            multiplicative weights with the exponential mechanism: Laplace noise, Gaussian noise
gaussian_choice.py the exact curve of a choice that is seen and a number with Gaussian noise
online.py          private multiplicative weights online: a stream of queries
dual_query.py      DualQuery: weights on the queries, and records found by a solver
best_record.py     the record that answers most of the drawn queries: by looking at all, or by an integer programme
small_database.py  the exponential mechanism over all small databases
segments.py          Probabilities of comparisons with a noisy threshold, with different queries in each run
"""

from .dual_query import DualQuery as DualQuery
from .mwem import MWEM as MWEM, GaussianMWEM as GaussianMWEM
from .online import OnlineWeights as OnlineWeights
from .small_database import SmallDatabase as SmallDatabase
