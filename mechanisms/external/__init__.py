"""Other people's mechanisms: Python functions, scikit-learn classifiers, and objects named on the command line."""

from mechanisms.external.estimator import EstimatorLearner
from mechanisms.external.function import FunctionMechanism
from mechanisms.external.target import load_target

__all__ = ["EstimatorLearner", "FunctionMechanism", "load_target"]
