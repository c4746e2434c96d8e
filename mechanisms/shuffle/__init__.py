"""The shuffle model: users randomise their own messages, and somebody takes the names off.

shuffled.py       Shuffled   a local mechanism of n users, whose messages are released in random order
histograms.py     all counts of n messages of a few kinds, and which messages are of one kind
sample_sizes.py   how many users each trust model needs, to learn a distribution or to test one
"""

from .sample_sizes import learning_samples, uniformity_samples
from .shuffled import Shuffled

__all__ = ["Shuffled", "learning_samples", "uniformity_samples"]
