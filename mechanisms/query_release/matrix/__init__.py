"""The matrix mechanism: a strategy of queries is measured with noise, and the workload follows by least squares.

    our name                       in the papers
    workload.matrix                W
    measured.matrix                A, the strategy
    reconstruction                 W A^+

matrix_mechanism.py  MatrixMechanism, LaplaceMatrix, GaussianMatrix
strategies.py        the measured queries: cells, totals, trees, wavelets, the workload itself, or the optimum for it
"""

from ..error_bounds import (
    query_errors as query_errors,
    singular_value_bound as singular_value_bound,
    squared_error as squared_error,
)
from .matrix_mechanism import (
    GaussianMatrix as GaussianMatrix,
    LaplaceMatrix as LaplaceMatrix,
    MatrixMechanism as MatrixMechanism,
)
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
