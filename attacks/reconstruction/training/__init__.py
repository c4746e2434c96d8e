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

from .gradient_inversion import InvertedGradients, invert_gradient
from .gradient_matching import GradientMatching, MatchedGradients
from .imprint import Imprint, expected_alone
from .informed_adversary import InformedAdversary, RecoveredRecords, SolverError, solver_error
from .matching import matched_errors
from .perturbed_output import PerturbedOutput, blind_success
from .prior_aware import PriorAware, orthogonal_success, simplex, simplex_success
from .regression import Regression

__all__ = [
    "GradientMatching",
    "Imprint",
    "InformedAdversary",
    "InvertedGradients",
    "MatchedGradients",
    "PerturbedOutput",
    "PriorAware",
    "RecoveredRecords",
    "Regression",
    "SolverError",
    "blind_success",
    "expected_alone",
    "invert_gradient",
    "matched_errors",
    "orthogonal_success",
    "simplex",
    "simplex_success",
    "solver_error",
]
