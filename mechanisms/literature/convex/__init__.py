"""Private convex learning.

objective_perturbation.py   Logistic regression by objective perturbation: add a random linear term to the objective,
                            then fit
output_perturbation.py      Logistic regression by output perturbation: fit, then add noise to the coefficients
projected_sgd.py            Noisy projected SGD with one record in each step, and noise by strong composition
regularised_logistic.py     Regularised logistic regression without intercept, minimised exactly for many linear terms
                            at once
"""

from .objective_perturbation import ObjectivePerturbation as ObjectivePerturbation
from .output_perturbation import OutputPerturbation as OutputPerturbation
from .projected_sgd import NoisyProjectedSGD as NoisyProjectedSGD
