"""Private convex learning.

regularised_logistic.py     the objective, and its minimiser for many runs at once
output_perturbation.py      noise on the minimiser
objective_perturbation.py   noise in the objective
projected_sgd.py            noisy projected SGD, as in textbooks
"""

from .objective_perturbation import ObjectivePerturbation as ObjectivePerturbation
from .output_perturbation import OutputPerturbation as OutputPerturbation
from .projected_sgd import NoisyProjectedSGD as NoisyProjectedSGD
