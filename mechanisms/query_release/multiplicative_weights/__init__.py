"""Answers to many queries at once, from one distribution over the cells of a domain.

base.py                            records, a workload and a public number of records; the update rule of the weights
dual_query.py                      DualQuery: weights on the queries, and records found by a solver
mwem.py                            MWEM: the exponential mechanism, with Laplace or Gaussian noise
private_multiplicative_weights.py  PrivateMultiplicativeWeights: a stream of queries
small_database.py                  SmallDatabase: the exponential mechanism over all small databases
"""

from .dual_query import DualQuery as DualQuery
from .mwem import MWEM as MWEM, GaussianMWEM as GaussianMWEM
from .private_multiplicative_weights import PrivateMultiplicativeWeights as PrivateMultiplicativeWeights
from .small_database import SmallDatabase as SmallDatabase
