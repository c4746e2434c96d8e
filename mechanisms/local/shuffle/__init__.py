"""The shuffle model: users randomise their own messages, and the names are taken off.

shuffled.py       Shuffled   a local mechanism of n users, whose messages are released in random order
histograms.py     all counts of n messages of a few kinds, and which messages are of one kind
distributions.py  learn a distribution, or test whether it is uniform, in each trust model
sample_sizes.py   how many users each trust model needs, to learn a distribution or to test one
"""

from .distributions import FrequencyLearner, UniformityTest, oracle_for
from .sample_sizes import learning_samples, uniformity_samples
from .shuffled import Shuffled

__all__ = [
    "FrequencyLearner",
    "Shuffled",
    "UniformityTest",
    "learning_samples",
    "oracle_for",
    "uniformity_samples",
]
