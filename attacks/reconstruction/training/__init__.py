"""Training data from what a training released: coefficients, noisy steps, or a gradient.

regression.py            generalised linear models: the objective, and its exact minimiser
informed_adversary.py    one record of a regression, from exact coefficients and all other records
perturbed_output.py      what noise on the coefficients leaves of that, as curves
prior_aware.py           which of k records DP-SGD was trained on, from every noisy step; what can be reached
gradient_inversion.py    one example from its gradient, in closed form
imprint.py               single examples from the gradient of a batch, at parameters that were chosen for it
gradient_matching.py     the batch behind a gradient, by descent; with noise, the most probable one
derivatives.py           how the gradient of an example turns when the example moves
matching.py              which guess stands for which example of a batch
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
