"""Other people's mechanisms: Python functions, scikit-learn classifiers, and objects named on the command line.

command.py             any executable as a mechanism, in whatever language it is written
estimator.py           any scikit-learn classifier as a learner: membership attacks on other people's models
measurements/          releases of OpenDP and diffprivlib, with what these libraries say they promise
opacus/                training with Opacus, audited
private_estimator.py   any scikit-learn style estimator that is private by itself, such as those of diffprivlib
recording/             recording and replaying the random primitives that other people's code calls
functions/           How a function is called: by its parameters, with the same seed on both sides, and in an interpret
"""

from .estimator import EstimatorLearner as EstimatorLearner
from .functions.function import FunctionMechanism as FunctionMechanism
from .functions.target import load_target as load_target
