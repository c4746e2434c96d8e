"""Other people's mechanisms: Python functions, scikit-learn classifiers, and objects named on the command line."""

from .estimator import EstimatorLearner
from .function import FunctionMechanism
from .target import load_target

__all__ = ["EstimatorLearner", "FunctionMechanism", "load_target"]
