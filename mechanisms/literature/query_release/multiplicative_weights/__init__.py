"""Answers to many queries at once, from one distribution over the cells of a domain.

base.py             Base class for a public workload of linear queries, and the update rule of multiplicative weights
broken.py           Intentionally broken multiplicative weights: selections, errors or samples are not accounted for
dual_query.py       DualQuery: multiplicative weights on the queries, and a solver for the records
mwem.py             Multiplicative weights with the exponential mechanism (MWEM), with Laplace and with Gaussian noise
online.py           Private multiplicative weights: a distribution answers a stream of queries while its error is small
small_database.py   Small-database mechanism: a random small database that approximates the answers to all queries
"""

from .dual_query import DualQuery as DualQuery
from .mwem import MWEM as MWEM, GaussianMWEM as GaussianMWEM
from .online import PrivateMultiplicativeWeights as PrivateMultiplicativeWeights
from .small_database import SmallDatabase as SmallDatabase
