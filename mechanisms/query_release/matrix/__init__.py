"""The matrix mechanism: measure a strategy with noise, and work the answers of a workload out by least squares.

    our name                       in the papers
    workload.matrix                W
    measured.matrix                A, the strategy
    reconstruction                 W A^+

base.py         what both kinds of noise share: the measured queries, the answers, the pair, the predicted error
catalogue.py    names of strategies
convex.py       the strategy of least error for Gaussian noise: a convex problem, with its gap to the optimum
errors.py       the predicted error of a strategy, and the least that any can have
gaussian.py     GaussianMatrix
laplace.py      LaplaceMatrix
p_identity.py   a strategy of small error for Laplace noise: each cell and a few weighted sums
strategies.py   what is measured: cells, totals, trees, wavelets, the workload itself, or what is best for it
"""

from .errors import (
    query_errors as query_errors,
    singular_value_bound as singular_value_bound,
    squared_error as squared_error,
)
from .gaussian import GaussianMatrix as GaussianMatrix
from .laplace import LaplaceMatrix as LaplaceMatrix
from .strategies import (
    ExplicitStrategy as ExplicitStrategy,
    Hierarchical as Hierarchical,
    Identity as Identity,
    Optimised as Optimised,
    Strategy as Strategy,
    Total as Total,
    Wavelet as Wavelet,
    WorkloadStrategy as WorkloadStrategy,
)
