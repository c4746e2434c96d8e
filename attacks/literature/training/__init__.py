"""Training data from the results of training: coefficients, noisy steps, or a gradient.

gradient_inversion.py   Recovery of one example from its gradient, in closed form: the first layer's gradient is the
                        example times a factor
gradient_matching.py    Gradient matching: examples whose gradient equals the observed one, found by descent, many
                        problems at once
informed_adversary.py   The informed adversary: recovery of one record of a regression from its coefficients and all
                        other records
prior_aware.py          The prior-aware attack on DP-SGD: identification of the training record among k candidates, from
                        every noisy step
regression.py           Generalised linear models: the training objective, its gradient, and its exact minimiser
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
