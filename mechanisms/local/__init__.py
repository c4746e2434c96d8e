"""Local randomisers: each user sends a random answer, and no curator is trusted.

base.py                  what every mechanism on users' own categorical values shares
bits.py                  what local mechanisms share whose message is a vector of bits, each of which is flipped
contraction.py           what a random channel does to the distance of two distributions
frequency.py             how often each value is held, from the messages of all users
hadamard.py              Hadamard response: a column in which the row of the user's value is likely +1
hashing.py               local hashing: a user hashes their value with a function of their own
k_ary.py                 randomised response with k possible answers
murmur.py                MurmurHash3, the 32-bit hash that RAPPOR puts values into its Bloom filter with
randomized_response.py   randomised response: each user answers a yes/no question, and lies with a known probability
rappor.py                RAPPOR: a value goes into a Bloom filter, and each bit of the filter is randomised
subset_selection.py      subset selection: a random set of values, which more often than not has the user's own in it
unary_encoding.py        unary encoding: a value is one bit among k, and each bit is flipped on its own
shuffle/             The shuffle model: users randomise their own messages, and the names are taken off
"""

from .hadamard import HadamardResponse as HadamardResponse
from .hashing import LocalHashing as LocalHashing
from .k_ary import KAryRandomizedResponse as KAryRandomizedResponse
from .randomized_response import RandomizedResponse as RandomizedResponse
from .rappor import RAPPOR as RAPPOR, OneTimeRAPPOR as OneTimeRAPPOR
from .subset_selection import SubsetSelection as SubsetSelection
from .unary_encoding import UnaryEncoding as UnaryEncoding
