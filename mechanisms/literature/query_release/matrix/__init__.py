"""The matrix mechanism: a strategy of queries is measured with noise, and the workload follows by least squares.

    our name                       in the papers
    workload.matrix                W
    measured.matrix                A, the strategy
    reconstruction                 W A^+

broken.py             Intentionally broken matrix mechanisms: the noise is that of the workload
matrix_mechanism.py   Matrix mechanism with Laplace and with Gaussian noise
strategies.py         Strategies of the matrix mechanism: the queries that are measured in place of the workload
"""

from ..error_bounds import (
    query_errors as query_errors,
    singular_value_bound as singular_value_bound,
    squared_error as squared_error,
)
from .matrix_mechanism import (
    GaussianMatrixMechanism as GaussianMatrixMechanism,
    LaplaceMatrixMechanism as LaplaceMatrixMechanism,
    MatrixMechanism as MatrixMechanism,
)
from .strategies import (
    ExplicitStrategy as ExplicitStrategy,
    HierarchicalStrategy as HierarchicalStrategy,
    IdentityStrategy as IdentityStrategy,
    OptimisedStrategy as OptimisedStrategy,
    Strategy as Strategy,
    TotalStrategy as TotalStrategy,
    WaveletStrategy as WaveletStrategy,
    WorkloadStrategy as WorkloadStrategy,
)
