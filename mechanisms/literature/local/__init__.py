"""Local mechanisms of the literature: frequency oracles, means of bounded numbers, and RAPPOR.

bounded_mean.py       Local mechanisms for the mean of numbers in [-1, 1]: each user sends a message whose mean is their
                      number
bounded_vector.py     Local mechanisms for the means of several numbers in [-1, 1] per user
broken.py             Intentionally broken local means: an assumed range of the data, and ties in two sets
hadamard.py           Hadamard response: a user sends the index of a column in which their row of a Hadamard matrix is
                      likely +1
hashing.py            Local hashing: each user hashes their value with a random function, and sends a random bucket or
                      random bits
rappor.py             RAPPOR: a value is coded in a Bloom filter, and each bit of the filter is randomised
subset_selection.py   Subset selection: a user sends a random set of values that is likelier to contain their value
"""

from .bounded_mean import Duchi as Duchi, Hybrid as Hybrid, Piecewise as Piecewise
from .bounded_vector import DuchiVector as DuchiVector, SampledAttributes as SampledAttributes
from .hadamard import HadamardResponse as HadamardResponse
from .hashing import CountMeanSketch as CountMeanSketch, LocalHashing as LocalHashing
from .rappor import RAPPOR as RAPPOR, OneTimeRAPPOR as OneTimeRAPPOR
from .subset_selection import SubsetSelection as SubsetSelection
