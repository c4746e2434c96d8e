"""The shuffle model: users randomise their own messages, which are released in random order, without names.

shuffled.py       Shuffled: a local mechanism of n users, whose messages are released in random order
distributions.py  estimators of a distribution and tests of uniformity, in each trust model
sample_sizes.py   numbers of users that each trust model needs for these tasks
"""

from .distributions import (
    FrequencyLearner as FrequencyLearner,
    UniformityTest as UniformityTest,
    oracle_for as oracle_for,
)
from .sample_sizes import learning_samples as learning_samples, uniformity_samples as uniformity_samples
from .shuffled import Shuffled as Shuffled
