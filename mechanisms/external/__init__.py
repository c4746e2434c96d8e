"""Other people's mechanisms: Python functions, scikit-learn classifiers, and objects named on the command line.

calls/                 how a function is called: by its parameters, with the same seed, in a fresh interpreter
command.py             any executable as a mechanism, in whatever language it is written
estimator.py           any scikit-learn classifier as a learner: membership attacks on other people's models
first_runs.py          what the first runs of a function show: what it keeps from one run to the next
forms.py               the usual form of what a function returns, fixed beforehand from its first runs
function.py            any Python function as a mechanism
guard.py               audited code is called inside a `Guard`: it may raise, exit or change the process as it likes
labels.py              short texts for things and errors of other people's code
mutation.py            noticing that a function changed the dataset it was given
opacus/                training with Opacus, audited
outcomes.py            what a function returned, made into `Outputs`: one row of numbers a run
private_estimator.py   any scikit-learn style estimator that is private by itself, such as those of diffprivlib
process_state.py       what audited code may change in the process that calls it, and how that is put back
recording/             recording and replaying the random primitives that other people's code calls
target.py              finding an object by "package.module:object" or "file.py:object"
"""

from .estimator import EstimatorLearner
from .function import FunctionMechanism
from .target import load_target

__all__ = ["EstimatorLearner", "FunctionMechanism", "load_target"]
