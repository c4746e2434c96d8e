"""Local mechanisms: each user sends a random message, and no curator is trusted.

base.py                 LocalMechanism and FrequencyOracle, the base classes: read this first
randomized_response.py  randomized response, with two or with k possible answers
unary_encoding.py       BitReports, messages of independently flipped bits; unary encoding: a value is one bit of k
rappor.py               RAPPOR: a value is coded in a Bloom filter, and each bit of the filter is randomised
hadamard.py             Hadamard response: the index of a column in which the row of the value is likely +1
hashing.py              local hashing: a random hash function, and a random bucket
subset_selection.py     subset selection: a random set that is likelier to contain the value
contraction.py          contraction of the distance of two distributions by a random channel
shuffle/                the shuffle model: messages in random order, without names
"""

from .hadamard import HadamardResponse as HadamardResponse
from .hashing import LocalHashing as LocalHashing
from .randomized_response import (
    KAryRandomizedResponse as KAryRandomizedResponse,
    RandomizedResponse as RandomizedResponse,
)
from .rappor import RAPPOR as RAPPOR, OneTimeRAPPOR as OneTimeRAPPOR
from .subset_selection import SubsetSelection as SubsetSelection
from .unary_encoding import UnaryEncoding as UnaryEncoding
