"""Training data from the results of training: coefficients, noisy steps, or a gradient.

regression.py           generalised linear models: the objective, and its exact minimiser
informed_adversary.py   one record of a regression, from exact or noisy coefficients and all other records
prior_aware.py          which of k records DP-SGD was trained on, from every noisy step; upper bounds on success
gradient_inversion.py   one example from its gradient, in closed form; imprinting, for a batch
gradient_matching.py    the batch behind a gradient, by descent; with noise, the most probable one
"""

from .gradient_inversion import (
    Imprint as Imprint,
    InvertedGradients as InvertedGradients,
    expected_alone as expected_alone,
    invert_gradient as invert_gradient,
)
from .gradient_matching import (
    GradientMatching as GradientMatching,
    MatchedGradients as MatchedGradients,
    matched_errors as matched_errors,
)
from .informed_adversary import (
    InformedAdversary as InformedAdversary,
    PerturbedOutput as PerturbedOutput,
    RecoveredRecords as RecoveredRecords,
    SolverError as SolverError,
    prior_success as prior_success,
    solver_error as solver_error,
)
from .prior_aware import (
    PriorAware as PriorAware,
    orthogonal_success as orthogonal_success,
    simplex as simplex,
    simplex_success as simplex_success,
)
from .regression import Regression as Regression
