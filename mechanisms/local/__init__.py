"""Local randomisers: each user sends a random answer, and no curator is trusted.

base.py                  what every mechanism on users' own categorical values shares
bits.py                  what local mechanisms share whose message is a vector of bits, each of which is flipped
frequency.py             how often each value is held, from the messages of all users
k_ary.py                 randomised response with k possible answers
murmur.py                MurmurHash3, the 32-bit hash that RAPPOR puts values into its Bloom filter with
randomized_response.py   randomised response: each user answers a yes/no question, and lies with a known probability
rappor.py                RAPPOR: a value goes into a Bloom filter, and each bit of the filter is randomised
"""

from .k_ary import KAryRandomizedResponse
from .randomized_response import RandomizedResponse
from .rappor import RAPPOR, OneTimeRAPPOR

__all__ = ["RAPPOR", "KAryRandomizedResponse", "OneTimeRAPPOR", "RandomizedResponse"]
