"""External mechanisms: Python functions, commands, estimators, and the releases of other libraries.

assistants.py            Assistants that are programs: started for each question, or once for all of them
command.py               Executables in any language as mechanisms
estimator.py             Any scikit-learn classifier as a learner, for membership attacks on user models
functions/               Python functions as mechanisms: how a function is called, with the same seed on both sides and
                         in fresh interpreters
measurements.py          Single releases of other libraries as mechanisms, whose claims are read from the library itself
opacus/                  Training with Opacus, audited
private_estimator.py     Private estimators in the style of scikit-learn, such as those of diffprivlib, as mechanisms
recording/               Recording and replaying of the random primitives that audited code calls
training_function.py     Any training function as a learner: `train(X, y, rng) -> model` in any framework, for shadow
                         models
unlearning_function.py   Unlearning by functions of the user, as a mechanism to audit: is an unlearned model like a
                         retrained one?
"""

from typing import TYPE_CHECKING

from ..core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .estimator import EstimatorLearner as EstimatorLearner
    from .functions.function import FunctionMechanism as FunctionMechanism
    from .functions.isolated_function import IsolatedFunction as IsolatedFunction
    from .functions.state import seed_everything as seed_everything
    from .functions.target import load_target as load_target
    from .training_function import FunctionLearner as FunctionLearner, TorchLearner as TorchLearner
    from .unlearning_function import forgetting as forgetting
else:
    __getattr__, __dir__ = lazy_names(__name__)
