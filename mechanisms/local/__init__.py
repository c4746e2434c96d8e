"""Local mechanisms: each user sends a random message, and no curator is trusted.

base.py                  Base classes of local mechanisms on categorical values
bounded_mean.py          Local mechanisms for the mean of numbers in [-1, 1]: each user sends a message whose mean is
                         their number
bounded_vector.py        Local mechanisms for the means of several numbers in [-1, 1] per user
contraction.py           Contraction of the distance of two distributions by a random channel: an equivalent form of
                         local privacy
hadamard.py              Hadamard response: a user sends the index of a column in which their row of a Hadamard matrix
                         is likely +1
hashing.py               Local hashing: each user hashes their value with a random function, and sends a random bucket
                         or random bits
randomized_response.py   Randomized response, with two or with k possible answers
rappor.py                RAPPOR: a value is coded in a Bloom filter, and each bit of the filter is randomised
shuffle/                 The shuffle model: users randomise their own messages, which are released in random order,
                         without names
subset_selection.py      Subset selection: a user sends a random set of values that is likelier to contain their value
unary_encoding.py        Messages of independently flipped bits: their base class, and unary encoding, where a value is
                         one bit of k
"""

from .bounded_mean import (
    Duchi as Duchi,
    Hybrid as Hybrid,
    Piecewise as Piecewise,
)
from .bounded_vector import DuchiVector as DuchiVector, SampledAttributes as SampledAttributes
from .hadamard import HadamardResponse as HadamardResponse
from .hashing import CountMeanSketch as CountMeanSketch, LocalHashing as LocalHashing
from .randomized_response import (
    KAryRandomizedResponse as KAryRandomizedResponse,
    RandomizedResponse as RandomizedResponse,
)
from .rappor import RAPPOR as RAPPOR, OneTimeRAPPOR as OneTimeRAPPOR
from .subset_selection import SubsetSelection as SubsetSelection
from .unary_encoding import UnaryEncoding as UnaryEncoding
