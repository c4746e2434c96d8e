"""External mechanisms: Python functions, commands, estimators, and the releases of other libraries.

functions/             Python functions as mechanisms, and the guard inside which they are called
command.py             any executable as a mechanism, in any language
estimator.py           any scikit-learn classifier as a learner, for membership attacks
private_estimator.py   any estimator in the style of scikit-learn that is itself private, such as those of diffprivlib
measurements.py        releases of OpenDP and diffprivlib, with the claims of these libraries
opacus/                training with Opacus
recording/             recording and replaying of the random primitives that audited code calls
"""

from .estimator import EstimatorLearner as EstimatorLearner
from .functions.function import FunctionMechanism as FunctionMechanism
from .functions.target import load_target as load_target
