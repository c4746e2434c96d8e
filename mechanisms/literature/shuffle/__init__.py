"""The shuffle model: users randomise their own messages, which are released in random order, without names.

distributions.py   Estimators of a distribution and tests of uniformity, in each trust model: the tasks of
                   `sample_sizes`
sample_sizes.py    Numbers of users that each trust model needs to learn or test a distribution, as rates
shuffled.py        A local mechanism of n users, whose messages are released in random order
"""

from .distributions import (
    FrequencyLearner as FrequencyLearner,
    UniformityTest as UniformityTest,
    oracle_for as oracle_for,
)
from .sample_sizes import learning_samples as learning_samples, uniformity_samples as uniformity_samples
from .shuffled import Shuffled as Shuffled
