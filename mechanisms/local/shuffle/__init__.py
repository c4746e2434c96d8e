"""The shuffle model: users randomise their own messages, and the names are taken off.

shuffled.py       Shuffled   a local mechanism of n users, whose messages are released in random order
histograms.py     all counts of n messages of a few kinds, and which messages are of one kind
distributions.py  learn a distribution, or test whether it is uniform, in each trust model
sample_sizes.py   how many users each trust model needs, to learn a distribution or to test one
"""

from .distributions import (
    FrequencyLearner as FrequencyLearner,
    UniformityTest as UniformityTest,
    oracle_for as oracle_for,
)
from .sample_sizes import learning_samples as learning_samples, uniformity_samples as uniformity_samples
from .shuffled import Shuffled as Shuffled
